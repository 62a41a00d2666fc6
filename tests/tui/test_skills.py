"""Skills and the context on screen: completion, what is said at the start, and a size of 80x24."""

from __future__ import annotations

from textual.command import CommandPalette

from cos.agent.providers.scripted import said
from cos.core.commands import BUILT_IN
from tests.fix_home import CoreHome
from tests.tui.chat import Chat, chat_in

TONE = "---\nname: tone\ndescription: Changes the [red]tone[/red] of a text.\n---\nWrite it again.\n"


def known(chat: Chat) -> set[str]:
    """Commands that may be typed."""
    return {command.name for command in chat.app.surface.known()} if chat.app.surface else set()


async def test_every_command_of_cos_is_kept_from_skills(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text("plugins = []\n")
    async with chat_in(core_home) as chat:
        names = {command.name for command in chat.core.dispatcher.commands.all()}
        assert names == BUILT_IN, "a command was added or renamed: change BUILT_IN with it"


async def test_a_skill_is_completed_sent_and_shown_as_it_was_typed(core_home: CoreHome) -> None:
    core_home.write_skill("tone", TONE)
    core_home.write_skill("other", TONE.replace("tone", "other", 1), profile="work")
    provider = core_home.script(said("done"))
    async with chat_in(core_home, size=(80, 24)) as chat:
        await chat.until(lambda: "tone" in known(chat), "the skill is known")
        await chat.pilot.press("slash", "t", "o", "n")
        await chat.shows("Changes the [red]tone[/red] of a text.")
        await chat.pilot.press("tab", "x", "enter")
        await chat.until(lambda: "done" in chat.text())
        assert "/tone x" in chat.text() and "Write it again." not in chat.text()
        assert "Write it again." in str(provider.requests[0].messages[0])
        await chat.say("/other x")
        await chat.told("there is no command /other")


async def test_the_palette_shows_what_a_skill_says_of_itself_letter_for_letter(core_home: CoreHome) -> None:
    core_home.write_skill("tone", TONE)
    async with chat_in(core_home) as chat:
        await chat.until(lambda: "tone" in known(chat), "the skill is known")
        await chat.pilot.press("ctrl+p")
        await chat.until(lambda: isinstance(chat.app.screen, CommandPalette))
        await chat.pilot.press("t", "o", "n", "e")
        await chat.shows("/tone [TEXT]")
        await chat.shows("Changes the [red]tone[/red] of a text.")


async def test_H_093_a_broken_skill_is_said_at_the_start(core_home: CoreHome) -> None:
    file = core_home.write_skill("a", "---\nname: a\ndescription: Use when: asked\n---\nx\n")
    async with chat_in(core_home) as chat:
        await chat.until(lambda: f"Left out, a broken skill: {file}, line 3" in chat.notices())


async def test_the_context_can_be_read_in_a_small_terminal(core_home: CoreHome) -> None:
    soul = core_home.folder / "profiles" / "home" / "SOUL.md"
    soul.write_text("Be kind.")
    core_home.write_skill("tone", TONE)
    core_home.script(said("done"))
    async with chat_in(core_home, size=(80, 24)) as chat:
        await chat.ask("hello")
        soul.write_text("Be brief.")
        await chat.say("/context")
        await chat.until(lambda: "/context NAME shows" in chat.text())
        shown = [line.strip() for line in chat.screen_text().splitlines()]
        assert [line.split("~")[0].removeprefix("i info").strip() for line in shown if "  ~" in line] == [
            "SOUL.md", "folder and date", "skills", "Tools, 11", "History", "your messages", "replies",
        ]  # fmt: skip
        assert any(line.startswith("SOUL.md") and line.endswith("changed since") for line in shown)
