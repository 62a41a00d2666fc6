"""What one child loses, and what it must not take with it: its siblings' results and its own finished summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cos.agent.events import Usage
from cos.agent.outcomes import TurnOutcome
from cos.agent.provider import ProviderError
from cos.agent.providers.scripted import Script
from cos.agent.records import TurnStatus
from cos.core.child_agents import ChildAgents
from cos.core.delegation import ChildEnd, ChildTask, _take
from cos.core.settings import DelegationSettings
from tests.delegating import ScriptedAgents, delegates, said
from tests.postgres.test_delegation import bench, children, ends_of


@pytest.mark.parametrize("step", ["new_session", "context", "run", "waiting"])
async def test_a_child_that_crashes_ends_alone(
    core_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, step: str
) -> None:
    real, calls = getattr(ChildAgents, step), 0

    async def crashing(self: Any, *given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise KeyError("perhaps")
        return await real(self, *given)

    provider = ScriptedAgents({"go": [delegates("a", "b"), said("ok")], "a": [said("a done")], "b": [said("b done")]})
    async with bench(core_url, tmp_path, provider) as core:
        monkeypatch.setattr(ChildAgents, step, crashing)
        done = await core.ask("go")
        assert (done.status, done.text) == (TurnStatus.COMPLETED, "ok")
        bad, good = sorted(ends_of(core)["results"], key=lambda end: str(end["status"] == "completed"))
        assert (good["status"], good["summary"][1:]) == ("completed", " done")
        assert bad["status"] == "failed" and "exit_reason" not in bad
        assert bad["error"].endswith("it crashed: KeyError: 'perhaps'")
        assert ("summary" in bad) is (step == "waiting")
        assert any(it.exc_info and it.name == "cos.delegation" for it in caplog.records)
        assert not core.dispatcher.turns.all


@pytest.mark.parametrize("extra", [[ProviderError("no")], said("")])
async def test_a_late_word_whose_turn_fails_costs_no_finished_summary(
    core_url: str, tmp_path: Path, extra: Script
) -> None:
    provider = ScriptedAgents(
        {"go": [delegates("work"), said("ok")], "work": [said("the result is 42"), extra, said("")]}
    )
    async with bench(core_url, tmp_path, provider, limits=DelegationSettings(max_iterations=1)) as core:

        async def late(turn: Any) -> None:
            if turn.depth and len(provider.asked("work")) == 1:
                await core.send("thanks", turn.session_id)

        core.hooks.register("transform_llm_output", late, source="p")
        await core.ask("go")
        (end,) = ends_of(core)["results"]
        assert (end["summary"], end["status"], end.get("exit_reason")) == ("the result is 42", "failed", None)
        assert end["error"].startswith("the summary is from a finished turn; what came after it failed: ")
        (child,) = await children(core)
        assert "the result is 42" in await core.texts(child["id"])


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        (TurnStatus.FAILED, ("failed", None, "failed: no")),
        (TurnStatus.CANCELLED, ("interrupted", "interrupted", "was stopped: no")),
        (None, ("error", None, "failed: the end of its turn could not be stored")),
    ],
)
def test_the_exit_reason_of_a_child_is_that_of_its_last_turn(status: TurnStatus | None, ended: Any) -> None:
    end = ChildEnd(task=ChildTask(goal="g"))
    _take(end, outcome(TurnStatus.COMPLETED, "done", None))
    assert (end.status, end.exit_reason, end.error) == ("completed", "completed", None)
    _take(end, None if status is None else outcome(status, "half", "no"))
    error = f"the summary is from a finished turn; what came after it {ended[2]}"
    assert (end.status, end.exit_reason, end.error) == (*ended[:2], error)
    assert end.summary == "done"


def outcome(status: TurnStatus, text: str, error: str | None) -> TurnOutcome:
    return TurnOutcome(status=status, text=text, stop_reason="end_turn", error=error, usage=Usage())
