"""Rules that somebody misspells in a profile's file while cos runs: it is on the screen, wherever the user looks."""

from __future__ import annotations

import pytest

from cos.agent.providers.scripted import called, said
from cos.tui import app
from tests.fix_home import CoreHome
from tests.tui.chat import chat_in

MISSPELT = '[[approvals.rules]]\ntool = "terminl"\ndecision = "deny"\n'
BROKEN = "The rules of the profile home are those of before, for its file cannot be used: "
MOCK = 'provider = "mock"\n'


async def test_H_103_a_misspelt_deny_is_said_soon_once_and_again_when_it_comes_back(
    core_home: CoreHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "LOOK_SECONDS", 0.01)
    async with chat_in(core_home) as chat:
        for _ in range(2):
            core_home.write_profile("home", MOCK, rules=MISSPELT)
            await chat.told("did you mean terminal?")
            assert chat.notices().count(BROKEN) == 1
            core_home.write_profile("home", MOCK)
            await chat.until(lambda: BROKEN not in chat.notices(), "what was mended is said no longer")


async def test_H_103_the_session_whose_calls_are_judged_by_the_rules_of_before_is_told(core_home: CoreHome) -> None:
    core_home.script(called(("c1", "search_files", {"pattern": "x"})), said("done"))
    async with chat_in(core_home) as chat:
        core_home.write_profile("home", MOCK, rules=MISSPELT)
        await chat.ask("look for x")
        assert BROKEN in chat.text()
        assert BROKEN in (await chat.core.findings())[0]
