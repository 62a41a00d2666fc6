"""The hook bus: order, narrowing, sync and async, what a failing callback does, and how the guards combine."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from cos.agent.hook_rules import Verdict, first_action, first_string, joined_context, judge_call
from cos.agent.hooks import APPROVAL_POLICY, LIVE_FEED, Answer, Failure, HookBus, HookSignatureError, is_guard
from cos.agent.hookspecs import HOOKS
from tests.tool_context import new_turn


def arguments(hook: str, **given: Any) -> dict[str, Any]:
    """Every documented argument of `hook`, as the bus demands."""
    return dict.fromkeys(HOOKS[hook].arguments) | given


async def judged(bus: HookBus, args: dict[str, Any] | None = None) -> Verdict:
    call = arguments("pre_tool_call", turn=new_turn(), tool_name="t", args={} if args is None else args)
    return await judge_call(bus, **call)


async def values(bus: HookBus, hook: str = "on_session_end") -> list[Any]:
    return [answer.value for answer in await bus.fire(hook, **arguments(hook)) if isinstance(answer, Answer)]


async def test_policy_and_live_feed_come_first_then_plugins_in_their_order() -> None:
    bus = HookBus()
    for source in ["memory", LIVE_FEED, "bill", APPROVAL_POLICY, "workspace"]:
        bus.register("on_session_end", lambda source=source: source, source=source)
    assert await values(bus) == [APPROVAL_POLICY, LIVE_FEED, "memory", "bill", "workspace"]


async def test_every_callback_runs_and_none_is_left_out_of_the_returns() -> None:
    bus, ran = HookBus(), list[int]()

    def callback(number: int) -> Any:
        return lambda: [ran.append(number), number or None][1]  # type: ignore[func-returns-value]

    for number in range(3):
        bus.register("on_session_end", callback(number), source="p")
    assert (await values(bus), ran) == ([1, 2], [0, 1, 2])


async def test_a_callback_receives_only_the_arguments_that_it_declares() -> None:
    bus, seen = HookBus(), dict[str, Any]()

    def few(tool_name: str, missing: int = 3) -> None:
        seen["few"] = (tool_name, missing)

    async def all_of_them(**given: Any) -> None:
        seen["all"] = set(given)

    def starred(tool_name: str, *args: Any) -> None:
        seen["starred"] = (tool_name, args)

    for callback in (few, all_of_them, starred):
        bus.register("post_tool_call", callback, source="p")
    assert await bus.fire("post_tool_call", **arguments("post_tool_call", tool_name="t")) == []
    assert seen["few"] == ("t", 3)
    assert seen["all"] == {*HOOKS["post_tool_call"].arguments, "telemetry_schema_version"}
    assert seen["starred"] == ("t", ())


async def test_firing_without_a_documented_argument_is_a_fault_of_the_host() -> None:
    with pytest.raises(TypeError, match="reason"):
        await HookBus().fire("on_session_finalize", session_id="s", platform="cli")


async def test_a_sync_callback_runs_on_a_thread_and_does_not_block_the_loop() -> None:
    bus, release, entered = HookBus(), threading.Event(), threading.Event()

    def slow() -> str:
        entered.set()
        release.wait(20)
        return threading.current_thread().name

    bus.register("on_session_end", slow, source="p")
    firing = asyncio.ensure_future(values(bus))
    while not entered.is_set():
        await asyncio.sleep(0)
    release.set()
    assert await firing == ["hook-slow"]


async def test_awaitables_are_awaited_whoever_made_them() -> None:
    class Asked:
        async def __call__(self) -> str:
            return "object"

    async def plain() -> str:
        await asyncio.sleep(0)
        return "function"

    bus = HookBus()
    for callback in (plain, Asked(), lambda: plain()):
        bus.register("on_session_end", callback, source="p")
    assert await values(bus) == ["function", "object", "function"]


class Deadly(BaseException):
    pass


ORDINARY = [ValueError("no"), TimeoutError("theirs"), asyncio.CancelledError("own")]


@pytest.mark.parametrize(
    ("error", "is_async"),
    [*((error, True) for error in ORDINARY), *((error, False) for error in [*ORDINARY, Deadly()])],
)
async def test_a_failing_callback_is_passed_over_and_logged_once_by_name(
    error: BaseException, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def bad_async() -> None:
        raise error

    def bad() -> None:
        raise error

    bus = HookBus()
    bus.register("on_session_end", bad_async if is_async else bad, source="memory")
    bus.register("on_session_end", lambda: "still", source="bill")
    for _ in range(2):
        failed, answer = await bus.fire("on_session_end", **arguments("on_session_end"))
        assert isinstance(failed, Failure)
        assert "on_session_end failed" in failed.reason
        assert answer == Answer("bill", "still")
    assert [record.message.count("memory") for record in caplog.records] == [1]


async def test_cancelling_the_caller_is_no_failure_of_the_callback() -> None:
    bus = HookBus()
    bus.register("on_session_end", asyncio.Event().wait, source="p")
    firing = asyncio.ensure_future(values(bus))
    await asyncio.sleep(0)
    firing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await firing


async def test_a_hanging_callback_is_left_behind_and_suspended(caplog: pytest.LogCaptureFixture) -> None:
    calls = list[int]()

    async def hangs() -> None:
        calls.append(1)
        await asyncio.Event().wait()

    bus = HookBus(timeout_seconds=0.01)
    bus.register("on_session_end", hangs, source="memory")
    first = await bus.fire("on_session_end", **arguments("on_session_end"))
    second = await bus.fire("on_session_end", **arguments("on_session_end"))
    assert first == [Failure("memory", "hook on_session_end did not return within 0.01 s")]
    assert (len(second), calls, len(caplog.records)) == (1, [1], 1)


async def test_a_guard_that_raises_or_hangs_blocks() -> None:
    def raises() -> None:
        raise ValueError("broken")

    cases = (raises, 30, "ValueError: broken"), (asyncio.Event().wait, 0.01, "did not return within")
    for callback, seconds, why in cases:
        bus = HookBus(timeout_seconds=seconds)
        bus.register("pre_tool_call", callback, source="guardian")
        verdict = await judged(bus)
        assert verdict.blocked_by == "guardian"
        assert why in verdict.message
        assert (await judged(bus)).blocked_by == "guardian", "also while it is suspended"
    assert is_guard("pre_tool_call")
    assert not is_guard("post_tool_call")


def answering(*answers: dict[str, Any] | None, bus: HookBus | None = None, source: str = "p") -> HookBus:
    bus = bus or HookBus()
    for answer in answers:
        bus.register("pre_tool_call", lambda answer=answer: answer, source=source)
    return bus


async def test_block_beats_approve_beats_modify() -> None:
    block, approve = {"action": "block", "message": "no"}, {"action": "approve", "message": "look"}
    modify = {"action": "modify", "args": {"x": 2}}
    args = {"x": 1}
    assert await judged(answering(modify, approve, block), args) == Verdict("p", "no")
    assert args == {"x": 1}, "a blocked call is not changed"
    assert await judged(answering(approve, modify), args) == Verdict(reasons=("look",))
    assert args == {"x": 2}
    assert await judged(answering({"action": "approve"})) == Verdict(reasons=("the plugin p wants it asked",))


@pytest.mark.parametrize(
    "loose", [{"action": "block"}, {"action": "block", "message": ""}, {"action": "later"}, 7, "x"]
)
async def test_shapes_that_fit_no_rule_are_ignored(loose: Any) -> None:
    assert await judged(answering(loose)) == Verdict()


async def test_modifications_merge_key_by_key_and_the_last_wins() -> None:
    args = {"a": 0, "b": 0, "c": 0}
    bus = answering(
        {"action": "modify", "args": {"a": 1, "b": 1}}, {"action": "modify", "args": {"b": 2}}, {"action": "modify"}
    )
    await judged(bus, args)
    assert args == {"a": 1, "b": 2, "c": 0}


async def test_args_is_the_live_dict_for_every_guard() -> None:
    bus, seen = HookBus(), list[Any]()
    bus.register("pre_tool_call", lambda args: args.update(x=2), source="first")
    bus.register("pre_tool_call", lambda args: seen.append(dict(args)), source="second")
    args = {"x": 1}
    await judged(bus, args)
    assert (args, seen) == ({"x": 2}, [{"x": 2}])


@pytest.mark.parametrize("changed", [2, True, 1.0])
async def test_the_policy_judges_changed_arguments_again_and_its_last_word_counts(changed: Any) -> None:
    bus, judged_args = HookBus(), list[Any]()

    def policy(args: dict[str, Any]) -> dict[str, str] | None:
        judged_args.append(args["x"])
        return {"action": "approve", "message": "first"} if len(judged_args) == 1 else None

    bus.register("pre_tool_call", policy, source=APPROVAL_POLICY)
    bus.register("pre_tool_call", lambda args: args.update(x=changed), source="p")
    assert await judged(bus, {"x": 1}) == Verdict()
    assert list(map(repr, judged_args)) == ["1", repr(changed)]


async def test_a_policy_that_forbids_changed_arguments_blocks() -> None:
    bus = HookBus()
    bus.register(
        "pre_tool_call",
        lambda args: {"action": "block", "message": "not this"} if args["x"] == 2 else None,
        source=APPROVAL_POLICY,
    )
    answering({"action": "modify", "args": {"x": 2}}, bus=bus)
    assert await judged(bus, {"x": 1}) == Verdict(APPROVAL_POLICY, "not this")


async def test_after_the_policys_deny_no_plugin_is_heard() -> None:
    heard = list[int]()
    bus = answering({"action": "block", "message": "never"}, source=APPROVAL_POLICY)
    bus.register("pre_tool_call", lambda: heard.append(1), source="p")
    assert await judged(bus) == Verdict(APPROVAL_POLICY, "never")
    assert heard == []


async def test_an_unknown_hook_name_is_kept_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    bus = HookBus()
    bus.register("on_moon_phase", lambda phase: None, source="astro")
    assert bus.has("on_moon_phase")
    assert "astro" in caplog.text
    assert "on_moon_phase" in caplog.text


async def needs_more(tool_name: str, mood: str) -> None: ...


def by_position(tool_name: str, /) -> None: ...


@pytest.mark.parametrize(("callback", "name"), [(needs_more, "mood"), (by_position, "tool_name")])
def test_a_callback_that_could_not_be_called_is_refused(callback: Any, name: str) -> None:
    with pytest.raises(HookSignatureError, match=f"plugin memory.*pre_tool_call.*'{name}'"):
        HookBus().register("pre_tool_call", callback, source="memory")


async def test_a_source_can_be_forgotten() -> None:
    bus = answering({"action": "block", "message": "no"}, source="gone")
    bus.unregister_source("gone")
    assert not bus.has("pre_tool_call")
    assert await judged(bus) == Verdict()


def test_returns_combine_by_the_rule_of_their_hook(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    returns: list[Answer | Failure] = [
        Failure("f", "no"),
        *(Answer("p", value) for value in ("", " ", {"context": "a"}, "b", {"context": 3})),
    ]
    assert joined_context(returns) == "a\n\nb"
    assert joined_context([]) is None
    assert (first_string(returns, empty_counts=True), first_string(returns, empty_counts=False)) == ("", " ")
    assert first_string([Answer("p", 3)], empty_counts=True) is None
    skip = Answer("p", {"action": "skip"})
    assert first_action([Answer("p", {"action": "other"}), skip], frozenset({"skip"})) == {"action": "skip"}
    assert first_action([Answer("p", "skip")], frozenset({"skip"})) is None
