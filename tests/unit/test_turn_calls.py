"""The turn loop over tool calls: order and concurrency, refusals, approvals, results and the hooks between them."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from cos.agent.events import ToolFinished, ToolOutput, ToolProgress, ToolProposed, ToolStarted, TurnCompleted
from cos.agent.hook_words import error_type
from cos.agent.hooks import APPROVAL_POLICY
from cos.agent.identity import TurnInfo
from cos.agent.messages import Part
from cos.agent.provider import ModelReply, ProposedCall
from cos.agent.providers.scripted import called, said
from cos.agent.records import ApprovalAnswer, ToolCallStatus, TurnStatus
from cos.agent.results import clipped, unanswered_status, unanswered_text
from cos.agent.tools import CallDescription, ToolContext, ToolError, ToolOk, ToolOutcome
from tests.agent_bench import ALLOWED, Bench, bench, tool

ASK = {"action": "approve", "message": "it changes files"}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def statuses(b: Bench) -> dict[str, ToolCallStatus]:
    return {call_id: record.status for call_id, record in b.records.items()}


async def never(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
    pytest.fail("this must not run")


async def test_reading_calls_run_together_and_answer_in_the_order_of_the_calls() -> None:
    meeting = asyncio.Barrier(2)
    first_may_end = asyncio.Event()

    async def meet(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        await meeting.wait()
        if args["n"] == 1:
            await first_may_end.wait()
        else:
            first_may_end.set()
        return ToolOk(content=f"r{args['n']}")

    b = await bench([called(("a", "meet", {"n": 1}), ("b", "meet", {"n": 2})), said("ok")], tool("meet", meet))
    await b.run()
    assert b.finished == ["b", "a"]
    assert [(result.call_id, result.content) for result in b.results] == [("a", "r1"), ("b", "r2")]
    b.assert_whole()


async def test_any_other_call_is_a_barrier() -> None:
    log = list[str]()

    async def noted(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        log.append(f"+{args['n']}")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        log.append(f"-{args['n']}")
        return ToolOk(content="")

    calls = [(str(n), "write" if n == 2 else "read", {"n": n}) for n in range(5)]
    b = await bench([called(*calls), said("ok")], tool("read", noted), tool("write", noted, risk="write"))
    await b.run()
    assert log == ["+0", "+1", "-0", "-1", "+2", "-2", "+3", "+4", "-3", "-4"]
    assert {result.content for result in b.results} == {"(no output)"}


async def test_a_call_that_a_plugin_turned_into_a_writing_one_is_a_barrier_too() -> None:
    running, most = 0, 0

    async def counted(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0)
        running -= 1
        return ToolOk(content="ok")

    mixed = tool("mixed", counted)
    mixed = type(mixed)(**{f: getattr(mixed, f) for f in mixed.__slots__} | {"risk": lambda a: a["as"]})
    b = await bench([called(("a", "mixed", {"as": "read"}), ("b", "mixed", {"as": "read"})), said("ok")], mixed)
    b.on("pre_tool_call", lambda tool_call_id, args: args.update({"as": "write"}) if tool_call_id == "b" else None)
    await b.run()
    assert most == 1


@pytest.mark.parametrize("name", ["str_replace_based_edit_tool", "Shell", "", "x" * 2_000, "a\nb"])
async def test_an_unknown_tool_is_named_with_the_real_ones_and_nothing_is_asked(name: str) -> None:
    """H-104."""
    b = await bench([called(("c", name, {})), said("ok")], tool("shell", never), tool("read", never))
    b.on("pre_tool_call", lambda: ASK)
    assert (await b.run()).status is TurnStatus.COMPLETED
    (result,) = b.results
    assert result.is_error
    assert result.content.startswith("There is no tool named ")
    assert result.content.endswith("The tools are: read, shell.")
    assert (name != "Shell") or "Did you mean shell?" in result.content
    assert b.approver.asked == []
    b.assert_whole()


async def test_calling_unknown_tools_again_and_again_is_bounded() -> None:
    """H-104."""
    b = await bench([called((f"c{n}", "nope", {})) for n in range(5)])
    outcome = await b.run()
    assert outcome.status is TurnStatus.FAILED
    assert "tools that do not exist in 5 steps" in (outcome.error or "")
    b.assert_whole()


def proposing(args: dict[str, Any] | None, raw: str, stop: str) -> ModelReply:
    call = ProposedCall(id="c", name="read", args=args, raw_args=raw)
    return ModelReply(calls=(call,), stop_reason=stop, is_complete=True)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (proposing({}, "{}", "tool_use"), "arguments: 'path' is a required property"),
        (proposing({"path": 3}, "", "tool_use"), "path: 3 is not of type 'string'"),
        (proposing(None, '{"path": "x', "tool_use"), 'not a complete JSON object: \'{"path": "x\''),
        (proposing({"path": "x"}, "", "max_tokens"), "the reply reached the output limit"),
        (proposing({"path": "x"}, "", "refusal"), "the reply ended with 'refusal'"),
    ],
)
async def test_arguments_that_are_wrong_or_cut_run_nothing_and_the_model_is_told(reply: ModelReply, why: str) -> None:
    b = await bench([reply, said("ok")], tool("read", never, schema=SCHEMA))
    b.on("pre_tool_call", lambda: pytest.fail("nothing to judge"))
    outcome = await b.run()
    assert outcome.text == "ok"
    assert why in b.results[0].content
    assert statuses(b) == {"c": ToolCallStatus.ERROR}
    assert not any("Send a message to let it continue" in notice for notice in b.notices)
    b.assert_whole()


async def test_two_calls_with_one_id_are_told_apart_and_asked_apart() -> None:
    """H-022."""
    ran = list[str]()

    async def shell(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        ran.append(args["do"])
        return ToolOk(content="ok")

    calls = (("toolu_dup", "shell", {"do": "echo safe"}), ("toolu_dup", "shell", {"do": "touch /tmp/dup"}))
    denied = ApprovalAnswer(decision="denied")
    b = await bench(
        [called(*calls), said("ok")], tool("shell", shell, risk="execute"), answers=[ALLOW, denied]
    )  # fmt: skip
    b.on("pre_tool_call", lambda: ASK)
    await b.run()
    assert ran == ["echo safe"]
    assert statuses(b) == {"toolu_dup": ToolCallStatus.OK, "toolu_dup_2": ToolCallStatus.DENIED}
    b.assert_whole()


ALLOW = ApprovalAnswer(decision="allowed", answered_by="tui")


async def test_a_denial_with_a_reason_reaches_the_model_word_for_word_and_the_turn_goes_on() -> None:
    """H-023."""
    reason = 'use "rg" instead [not grep]'
    b = await bench(
        [called(("a", "one", {}), ("b", "two", {})), said("ok")], tool("one", never, risk="execute"), tool("two"),
        answers=[ApprovalAnswer(decision="denied", reason=reason)],
    )  # fmt: skip
    b.on("pre_tool_call", lambda tool_name: ASK if tool_name == "one" else None)
    outcome = await b.run()
    first, second = b.results
    assert first.content == f"Not run: the user refused this call. Their reason, word for word: {reason}"
    assert (first.is_error, second.content, outcome.denied_calls) == (True, "done", 1)
    assert b.records["a"].approval == ApprovalAnswer(decision="denied", reason=reason)
    b.assert_whole()


async def test_an_expired_request_is_not_a_denial() -> None:
    """H-019: the second try asks again."""
    b = await bench(
        [called(("a", "one", {})), called(("b", "one", {})), said("ok")], tool("one", never, risk="write"),
        answers=[ApprovalAnswer(decision="expired"), ApprovalAnswer(decision="denied")],
    )  # fmt: skip
    b.on("pre_tool_call", lambda: ASK)
    outcome = await b.run()
    assert statuses(b) == {"a": ToolCallStatus.EXPIRED, "b": ToolCallStatus.DENIED}
    assert "has not agreed to this and has not refused it" in b.results[0].content
    assert "the user refused this call" in b.results[1].content
    assert (len(b.approver.asked), outcome.denied_calls) == (2, 2)


async def test_a_person_is_asked_once_about_exactly_what_runs() -> None:
    got = list[Any]()

    async def run(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        got.append(dict(args))
        args["path"] = "changed by the tool itself"
        return ToolOk(content="ok")

    def describe(args: dict[str, Any], turn: TurnInfo, workspace: Any) -> CallDescription:
        return CallDescription(title=f"Write {args['path']}", cwd=str(workspace))

    write = tool("write", run, risk="write", schema=SCHEMA, describe=describe)
    b = await bench([called(("a", "write", {"path": "x"})), said("ok")], write)
    b.on("pre_tool_call", lambda: ASK, source=APPROVAL_POLICY)
    b.on("pre_tool_call", lambda args: args.update(path="final"))
    b.on("pre_tool_call", lambda: {"action": "approve", "message": "plugin says look"})
    b.on("post_tool_call", lambda args: args.update(path="too late"))
    await b.run()
    (request,) = b.approver.asked
    assert (request.args, request.description.title) == ({"path": "final"}, "Write final")
    assert request.reasons == ("it changes files", "plugin says look")
    assert got == [{"path": "final"}]
    assert b.records["a"].args == {"path": "final"}
    assert b.of(ToolProposed)[0].title == "Write x"


async def test_arguments_that_a_plugin_broke_run_nothing() -> None:
    write = tool("write", never, risk="write", schema=SCHEMA)
    b = await bench([called(("a", "write", {"path": "x"})), said("ok")], write)
    b.on("pre_tool_call", lambda args: args.clear())
    await b.run()
    assert "'path' is a required property" in b.results[0].content
    b = await bench([called(("a", "write", {"path": "x"})), said("ok")], write)
    b.on("pre_tool_call", lambda args: args.update(path={1, 2}))
    await b.run()
    assert (b.results[0].is_error, b.statuses) == (True, [TurnStatus.COMPLETED])
    b.assert_whole()


async def test_a_blocked_call_names_the_reason_and_still_fires_its_hooks() -> None:
    b = await bench([called(("a", "one", {})), said("ok")], tool("one", never))
    b.on("pre_tool_call", lambda: {"action": "block", "message": "not on Sundays"})
    seen = list[Any]()
    b.on("post_tool_call", lambda status, error_type, result: seen.append((status, error_type, result)))
    await b.run()
    assert b.results[0].content == "Not run: not on Sundays"
    assert seen == [("blocked", "plugin_block", "Not run: not on Sundays")]
    assert not b.of(ToolStarted)


async def test_approval_hooks_see_the_question_and_the_answer() -> None:
    b = await bench(
        [called(("a", "one", {}), ("b", "one", {})), said("ok")], tool("one", risk="write"),
        answers=[ApprovalAnswer(decision="allowed", scope="session"), ApprovalAnswer(decision="expired")],
    )  # fmt: skip
    b.on("pre_tool_call", lambda: ASK)
    asked, choices = list[str](), list[str]()
    b.on("pre_approval_request", lambda tool_call_id, surface: asked.append(f"{tool_call_id} {surface}"))
    b.on("post_approval_response", lambda tool_call_id, choice: choices.append(f"{tool_call_id} {choice}"))
    await b.run()
    assert (sorted(asked), sorted(choices)) == (["a test", "b test"], ["a session", "b timeout"])


async def test_every_request_of_a_step_is_asked_before_the_first_is_answered() -> None:
    everybody = asyncio.Barrier(2)

    async def answer(request: Any) -> ApprovalAnswer:
        await everybody.wait()
        return ALLOW

    b = await bench(
        [called(("a", "w", {}), ("b", "w", {})), said("ok")], tool("w", risk="write"), answers=[answer, answer]
    )
    b.on("pre_tool_call", lambda: ASK)
    assert (await b.run()).status is TurnStatus.COMPLETED


async def test_a_request_that_was_cancelled_elsewhere_cancels_the_turn() -> None:
    b = await bench(
        [called(("a", "w", {}))], tool("w", never, risk="write"), answers=[ApprovalAnswer(decision="cancelled")]
    )
    b.on("pre_tool_call", lambda: ASK)
    assert (await b.run()).status is TurnStatus.CANCELLED
    b.assert_whole()


@pytest.mark.parametrize("error", [ValueError("broken"), asyncio.CancelledError("its own")])
async def test_a_tool_that_raises_is_an_error_result(error: BaseException) -> None:
    async def raises(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        raise error

    b = await bench([called(("a", "t", {})), said("ok")], tool("t", raises))
    assert (await b.run()).text == "ok"
    assert b.results[0].content == f"The tool t failed: {type(error).__name__}: {error}"
    b.assert_whole()


async def test_a_post_hook_that_raises_leaves_one_result() -> None:
    """H-011."""
    b = await bench([called(("a", "t", {})), said("ok")], tool("t"))
    b.on("post_tool_call", lambda: 1 / 0)
    await b.run()
    assert [result.content for result in b.results] == ["done"]
    b.assert_whole()


async def test_a_hard_time_limit_stops_the_tool() -> None:
    async def hangs(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        await asyncio.Event().wait()
        return ToolOk(content="never")

    b = await bench([called(("a", "t", {})), said("ok")], tool("t", hangs, timeout_seconds=0.01))
    await b.run()
    assert b.results[0].content == "Stopped: the tool did not end within 0.01 s."
    assert statuses(b) == {"a": ToolCallStatus.TIMED_OUT}


async def test_foreign_code_that_cannot_describe_or_judge_a_call_fails_no_turn() -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("x")

    bad = tool("bad", describe=broken)
    bad = type(bad)(**{f: getattr(bad, f) for f in bad.__slots__} | {"risk": broken})
    b = await bench([called(("a", "bad", {"n": 1})), said("ok")], bad)
    b.on("pre_tool_call", lambda: ASK)
    assert (await b.run()).text == "ok"
    (request,) = b.approver.asked
    assert (request.risk, json.loads(request.description.detail)) == ("execute", {"n": 1})


async def test_the_first_transformed_result_is_what_the_model_reads_also_an_empty_one() -> None:
    b = await bench([called(("a", "t", {})), said("ok")], tool("t"))
    b.on("transform_tool_result", lambda: 7)
    b.on("transform_tool_result", lambda: "")
    b.on("transform_tool_result", lambda: "late")
    await b.run()
    assert (b.results[0].content, b.records["a"].result) == ("(no output)", "")


async def test_outcomes_reach_the_journal_with_their_status_and_parts() -> None:
    outcomes: dict[str, ToolOutcome] = {
        "a": ToolOk(content="x\x00y", parts=(Part(type="link", url="u"),)),
        "b": ToolError(content="gone", status=ToolCallStatus.UNKNOWN),
        "c": ToolError(content="bad"),
    }

    async def run(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        return outcomes[args["n"]]

    b = await bench([called(*((n, "t", {"n": n}) for n in outcomes)), said("ok")], tool("t", run))
    await b.run()
    assert list(statuses(b).values()) == [ToolCallStatus.OK, ToolCallStatus.UNKNOWN, ToolCallStatus.ERROR]
    assert [result.content for result in b.results] == ["x\ufffdy", "gone", "bad"]
    assert b.results[0].parts == [Part(type="link", url="u")]
    assert all(record.duration_ms is not None for record in b.records.values())


async def test_live_output_arrives_also_from_threads_and_never_after_the_end() -> None:
    contexts = list[ToolContext]()

    async def talks(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        contexts.append(ctx)
        assert str(ctx.workspace) == "/tmp"
        ctx.emit("a")
        ctx.progress("half")
        thread = threading.Thread(target=ctx.emit, args=("b",))
        thread.start()
        thread.join()
        await asyncio.sleep(0)
        return ToolOk(content="ok")

    b = await bench([called(("a", "t", {})), said("ok")], tool("t", talks))
    await b.run()
    contexts[0].emit("late")
    assert [event.text for event in b.of(ToolOutput)] == ["a", "b"]
    assert [event.text for event in b.of(ToolProgress)] == ["half"]
    assert isinstance(b.events[-1], TurnCompleted)
    assert [type(event) for event in b.events if event.type.startswith("tool.")][-1] is ToolFinished


def test_long_results_keep_head_and_tail_and_state_the_cut() -> None:
    text = "".join(map(str, range(1_000)))
    cut = clipped(text, 100)
    assert cut == f"{text[:40]}\n[... {len(text) - 100:,} characters cut ...]\n{text[-60:]}"
    assert clipped(text[:100], 100) == text[:100]


def test_the_end_of_a_turn_says_whether_a_call_may_have_had_an_effect() -> None:
    running, proposed = ToolCallStatus.RUNNING, ToolCallStatus.PROPOSED
    assert "outcome unknown" in unanswered_text(running, TurnStatus.INTERRUPTED)
    assert (
        unanswered_text(proposed, TurnStatus.CANCELLED) == "Not run: the turn was cancelled before this call started."
    )
    assert unanswered_text(ToolCallStatus.OK, TurnStatus.FAILED, "kept") == "kept"
    assert unanswered_text(ToolCallStatus.OK, TurnStatus.FAILED, "") == "(no output)"
    ends = [unanswered_status(status, TurnStatus.FAILED) for status in (running, proposed, ToolCallStatus.OK)]
    assert ends == [ToolCallStatus.UNKNOWN, ToolCallStatus.CANCELLED, ToolCallStatus.OK]
    assert error_type(ToolCallStatus.UNKNOWN) == "tool_error"


@pytest.mark.parametrize("mode", ["asked", "unasked"])
async def test_a_call_whose_folder_moved_while_it_waited_is_judged_again(mode: str) -> None:
    """An earlier call of the step moves the folder: nobody has seen the later one there, and a rule may deny it."""
    folder = "/tmp/one"
    ran = list[str]()

    async def move(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        nonlocal folder
        folder = "/tmp/two"
        return ToolOk(content="moved")

    async def run(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        ran.append(folder)
        return ToolOk(content="ran")

    def describe(args: dict[str, Any], turn: TurnInfo, workspace: Any) -> CallDescription:
        return CallDescription(title="rm -r build", cwd=folder)

    def judge(tool_name: str, cwd: str) -> dict[str, str] | None:
        if tool_name == "move":
            return None
        return ASK if mode == "asked" or cwd == "/tmp/two" else None

    tools = tool("move", move, risk="execute"), tool("run", run, risk="execute", describe=describe)
    calls = called(("a", "move", {}), ("b", "run", {}), ("c", "run", {}))
    b = await bench([calls, said("ok")], *tools)
    b.on("pre_tool_call", judge, source=APPROVAL_POLICY)
    earlier = [ALLOWED] * (2 if mode == "asked" else 0)
    b.approver.answers = [*earlier, ApprovalAnswer(decision="denied"), ALLOWED]
    await b.run()
    folders = [(request.call_id, request.description.cwd) for request in b.approver.asked]
    before = [("b", "/tmp/one"), ("c", "/tmp/one")] if mode == "asked" else []
    assert folders == [*before, ("b", "/tmp/two"), ("c", "/tmp/two")]
    assert (ran, statuses(b)["b"]) == (["/tmp/two"], ToolCallStatus.DENIED)
    b.assert_whole()


async def test_a_call_that_an_earlier_one_made_forbidden_does_not_run() -> None:
    done = list[str]()

    async def run(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        done.append("ran")
        return ToolOk(content="ran")

    b = await bench([called(("a", "run", {}), ("b", "run", {})), said("ok")], tool("run", run, risk="execute"))
    forbidden = {"action": "block", "message": "not any more"}
    b.on("pre_tool_call", lambda: forbidden if done else None, source=APPROVAL_POLICY)
    await b.run()
    assert (len(done), b.results[1].content) == (1, "Not run: not any more")
    b.assert_whole()
