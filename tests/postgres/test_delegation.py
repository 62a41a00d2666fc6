"""Child agents on a real database: their limits, what reaches whom, and how they end with the turn that began them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cos.agent.events import (
    ApprovalRequested,
    MessageDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnCompleted,
    TurnStarted,
    Usage,
)
from cos.agent.messages import ToolResultMessage, UserMessage
from cos.agent.provider import ModelReply, StreamStarted, TextChunk
from cos.agent.providers.scripted import MODEL, Script
from cos.agent.records import ApprovalAnswer, ToolCallStatus, TurnStatus
from cos.core.delegation import BLOCKED
from cos.core.errors import SessionError
from cos.core.postgres.grants import Grants
from cos.core.rules import Rule
from cos.core.settings import DelegationSettings
from tests.agent_bench import tool
from tests.core_bench import CoreBench, core_bench
from tests.delegating import ScriptedAgents, called, delegates, said

WAITS: Script = [StreamStarted("m"), TextChunk("so far"), "hang"]
LIMITS = DelegationSettings()


def bench(url: str, folder: Path, provider: ScriptedAgents, *tools: Any, **more: Any) -> Any:
    return core_bench(url, folder, [], *tools, provider=provider, **{"limits": LIMITS, **more})


def ends_of(core: CoreBench) -> dict[str, Any]:
    """What the newest delegate_task call of a parent gave back."""
    record = [it.record for it in core.events if isinstance(it, ToolFinished) and it.name == "delegate_task"][-1]
    found: dict[str, Any] = json.loads(record.result or "")
    return found


async def children(core: CoreBench) -> list[Any]:
    return await core.rows("SELECT * FROM sessions WHERE source = 'subagent' ORDER BY id")


async def test_a_child_has_a_session_and_a_turn_of_its_own_and_only_its_last_words_come_back(
    core_url: str, tmp_path: Path
) -> None:
    look = tool("look", lambda args, turn, ctx: _ok("SECRET OUTPUT"))
    provider = ScriptedAgents(
        {
            "find it": [delegates("Count the\nlogs", context="They are in /logs."), said("There are 3.")],
            "Count the\nlogs": [called(("x1", "look", {}), text="I look."), said("3 logs.")],
        }
    )
    async with bench(core_url, tmp_path, provider, look) as core:
        done = await core.ask("find it", tags=("client:acme",))
        assert (done.status, done.text) == (TurnStatus.COMPLETED, "There are 3.")
        (child,) = await children(core)
        assert (child["title"], child["parent_session_id"]) == ("Count the logs", done.turn.session_id)
        assert (child["root_session_id"], child["cwd"]) == (done.turn.session_id, str(tmp_path / "home"))
        turns = await core.rows("SELECT * FROM turns ORDER BY started_at")
        assert [(row["depth"], row["parent_turn_id"], row["status"]) for row in turns] == [
            (0, None, "completed"), (1, done.turn.turn_id, "completed"),
        ]  # fmt: skip
        assert turns[0]["tags"] == turns[1]["tags"] == child["tags"] == ["area:home", "client:acme", "team:core"]

        history = await core.history(child["id"])
        assert history[0] == UserMessage(text="Count the\nlogs", origin="delegation")
        (first, _) = provider.asked("Count the\nlogs")
        assert "find it" not in repr(first.messages)
        assert first.prompt.system.startswith("You are home.") and "They are in /logs." in first.prompt.system
        (_, last) = provider.asked("find it")
        assert "3 logs." in repr(last.messages) and "SECRET OUTPUT" not in repr(last.messages)
        result = ends_of(core)
        assert result["results"] == [
            {
                "task_index": 0, "status": "completed", "summary": "3 logs.", "exit_reason": "completed",
                "model": first.prompt.model, "api_calls": 2, "tokens": {"input": None, "output": None},
                "duration_seconds": result["results"][0]["duration_seconds"], "session_id": str(child["id"]),
            }
        ]  # fmt: skip
        assert not core.dispatcher.turns.all


async def _ok(text: str) -> Any:
    from cos.agent.tools import ToolOk

    return ToolOk(content=text)


async def test_the_blocked_set_is_that_of_hermes_and_no_child_has_any_of_it(core_url: str, tmp_path: Path) -> None:
    assert {"delegate_task", "clarify", "memory", "send_message", "execute_code", "cronjob"} == BLOCKED
    extra = [tool(name) for name in ("memory", "send_message", "execute_code", "cronjob", "look")]
    tried = called(
        ("x1", "memory", {}), ("x2", "delegate_task", {"goal": "again"}), ("x3", "clarify", {"question": "?"})
    )
    provider = ScriptedAgents({"go": [delegates("do it"), said("ok")], "do it": [tried, said("no such tools")]})
    async with bench(core_url, tmp_path, provider, *extra) as core:
        await core.ask("go")
        assert [spec.name for spec in provider.asked("do it")[0].prompt.tools] == ["look"]
        (child,) = await children(core)
        results = [it for it in await core.history(child["id"]) if isinstance(it, ToolResultMessage)]
        assert len(results) == 3 and all("There is no tool named" in it.content for it in results)


async def test_three_children_run_side_by_side_and_four_are_an_error_that_runs_nothing(
    core_url: str, tmp_path: Path
) -> None:
    meeting = asyncio.Barrier(3)

    async def meet(args: Any, turn: Any, ctx: Any) -> Any:
        async with asyncio.timeout(10):
            await meeting.wait()
        return await _ok("met")

    provider = ScriptedAgents(
        {
            "go": [delegates("a", "b", "c", "d"), delegates("a", "b", "c", id_="d2"), said("ok")],
            **{goal: [called(("m", "meet", {})), said(f"{goal} is done")] for goal in "abc"},
        }
    )
    async with bench(core_url, tmp_path, provider, tool("meet", meet)) as core:
        await core.ask("go")
        refused, ran = [it.record for it in core.events if isinstance(it, ToolFinished) and it.name == "delegate_task"]
        assert (refused.status, ran.status) == (ToolCallStatus.ERROR, ToolCallStatus.OK)
        assert "4 tasks at once are too many; the limit is 3" in (refused.result or "")
        assert "delegation.max_concurrent_children" in (refused.result or "")
        results = json.loads(ran.result or "")["results"]
        assert [(it["task_index"], it["summary"]) for it in results] == [
            (0, "a is done"), (1, "b is done"), (2, "c is done"),
        ]  # fmt: skip
        assert len(await children(core)) == 3
        notes = [it.text for it in core.events if isinstance(it, ToolProgress)]
        assert notes == ["1 of 3 ended", "2 of 3 ended", "3 of 3 ended"]


async def test_caps_count_when_the_call_runs_whatever_the_child_was_given_H_064(core_url: str, tmp_path: Path) -> None:
    """A child that always delegates five times more: with depth 2 and a total of 8, eight are all that ever start."""
    five = called(
        *((f"c{number}", "delegate_task", {"goal": f"more {number}", "role": "orchestrator"}) for number in range(5))
    )
    provider = ScriptedAgents(
        {"go": [five, said("enough")]}, always=five,
    )  # fmt: skip
    limits = DelegationSettings(max_spawn_depth=2, max_children_per_turn=8, max_iterations=2)
    async with bench(core_url, tmp_path, provider, limits=limits) as core:
        await core.ask("go")
        rows = await core.rows("SELECT depth, status, count(*) AS n FROM turns GROUP BY depth, status ORDER BY depth")
        assert max(row["depth"] for row in rows) == 2
        assert sum(row["n"] for row in rows if row["depth"]) == 8
        assert {row["status"] for row in rows} == {"completed"}
        refusals = [it.record.result or "" for it in core.events if isinstance(it, ToolFinished) and it.record.is_error]
        assert any("delegation.max_children_per_turn" in text for text in refusals)


async def test_a_child_at_the_deepest_level_is_refused_though_its_tools_list_it_H_064(
    core_url: str, tmp_path: Path
) -> None:
    again = called(("x", "delegate_task", {"goal": "deeper", "role": "orchestrator"}))
    provider = ScriptedAgents(
        {"go": [delegates("one", role="orchestrator"), said("ok")], "one": [again, said("alone")]}
    )
    async with bench(core_url, tmp_path, provider, settings={"tools": ("delegate_task",)}) as core:
        await core.ask("go")
        assert len(await children(core)) == 1
        assert provider.asked("one")[0].prompt.tools == ()


async def test_an_orchestrator_may_delegate_where_the_depth_allows_it(core_url: str, tmp_path: Path) -> None:
    provider = ScriptedAgents(
        {
            "go": [delegates("lead", role="orchestrator"), said("ok")],
            "lead": [delegates("work", id_="d2", role="orchestrator"), said("led")],
            "work": [said("worked")],
        }
    )
    async with bench(core_url, tmp_path, provider, limits=DelegationSettings(max_spawn_depth=2)) as core:
        done = await core.ask("go")
        lead, work = await children(core)
        assert work["parent_session_id"] == lead["id"]
        assert work["root_session_id"] == lead["root_session_id"] == done.turn.session_id
        assert [spec.name for spec in provider.asked("lead")[0].prompt.tools] == ["delegate_task"]
        assert provider.asked("work")[0].prompt.tools == ()


@pytest.mark.parametrize(
    ("args", "why"),
    [({}, "give a goal, or tasks"), ({"goal": "  "}, "give a goal"), ({"tasks": []}, "give a goal"),
     ({"tasks": [{"goal": "a"}, {"goal": " "}]}, "task 1 has no goal")],
)  # fmt: skip
async def test_a_call_without_a_goal_runs_nothing(core_url: str, tmp_path: Path, args: Any, why: str) -> None:
    provider = ScriptedAgents({"go": [called(("x", "delegate_task", args)), said("ok")]})
    async with bench(core_url, tmp_path, provider) as core:
        done = await core.ask("go")
        result = next(it for it in await core.history(done.turn.session_id) if isinstance(it, ToolResultMessage))
        assert result.is_error and why in result.content
        assert not await children(core)


@pytest.mark.parametrize(("length", "is_cut"), [(24_000, False), (24_001, True)])
async def test_a_summary_is_cut_after_24_000_characters_and_says_so(
    core_url: str, tmp_path: Path, length: int, is_cut: bool
) -> None:
    long = "a" * (length - 1) + "z"
    provider = ScriptedAgents({"go": [delegates("write"), said("ok")], "write": [said(long)]})
    async with bench(core_url, tmp_path, provider) as core:
        await core.ask("go")
        (end,) = ends_of(core)["results"]
        assert ("summary_cut" in end) is is_cut and (end["summary"] == long) is not is_cut
        if is_cut:
            assert "24,001 characters" in end["summary_cut"]
            head, cut, tail = end["summary"].split("\n")
            assert (len(head), cut, len(tail), tail[-1]) == (18_000, "[... 1 characters cut ...]", 6_000, "z")
        (child,) = await children(core)
        assert (await core.texts(child["id"]))[-1] == long


async def test_a_batch_of_long_summaries_is_still_whole_json(core_url: str, tmp_path: Path) -> None:
    provider = ScriptedAgents(
        {"go": [delegates(*"abc"), said("ok")], **{goal: [said('"\n' * 20_000)] for goal in "abc"}}
    )
    async with bench(core_url, tmp_path, provider) as core:
        await core.ask("go")
        assert [end["status"] for end in ends_of(core)["results"]] == ["completed"] * 3


async def test_how_each_child_ended_is_told_apart(core_url: str, tmp_path: Path) -> None:
    provider = ScriptedAgents(
        {
            "go": [delegates("works", "fails", "says nothing"), said("ok")],
            "works": [said("done")],
            "fails": [ValueError("boom")],
            "says nothing": [said(""), said("")],
        }
    )
    async with bench(core_url, tmp_path, provider) as core:
        await core.ask("go")
        works, fails, silent = ends_of(core)["results"]
        assert (works["status"], fails["status"], silent["status"]) == ("completed", "failed", "failed")
        assert "boom" in fails["error"] and silent["error"] == "it ended without a word"


async def test_a_call_whose_children_all_failed_is_an_error(core_url: str, tmp_path: Path) -> None:
    provider = ScriptedAgents({"go": [delegates("fails"), said("ok")], "fails": [ValueError("boom")]})
    async with bench(core_url, tmp_path, provider) as core:
        done = await core.ask("go")
        result = next(it for it in await core.history(done.turn.session_id) if isinstance(it, ToolResultMessage))
        assert result.is_error and json.loads(result.content)["results"][0]["status"] == "failed"


async def test_a_child_has_50_steps_then_one_more_for_its_summary(core_url: str, tmp_path: Path) -> None:
    assert (LIMITS.max_concurrent_children, LIMITS.max_spawn_depth, LIMITS.max_iterations) == (3, 1, 50)
    assert LIMITS.max_summary_chars == 24_000
    steps = [called((f"s{number}", "look", {})) for number in range(50)]
    provider = ScriptedAgents(
        {"go": [delegates("dig", max_iterations=500, background=True), said("ok")], "dig": [*steps, said("half done")]}
    )
    async with bench(core_url, tmp_path, provider, tool("look")) as core:
        await core.ask("go")
        (end,) = ends_of(core)["results"]
        assert (end["status"], end["exit_reason"], end["summary"]) == ("completed", "max_iterations", "half done")
        assert len(provider.asked("dig")) == 51 == end["api_calls"]


async def test_children_use_the_model_that_the_profile_names_else_their_parents(core_url: str, tmp_path: Path) -> None:
    scripts: dict[str, list[Script]] = {"go": [delegates("work"), said("ok")], "work": [said("done")]}
    provider = ScriptedAgents(scripts)
    async with bench(core_url, tmp_path, provider, settings={"model": "big", "delegation": {"model": "small"}}) as core:
        await core.ask("go")
    assert {request.prompt.model for request in provider.asked("go")} == {"big"}
    assert {request.prompt.model for request in provider.asked("work")} == {"small"}
    provider = ScriptedAgents({"hi": [said("hello")], **scripts})
    async with bench(core_url, tmp_path, provider, settings={"model": "big"}) as core:
        session = (await core.ask("hi")).turn.session_id
        await core.options.set_model(session, "chosen")
        provider._of["hi"] = ScriptedAgents({"hi": [delegates("work"), said("ok")]})._of["hi"]
        await core.ask("go on", session)
    assert {request.prompt.model for request in provider.asked("work")} == {"chosen"}


async def test_the_hooks_of_hermes_fire_with_their_arguments(core_url: str, tmp_path: Path) -> None:
    provider = ScriptedAgents({"go": [delegates("a", "b"), said("ok")], "a": [said("A")], "b": [ValueError("boom")]})
    async with bench(core_url, tmp_path, provider) as core:
        fired: list[tuple[str, dict[str, Any]]] = []
        for name in ("subagent_start", "subagent_stop", "pre_llm_call", "on_session_end"):
            core.hooks.register(name, lambda name=name, **given: fired.append((name, given)), source="p")
        done = await core.ask("go")
        starts = [given for name, given in fired if name == "subagent_start"]
        stops = [given for name, given in fired if name == "subagent_stop"]
        parent = {"parent_session_id": str(done.turn.session_id), "parent_turn_id": str(done.turn.turn_id)}
        ids = {it["child_goal"]: it["child_session_id"] for it in starts}
        assert set(ids) == {"a", "b"}
        for given in (*starts, *stops):
            assert parent.items() <= given.items()
            assert (given["turn"].depth, given["turn"].parent_turn_id) == (1, done.turn.turn_id)
            assert (given["child_role"], str(given["turn"].session_id)) == ("leaf", given["child_session_id"])
        assert all(it["parent_subagent_id"] is None and it["child_subagent_id"] for it in starts)
        assert [(it["child_session_id"], it["child_status"], it["child_summary"]) for it in stops] == [
            (ids["a"], "completed", "A"), (ids["b"], "failed", None),
        ]  # fmt: skip
        assert all(isinstance(it["duration_ms"], int) for it in stops)
        order = [name for name, _ in fired if name.startswith("subagent")]
        assert order == ["subagent_start"] * 2 + ["subagent_stop"] * 2
        platforms = {given["session_id"]: given["platform"] for name, given in fired if name == "pre_llm_call"}
        assert platforms == {str(done.turn.session_id): "cli", ids["a"]: "subagent", ids["b"]: "subagent"}


async def test_the_turn_of_a_child_counts_its_own_tokens(core_url: str, tmp_path: Path) -> None:
    def spent(text: str, tokens: int) -> ModelReply:
        usage = Usage(input_tokens=tokens, output_tokens=1)
        return ModelReply(text=text, stop_reason="end_turn", model=MODEL, is_complete=True, usage=usage)

    provider = ScriptedAgents({"go": [delegates("work"), spent("ok", 7)], "work": [spent("done", 100)]})
    async with bench(core_url, tmp_path, provider) as core:
        done = await core.ask("go")
        assert done.usage.input_tokens == 7
        assert ends_of(core)["results"][0]["tokens"] == {"input": 100, "output": 1}
        (child,) = await children(core)
        assert (await core.sessions.usage(child["id"])).input_tokens == 100


async def delegating(core: CoreBench, text: str = "go") -> tuple[Any, Any]:
    """Start a turn whose child waits in its first model call; return both sessions."""
    accepted = await core.send(text)
    await core.when(1, MessageDelta)
    started = [it.turn for it in core.events if isinstance(it, TurnStarted)]
    return accepted.session_id, started[-1].session_id


async def test_a_message_typed_meanwhile_waits_and_the_child_ends_normally_H_067(core_url: str, tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def wait(args: Any, turn: Any, ctx: Any) -> Any:
        await go_on.wait()
        return await _ok("waited")

    provider = ScriptedAgents(
        {
            "go": [delegates("slow"), said("the child says done"), said("noted X")],
            "slow": [called(("w", "wait", {})), said("done")],
        }
    )
    async with bench(core_url, tmp_path, provider, tool("wait", wait)) as core:
        accepted = await core.send("go")
        while not any(it.name == "wait" for it in await core.when(1, ToolStarted)):
            await asyncio.sleep(0.002)
        queued = await core.send("thanks, also note X", accepted.session_id)
        steered = await core.send("and Y", accepted.session_id, mode="steer")
        assert queued.turn_id is None and steered.turn_id is None
        assert len(core.dispatcher.turns.all) == 2
        go_on.set()
        first = await core.ended(accepted.turn_id)
        assert (first.status, first.text) == (TurnStatus.COMPLETED, "the child says done")
        assert ends_of(core)["results"][0]["status"] == "completed"
        await core.when(3, TurnCompleted)
        await core.idle(accepted.session_id)
        texts = await core.texts(accepted.session_id)
        assert texts[-3:] == ["the child says done", "thanks, also note X", "noted X"] and "and Y" in texts


@pytest.mark.parametrize("way", ["cancel", "now", "close"])
async def test_an_explicit_stop_ends_all_children_H_067(core_url: str, tmp_path: Path, way: str) -> None:
    provider = ScriptedAgents({"go": [delegates("a", "b", "c"), said("new")], "a": [WAITS], "b": [WAITS], "c": [WAITS]})
    async with bench(core_url, tmp_path, provider) as core:
        accepted = await core.send("go")
        await core.when(3, MessageDelta)
        if way == "cancel":
            core.dispatcher.cancel(accepted.session_id)
        elif way == "now":
            await core.send("something else", accepted.session_id, mode="now")
        else:
            await core.dispatcher.close()
        done = await core.ended(accepted.turn_id)
        assert done.status is TurnStatus.CANCELLED
        rows = await core.rows("SELECT status FROM turns WHERE depth = 1")
        assert [row["status"] for row in rows] == ["cancelled"] * 3
        await core.idle(accepted.session_id)
        assert provider.open_streams == 0 and not core.dispatcher.turns.all
        result = next(it for it in await core.history(accepted.session_id) if isinstance(it, ToolResultMessage))
        assert result.is_error
        ends = json.loads(result.content)["results"]
        assert [(end["status"], end["summary"]) for end in ends] == [("interrupted", "so far")] * 3


async def test_a_child_that_is_stopped_alone_leaves_the_others_and_the_parent_running(
    core_url: str, tmp_path: Path
) -> None:
    provider = ScriptedAgents({"go": [delegates("a", "b"), said("ok")], "a": [WAITS], "b": [said("B")]})
    async with bench(core_url, tmp_path, provider) as core:
        accepted = await core.send("go")
        await core.when(2, MessageDelta)
        child = next(it["id"] for it in await children(core) if it["title"] == "a")
        assert core.dispatcher.cancel(child)
        done = await core.ended(accepted.turn_id)
        assert (done.status, done.text) == (TurnStatus.COMPLETED, "ok")
        assert [end["status"] for end in ends_of(core)["results"]] == ["interrupted", "completed"]


@pytest.mark.parametrize("mode", ["queue", "steer", "now"])
async def test_what_is_said_to_a_child_that_works_goes_into_its_turn(core_url: str, tmp_path: Path, mode: str) -> None:
    go_on = asyncio.Event()

    async def wait(args: Any, turn: Any, ctx: Any) -> Any:
        await go_on.wait()
        return await _ok("waited")

    provider = ScriptedAgents(
        {"go": [delegates("slow"), said("ok")], "slow": [called(("w", "wait", {})), said("done, in blue")]}
    )
    async with bench(core_url, tmp_path, provider, tool("wait", wait)) as core:
        accepted = await core.send("go")
        while not any(it.name == "wait" for it in await core.when(1, ToolStarted)):
            await asyncio.sleep(0.002)
        (child,) = await children(core)
        told = await core.send("make it blue", child["id"], mode=mode)
        assert told.turn_id is None
        go_on.set()
        done = await core.ended(accepted.turn_id)
        assert done.text == "ok" and ends_of(core)["results"][0]["summary"] == "done, in blue"
        texts = await core.texts(child["id"])
        assert texts == ["slow", "", "", "make it blue", "done, in blue"]
        assert len(await core.rows("SELECT 1 FROM turns WHERE depth = 1")) == 1
        with pytest.raises(SessionError, match="does not work any more"):
            await core.send("and green", child["id"], mode=mode)
        assert await core.sessions.queue(child["id"]) == [] and await core.texts(child["id"]) == texts


async def test_what_came_too_late_for_a_childs_turn_is_its_next_one_before_the_parent_goes_on(
    core_url: str, tmp_path: Path
) -> None:
    provider = ScriptedAgents({"go": [delegates("work"), said("ok")], "work": [said("done"), said("done, in blue")]})
    async with bench(core_url, tmp_path, provider, limits=DelegationSettings(max_iterations=1)) as core:

        async def late(turn: Any) -> None:
            """In its last step: nothing more goes into the turn."""
            if turn.depth and len(provider.asked("work")) == 1:
                await core.send("make it blue", turn.session_id)

        core.hooks.register("transform_llm_output", late, source="p")
        done = await core.ask("go")
        (child,) = await children(core)
        assert await core.texts(child["id"]) == ["work", "done", "make it blue", "done, in blue"]
        (end,) = ends_of(core)["results"]
        assert (end["summary"], end["api_calls"]) == ("done, in blue", 2)
        assert done.text == "ok" and await core.sessions.queue(child["id"]) == []
        turns = await core.rows("SELECT depth, parent_turn_id, status FROM turns WHERE depth = 1")
        assert [(row["parent_turn_id"], row["status"]) for row in turns] == [(done.turn.turn_id, "completed")] * 2


async def test_a_childs_request_names_both_sessions_and_a_grant_holds_for_the_family_H_024(
    core_url: str, tmp_path: Path
) -> None:
    provider = ScriptedAgents(
        {
            "go": [delegates("echo it"), said("ok")],
            "echo it": [called(("x", "shell", {"command": "echo hi"})), said("hi")],
        }
    )
    shell = tool("shell", risk="execute")
    async with bench(core_url, tmp_path, provider, shell) as core:
        core.hooks.register(
            "pre_tool_call", lambda tool_name: {"action": "approve"} if tool_name == "shell" else None, source="p"
        )
        accepted = await core.send("go")
        (request,) = await core.requested()
        (pending,) = await core.desk.pending()
        assert (pending.session_title, pending.root_title) == ("echo it", "go")
        assert (pending.root_session_id, pending.session_id) == (accepted.session_id, request.turn.session_id)
        rule = Rule(decision="allow", tool="shell")
        await Grants(core.database).add(pending, [rule], "test")
        await core.desk.answer(request.approval_id, ApprovalAnswer(decision="allowed", answered_by="test"))
        assert (await core.ended(accepted.turn_id)).text == "ok"
        for session_id in (accepted.session_id, request.turn.session_id):
            assert [granted for _, granted in await Grants(core.database).of_session(session_id)] == [rule]
        assert ends_of(core)["results"][0]["summary"] == "hi"


async def test_a_childs_request_that_nobody_answers_ends_in_time_H_024(core_url: str, tmp_path: Path) -> None:
    provider = ScriptedAgents(
        {"go": [delegates("echo it"), said("ok")], "echo it": [called(("x", "shell", {})), said("nobody let me")]}
    )
    async with bench(core_url, tmp_path, provider, tool("shell", risk="execute"), timeout_seconds=0.05) as core:
        core.hooks.register(
            "pre_tool_call", lambda tool_name: {"action": "approve"} if tool_name == "shell" else None, source="p"
        )
        done = await core.ask("go")
        assert done.text == "ok" and ends_of(core)["results"][0]["summary"] == "nobody let me"
        assert [row["status"] for row in await core.rows("SELECT status FROM approvals")] == ["expired"]
        assert len(await core.when(1, ApprovalRequested)) == 1
