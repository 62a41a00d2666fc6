"""The composer's logic without a terminal: earlier messages, completion, fuzzy files, the user's editor."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cos.agent.ids import new_id
from cos.core.prompts import Prompt
from cos.core.workspace_files import list_files
from cos.tui.completion import CommandHint, Token, command_text, matching, path_text, token_at
from cos.tui.external_editor import EditorError, edited, editor_command
from cos.tui.fuzzy import Matcher
from cos.tui.prompt_history import PromptHistory


def page(*texts: str) -> list[Prompt]:
    return [Prompt(id=new_id(), text=text) for text in texts]


def test_history_goes_from_this_run_into_earlier_ones_and_back_to_what_is_written() -> None:
    history = PromptHistory()
    history.add(page("old", "old", "older"), 3)
    history.sent("new")
    shown, walked = "draft", []
    while (text := history.older(shown)) is not None:
        walked.append(shown := text)
    assert walked == ["new", "old", "older"] and history.has_more
    assert [history.newer(walked[-1]), history.newer("old"), history.newer("new")] == ["old", "new", "draft"]


def test_a_first_page_that_holds_what_was_just_sent_shows_it_once() -> None:
    history = PromptHistory()
    history.sent("sent")
    history.add(page("sent", "before"), 50)
    assert [history.older(""), history.older("sent"), history.older("before")] == ["sent", "before", None]
    assert not history.has_more


def test_a_recalled_message_that_is_changed_is_the_new_text_and_the_old_text_is_not_lost() -> None:
    history = PromptHistory()
    history.sent("one")
    assert history.older("half written") == "one"
    assert history.older("one, changed") == "half written"
    assert history.newer("half written") == "one, changed"


@pytest.mark.parametrize(
    ("line", "token"),
    [
        ("/re", Token(kind="command", start=0, query="re")),
        ("/", Token(kind="command", start=0, query="")),
        ("/title x", None),
        ("/home/ada", None),
        ("see @src/cl", Token(kind="file", start=4, query="src/cl")),
        ("(@a", Token(kind="file", start=1, query="a")),
        ("@", Token(kind="file", start=0, query="")),
        ("ada@example.org", None),
        ("@a b", None),
    ],
)
def test_what_is_completed_at_the_cursor(line: str, token: Token | None) -> None:
    assert token_at(line, len(line), is_only_line=True) == token


def test_a_command_begins_the_whole_text() -> None:
    assert token_at("/re", 3, is_only_line=False) is None


def test_commands_by_name_then_by_begin_then_by_a_part() -> None:
    commands = [CommandHint(name=name) for name in ("resume", "title", "re", "agents", "retry", "store")]
    assert [command.name for command in matching("re", commands)] == ["re", "resume", "retry", "store"]
    assert command_text(CommandHint(name="title", arguments="<title>")) == "/title "


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/a-b_c.py", "src/a-b_c.py"),
        ("my docs/read me.md", '"my docs/read me.md"'),
        ("日本.md", "日本.md"),
        ("a$b c", "'a$b c'"),
        ('a "b".md', "'a \"b\".md'"),
    ],
)
def test_paths_are_quoted_when_they_must_be(path: str, text: str) -> None:
    assert path_text(path) == text


def test_fuzzy_prefers_the_name_then_tight_then_short() -> None:
    matcher = Matcher("cli")
    matcher.add(["c/l/i.txt", "cli/deep/other.py", "src/client.py", "src/my_client.py", "nothing.md"])
    matcher.add(["CLI.md"])
    assert matcher.best == ["CLI.md", "src/client.py", "src/my_client.py", "cli/deep/other.py", "c/l/i.txt"]
    exact = Matcher("CLI")
    exact.add(["src/client.py", "CLI.md"])
    assert exact.best == ["CLI.md"]


@pytest.mark.parametrize("has_ripgrep", [True, False])
async def test_files_of_a_workspace_are_relative_and_know_what_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_ripgrep: bool
) -> None:
    for name in ("a.py", "sub/b c.py", ".git/config", "node_modules/x.js", ".github/ci.yml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("node_modules\n")
    if not has_ripgrep:
        monkeypatch.setattr("cos.core.workspace_files.find_ripgrep", lambda path, workspace: None)
    found = [path async for batch in list_files(tmp_path, {}) for path in batch]
    assert sorted(found) == [".github/ci.yml", ".gitignore", "a.py", "sub/b c.py"]


async def test_a_huge_workspace_is_cut_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / str(number)).touch()
    assert sum([len(batch) async for batch in list_files(tmp_path, {}, most=10)]) == 10
    assert [batch async for batch in list_files(tmp_path / "gone", {})] == []


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    yield


def editor(tmp_path: Path, code: str) -> list[str]:
    script = tmp_path / "editor.py"
    script.write_text(f"import sys, pathlib\nfile = pathlib.Path(sys.argv[-1])\n{code}\n")
    return [sys.executable, str(script)]


async def test_the_editor_gets_the_text_and_gives_it_back(tmp_path: Path) -> None:
    command = editor(tmp_path, "file.write_text(file.read_text(encoding='utf-8') + ' more\\n', encoding='utf-8')")
    assert await edited("かな\ntext", command, {}, suspended) == "かな\ntext more"


@pytest.mark.parametrize(
    ("code", "reason"),
    [("sys.exit(3)", "ended with code 3"), ("file.write_bytes(b'\\xff')", "no UTF-8"), ("file.unlink()", "read back")],
)
async def test_an_editor_that_fails_says_why(tmp_path: Path, code: str, reason: str) -> None:
    with pytest.raises(EditorError, match=reason):
        await edited("text", editor(tmp_path, code), {}, suspended)


async def test_an_editor_that_is_not_there_is_named() -> None:
    with pytest.raises(EditorError, match="'no-such-editor' cannot be started"):
        await edited("text", ["no-such-editor"], {}, suspended)


def test_which_editor() -> None:
    assert editor_command({"VISUAL": "code --wait", "EDITOR": "vi"}) == ["code", "--wait"]
    assert editor_command({"EDITOR": "'my vi' -n"}) == ["my vi", "-n"]
    with pytest.raises(EditorError, match="set VISUAL or EDITOR"):
        editor_command({"PATH": "/nowhere"})
    with pytest.raises(EditorError, match="cannot be read"):
        editor_command({"EDITOR": "vi '"})
