"""What a request's card shows: the exact and whole text, and never less than that without saying so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cos.agent.ids import new_id
from cos.agent.providers.scripted import called, said
from cos.agent.text import exact
from cos.core.edited_args import NotArguments, args_of, text_of
from cos.tui import wording
from cos.tui.widgets.approval_card import MOST_CHARACTERS, Card, detail_text, head_text, whole_text
from cos.tui.widgets.requests import Requests
from tests.fix_home import CoreHome
from tests.tui.chat import chat_in
from tests.tui.test_approvals import commands, decisions

LONG_LINE = "echo " + 300 * "a" + " && touch tail1"
HEREDOC = "cat <<'EOF' > out\n" + "".join(f"line {number}\n" for number in range(40)) + "EOF\ntouch bad"
CARD = Card(
    id=new_id(),
    session_id=new_id(),
    turn_id=new_id(),
    session_title="look it up",
    root_title=None,
    profile_id="home",
    tags=("area:home", "client:acme"),
    tool="terminal",
    title="$ touch x",
    detail="touch x",
    diff=None,
    reason="it runs a program",
    risk="execute",
    cwd="/w",
    requested_at=wording.now() - timedelta(seconds=7),
    expires_at=wording.now() + timedelta(seconds=90),
)
DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\u202e\r\n"


@pytest.mark.parametrize("command", [LONG_LINE, HEREDOC, "/bin/ls $HOME/x\ntouch y"])
async def test_a_small_terminal_shows_all_of_a_command_before_it_can_be_allowed_H_026(
    core_home: CoreHome, command: str
) -> None:
    core_home.script(called(*commands(command)), said("x"))
    async with chat_in(core_home, size=(40, 12)) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.answer("y")
        assert await decisions(chat) == {command: ("pending", None)}
        pane = chat.main.approvals
        shown = set[str]()
        while not pane.is_vertical_scroll_end:
            shown.update(chat.screen_text().split("\n"))
            await chat.pilot.press("down")
            await chat.pilot.pause()
        shown.update(chat.screen_text().split("\n"))
        seen = " ".join(shown)
        assert all(word in seen for line in command.split("\n") for word in line.split() if len(word) < 20)
        await chat.answer("y")
        await chat.requests(0)
        assert await decisions(chat) == {command: ("allowed", "tui")}


def test_nothing_of_a_command_is_hidden_or_dropped() -> None:
    hidden = "a\x1b[31mb\x1b[0m\r\nc\u200bd\u202ee\x9b1m\x7f"
    assert exact(hidden) == "a␛[31mb␛[0m␍\nc⟨U+200B⟩d⟨U+202E⟩e⟨U+009B⟩1m␡"
    assert whole_text(replace(CARD, detail=hidden, title="t")).plain == f"t\n{exact(hidden)}"


def test_a_diff_is_coloured_by_its_signs_and_keeps_them() -> None:
    text = whole_text(replace(CARD, tool="patch", title="x (+1 -1)", detail="", diff=DIFF))
    assert text.plain == "x (+1 -1)\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new⟨U+202E⟩␍"
    styles = {text.plain[span.start : span.end].strip(): span.style for span in text.spans}
    assert (styles["-old"], styles["+new⟨U+202E⟩␍"]) == ("red", "green")


def test_a_diff_that_is_cut_is_followed_by_the_whole_new_text() -> None:
    text = whole_text(replace(CARD, title="x", detail="new\nand more", diff=DIFF)).plain
    assert text.endswith("The whole new text:\nnew\nand more")
    new_file = replace(
        CARD, title="x", detail="one\ntwo\n", diff="--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+one\n+two\n"
    )
    assert whole_text(new_file).plain.endswith("+one\n+two")


@pytest.mark.parametrize("detail", ["x\n" * 5000 + "end", "y" * 100_000])
def test_a_card_says_how_much_it_hides(detail: str) -> None:
    shown, is_cut = detail_text(replace(CARD, detail=detail, title=""))
    assert is_cut and len(shown) < MOST_CHARACTERS + 100
    kept, _, note = shown.plain.rpartition("\n… ")
    assert detail.startswith(kept)
    assert f"{len(detail) - len(kept):,} characters" in note


def test_the_head_names_both_sessions_of_a_child_and_the_tags() -> None:
    text = head_text(replace(CARD, root_title="plan a trip"), "[x] 2 of 5 ←→").plain
    for piece in ("[x] 2 of 5", "waits ", "s left", "terminal  execute", "it runs a program", "in /w"):
        assert piece in text
    assert "look it up ← plan a trip · home #area:home #client:acme" in text


def test_marks_and_what_was_read_end_with_the_request_and_selection_stays() -> None:
    first, second, other = CARD, replace(CARD, id=new_id()), replace(CARD, id=new_id(), turn_id=new_id())
    requests = Requests()
    requests.show([first, other, second])
    requests.toggle_mark()
    assert requests.place() == "[x] 1 of 3 ←→ · 1 of 2 of one step, 1 marked"
    requests.move(1)
    assert requests.chosen() == [other] and requests.place() == "2 of 3 ←→"
    requests.move(1)
    assert requests.chosen() == [first]
    requests.note_seen(second)
    changed = replace(second, detail="touch y")
    requests.show([replace(CARD, id=new_id()), changed])
    assert requests.selected == changed and requests.chosen() == [changed] and not requests.was_seen(changed)


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": "\u200b"}', "\x1b"])
def test_a_text_that_is_no_arguments_is_refused(text: str) -> None:
    with pytest.raises(NotArguments):
        args_of("write_file", {}, text)


@pytest.mark.parametrize(
    "args",
    [
        {"command": "touch x\n\tb", "timeout": 3},
        {"command": "a\x1b[31m\u202e\r\nb\U000e0041"},
        {"path": "ü\u200b", "n": [1, None]},
        {},
    ],
)
def test_arguments_come_back_as_they_were(args: dict[str, object]) -> None:
    text = text_of("terminal", args)
    assert exact(text) == text
    assert args_of("terminal", args, text) == args


def test_an_empty_command_is_refused() -> None:
    with pytest.raises(NotArguments, match="empty"):
        args_of("terminal", {"command": "x"}, " \n")
