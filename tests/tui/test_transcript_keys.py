"""What the keys of the conversation do with the entry under the cursor: copy, save, open, and ask for its turn."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from pathlib import Path
from uuid import UUID

import pytest
from textual.widgets import Input

from cos.tui.clipboard import MANY_TERMINALS_TAKE, copied, local_tools
from cos.tui.outside import OutsideError, command_of, harmless_environment, run, show
from cos.tui.screens.save_as import SaveAs
from cos.tui.transcript import AssistantText, Diff, Entry, Notice, ToolCall, TurnHeader, UserMessage
from cos.tui.transcript.pieces import Piece, pieces_of
from cos.tui.widgets.conversation_pane import ConversationPane
from tests.tui.test_conversation_search import PaneDemo, shown
from tests.tui.test_transcript_view import texts

TURN = UUID(int=7)
CODE = "x\n\n```python\na = 1\nb = 2\n```\n\n- item\n\n  ```\n  inside\n  ```\n\n    indented\n"


def program(folder: Path, name: str, script: str) -> Path:
    """A program on a PATH of its own."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def notices(app: PaneDemo) -> list[str]:
    return [notice.message for notice in app._notifications]


async def test_c_copies_the_entry_under_the_cursor_and_says_only_that_it_was_sent_H_052() -> None:
    async with shown(
        [UserMessage(key="u", text="first"), AssistantText(key="a", text="**second** \x1b]52;c;x\x07")]
    ) as it:
        await it.keys("c")
        assert it.app.clipboard == "**second** ␛]52;c;x␇"
        assert notices(it.app) == ["Sent the answer to the terminal's clipboard."]
        await it.keys("up", "up", "c")
        assert it.app.clipboard == "first"


async def test_shift_and_arrows_choose_entries_and_c_copies_them() -> None:
    async with shown([Notice(key=f"n{number}", text=f"number {number}") for number in range(5)]) as it:
        await it.keys("up", "up", "shift+up", "shift+up", "c")
        assert [line for line in it.app.clipboard.split("\n") if line] == ["number 1", "number 2", "number 3"]
        await it.keys("shift+down", "c")
        assert "number 1" not in it.app.clipboard and "number 2" in it.app.clipboard
        await it.keys("down", "c")
        assert it.app.clipboard == "number 3"


async def test_b_goes_through_the_code_blocks_of_an_entry() -> None:
    async with shown([AssistantText(key="a", text=CODE)]) as it:
        await it.keys("b")
        assert it.app.clipboard == "a = 1\nb = 2"
        assert "code block 1 of 2 (python, 2 lines)" in notices(it.app)[-1]
        await it.keys("b")
        assert it.app.clipboard.strip().startswith("inside")
        await it.keys("b")
        assert it.app.clipboard == "a = 1\nb = 2"


async def test_b_says_when_there_is_no_code() -> None:
    async with shown([Notice(key="n", text="x")]) as it:
        await it.keys("b")
        assert "no code" in notices(it.app)[-1] and it.app.clipboard == ""


def test_the_parts_of_a_call_are_its_command_its_diff_and_its_output() -> None:
    call = ToolCall(key="c", name="terminal", detail="ls\x07", diff="+a", result="{}", state="ok")
    call.append_output("one\ntwo\n")
    assert pieces_of(call) == [Piece("call", "ls␇"), Piece("diff", "+a"), Piece("output", "one\ntwo")]
    assert pieces_of(Diff(key="d", diff="+b")) == [Piece("diff", "+b")]


def test_code_that_was_cut_for_drawing_is_copied_whole() -> None:
    code = "\n".join(f"line {number}" for number in range(500))
    assert pieces_of(AssistantText(key="a", text=f"```\n{code}\n```\n\n```sh\nls\n```")) == [
        Piece("", code), Piece("sh", "ls"),
    ]  # fmt: skip


def test_local_tools_are_for_the_desktop_in_front_of_the_user(tmp_path: Path) -> None:
    for name in ("wl-copy", "xclip", "pbcopy"):
        program(tmp_path, name, "true")
    path = {"PATH": str(tmp_path)}
    assert local_tools(path, "linux") == []
    assert [tool[0] for tool in local_tools(path | {"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, "linux")] == [
        "wl-copy", "xclip",
    ]  # fmt: skip
    assert [tool[0] for tool in local_tools(path, "darwin")] == ["pbcopy"]
    assert local_tools(path | {"DISPLAY": ":0", "SSH_CONNECTION": "1 2 3 4"}, "linux") == []


async def test_a_copy_names_the_tool_only_when_it_took_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("WAYLAND_DISPLAY", "w")
    async with shown([]) as it:
        program(tmp_path, "wl-copy", f"cat > {tmp_path}/taken; sleep 60 </dev/null & exit 0")
        assert await copied(it.app, "größe", "it") == "Copied it with wl-copy."
        assert (tmp_path / "taken").read_text() == "größe"
        program(tmp_path, "wl-copy", "exit 1")
        assert await copied(it.app, "x", "it") == "Sent it to the terminal's clipboard."


async def test_inside_tmux_a_copy_becomes_a_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TMUX", "/tmp/none,1,0")
    async with shown([]) as it:
        program(tmp_path, "tmux", f'echo "$@" > {tmp_path}/args; cat > {tmp_path}/taken')
        assert "Copied it into a tmux buffer" in await copied(it.app, "x", "it")
        assert (tmp_path / "args").read_text() == "load-buffer -w -\n"
        program(tmp_path, "tmux", "exit 1")
        assert await copied(it.app, "x", "it") == "Sent it to the terminal's clipboard."


async def test_a_copy_that_many_terminals_refuse_says_what_else_to_do() -> None:
    async with shown([]) as it:
        assert "w saves it" in await copied(it.app, "x" * MANY_TERMINALS_TAKE, "it")


async def test_w_saves_the_entry_as_a_new_file_and_never_over_an_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.md").write_text("old")
    async with shown([AssistantText(key="a", text="# answer")]) as it:
        await it.pilot.press("w")
        await it.pilot.pause()
        screen = it.app.screen
        assert isinstance(screen, SaveAs)
        box = screen.query_one(Input)
        assert box.value == str(tmp_path / "cos.md")
        for name, problem in [("old.md", "exists already"), ("none/x.md", "no folder"), ("", "exists already")]:
            box.value = name
            await it.pilot.press("enter")
            async with asyncio.timeout(10):
                while problem not in str(screen.query_one("#problem").render()):
                    await it.pilot.pause()
        box.value = "new.md"
        await it.keys("enter")
        assert (tmp_path / "new.md").read_text() == "# answer\n"
        assert (tmp_path / "old.md").read_text() == "old"
        assert stat.S_IMODE((tmp_path / "new.md").stat().st_mode) == 0o600
        assert sorted(file.name for file in tmp_path.iterdir()) == ["new.md", "old.md"]
        assert notices(it.app) == [f"Saved the answer as {tmp_path / 'new.md'}."]


async def test_keys_ask_for_the_turn_of_the_entry() -> None:
    key = f"turn:{TURN}"
    entries: list[Entry] = [
        TurnHeader(key=key, turn_key=key, text="09:41"),
        UserMessage(key="u", turn_key=key, text="x"),
        Notice(key="n", text="no turn"),
    ]
    async with shown(entries) as it:
        await it.keys("u")
        assert it.app.posted == [] and "no turn" in notices(it.app)[-1]
        await it.keys("up", "up", "u", "f", "R")
        kinds = [type(event) for event in it.app.posted]
        assert kinds == [ConversationPane.RewindWanted, ConversationPane.ForkWanted, ConversationPane.RetryWanted]
        assert {event.turn_id for event in it.app.posted if isinstance(event, ConversationPane.TurnMessage)} == {TURN}


def turns(count: int) -> list[Entry]:
    """Turn `n` has id n and two entries, u{n} and a{n}, of several lines together."""
    found: list[Entry] = []
    for number in range(count):
        key = f"turn:{UUID(int=number)}"
        found += [
            TurnHeader(key=key, turn_key=key, text="09:41"),
            UserMessage(key=f"u{number}", turn_key=key, text=f"ask {number}"),
            AssistantText(key=f"a{number}", turn_key=key, text=f"answer {number}"),
        ]
    return found


async def test_the_cursor_goes_along_when_keys_scroll_it_out_of_view() -> None:
    async with shown(turns(20)) as it:
        await it.keys("home")
        assert it.view.cursor_key == "u0"
        await it.keys("end")
        assert it.view.cursor_key == "a19"
        await it.keys("pageup")
        cursor = it.view.cursor_key
        assert cursor is not None and cursor != "a19"
        await it.keys("pagedown", "u")
        posted = it.app.posted[0]
        assert isinstance(posted, ConversationPane.RewindWanted)
        entry = it.view.pointed
        assert entry is not None and entry.turn_key == f"turn:{posted.turn_id}"
        assert posted.prompt == f"ask {posted.turn_id.int}"
        assert any(entry.plain() in line for line in texts(it.view))


@pytest.mark.parametrize("at", ["last", "chosen"])
async def test_a_key_never_acts_on_a_turn_that_the_wheel_scrolled_out_of_view(at: str) -> None:
    async with shown(turns(20)) as it:
        if at == "chosen":
            await it.keys("up")
        for key, kind in (("u", ConversationPane.RewindWanted), ("f", ConversationPane.ForkWanted)):
            it.view.scroll_to(y=it.view.max_scroll_y if key == "f" else 0)
            await it.keys(key)
            assert it.app.posted == [] and "out of view" in notices(it.app)[-1]
            await it.keys(key)
            posted = it.app.posted.pop()
            assert isinstance(posted, kind)
            assert any(f"ask {posted.turn_id.int}" in line for line in texts(it.view))
        it.view.scroll_to(y=0)
        await it.keys("c")
        assert it.app.clipboard == ""
        await it.keys("c")
        assert it.app.clipboard in "\n".join(texts(it.view))


async def test_enter_folds_like_space() -> None:
    async with shown([ToolCall(key="c", name="terminal", state="ok", detail="ls")]) as it:
        await it.keys("up", "enter")
        assert not it.view.entry("c").is_folded


def test_the_users_choice_of_program_comes_first(tmp_path: Path) -> None:
    for name in ("less", "mine", "vi"):
        program(tmp_path, name, "true")
    path = {"PATH": str(tmp_path)}
    assert command_of("pager", path) == ["less"]
    assert command_of("pager", path | {"PAGER": "mine -R '+/a b'"}) == ["mine", "-R", "+/a b"]
    assert command_of("editor", path | {"EDITOR": "less", "VISUAL": "mine"}) == ["mine"]
    assert command_of("editor", path) == ["vi"]
    for env, problem in [
        ({"PAGER": "nowhere"}, "there is no program 'nowhere'"),
        ({"PAGER": "mine 'x"}, "is no command"),
        ({"PATH": "/nowhere"}, "neither less nor more is installed"),
    ]:
        with pytest.raises(OutsideError, match=problem):
            command_of("pager", path | env)


def test_less_runs_no_preprocessor_on_what_a_stranger_wrote() -> None:
    env = harmless_environment({"LESSOPEN": "|lesspipe %s", "LESSCLOSE": "x", "LESS": "-R"})
    assert env == {"LESS": "-R", "LESSSECURE": "1", "LESSHISTFILE": "-"}


async def test_a_program_that_fails_or_cannot_run_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown([Notice(key="n", text="x")]) as it:
        monkeypatch.setenv("PAGER", "nowhere")
        await it.keys("o")
        assert notices(it.app)[-1].startswith("PAGER='nowhere': there is no program")
        monkeypatch.setenv("PAGER", "cat")
        with pytest.raises(OutsideError, match="cannot be handed over"):
            await run(it.app, ["cat"], os.environ)


async def test_the_file_for_a_program_is_private_and_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", sys.executable)
    seen: list[tuple[str, list[int]]] = []

    async def look(app: object, command: list[str], env: object) -> None:
        file = Path(command[-1])
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)]
        seen.append((file.read_text(), modes))
        tmp_path.joinpath("where").write_text(str(file.parent))

    monkeypatch.setattr("cos.tui.outside.run", look)
    async with shown([]) as it:
        await show(it.app, "editor", "größe", ".md")
    assert seen == [("größe", [0o600, 0o700])]
    assert not Path(tmp_path.joinpath("where").read_text()).exists()
