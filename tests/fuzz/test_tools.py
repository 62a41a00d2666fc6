"""Every built-in tool with arguments that no schema can rule out, in real turns: a result, never a crash."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cos.agent.providers.scripted import called, said
from cos.agent.records import TurnStatus
from cos.core.shell.risk import command_risk
from tests.fix_home import asked
from tests.fuzz.making import fitting, texts, tries

if TYPE_CHECKING:
    from tests.fix_home import CoreHome

DENY = '[approvals]\nmode = "auto"\n[[approvals.rules]]\ntool = "terminal"\ndecision = "deny"\n'
NAMES = (
    "read_file",
    "search_files",
    "write_file",
    "patch",
    "terminal",
    "memory",
    "session_search",
    "skill_view",
    "nix",
)


@tries(25)
@given(data=st.data())
async def test_any_arguments(core_home: CoreHome, caplog: pytest.LogCaptureFixture, data: st.DataObject) -> None:
    """Nothing outside the workspace changes, and nothing runs: commands are refused by a rule."""
    core_home.write_profile("home", 'provider = "mock"\n', DENY)
    if not core_home.opened:
        core_home.script()
        await core_home.open()
    core = core_home.opened[0]
    tools = {tool.name: tool for one in core.plugins.registrations.values() for tool in one.tools}
    calls: list[tuple[str, str, dict[str, Any]]] = []
    for place in range(data.draw(st.integers(1, 4))):
        name = data.draw(st.sampled_from(NAMES))
        schema = tools[name].schema if name in tools else {"type": "object", "properties": {"query": {}, "name": {}}}
        args = data.draw(fitting(schema))
        calls.append((f"c{place}", name, args if isinstance(args, dict) else {"path": args}))
    provider = core.providers["home"]
    provider.add(called(*calls), said("done"))  # type: ignore[attr-defined]  # it is a ScriptedProvider
    end = await asked(core, "go")
    assert end.status is TurnStatus.COMPLETED, end.error
    bad = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    caplog.clear()
    assert bad == []
    assert not list(core_home.folder.rglob("ran"))


@tries(100)
@given(command=texts)
def test_any_command_has_a_risk(command: str) -> None:
    assert command_risk(command) in {"read", "execute", "network"}
