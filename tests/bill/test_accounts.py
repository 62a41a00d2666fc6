"""CommonBill against the local API server, which keeps its own account: they agree to the token and to the last digit.

Random conversations with retries, broken streams, cancels, delegation three levels deep, cache figures and changes of
model, several at once. The server knows only what it told its clients, and prices it by a list of its own. It may
close a reply with several final figures, of which the last count once (H-029).
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cos.agent.cancellation import CancelToken
from cos.agent.events import AgentEvent, MessageDelta
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.memory_journal import MemoryJournal
from cos.agent.messages import UserMessage
from cos.agent.provider import SessionPrompt, ToolSpec
from cos.agent.providers.anthropic import AnthropicProvider
from cos.agent.session_context import SessionContext
from cos.agent.tags import merge_tags
from cos.agent.tools import ToolContext, ToolOk, ToolOutcome, ToolSet
from cos.agent.turn import Agent, AgentOptions
from tests.agent_bench import AT_ONCE, ScriptedApprover, tool
from tests.api_server import ApiServer, Reply, end, error_event, fin, http_error, open_text, reply, silence, text, usage
from tests.api_server import tool as calls_tool
from tests.api_server.server import KEY, RecordedRequest
from tests.bill_bench import BillBench, bill_bench, costs

DEPTH = 3
RATES = {  # input, output, cache read, cache write 5m, cache write 1h: dollars per million
    "claude-sonnet-5-5": ("2", "10", "0.10", "2.50", "4"),
    "claude-opus-5-5": ("4", "20", "0.20", "5", "8"),
    "claude-haiku-5-5": ("0.10", "0.50", "0.01", "0.125", "0.20"),
    "claude-haiku-5-5 long": ("0.50", "2.50", "0.05", "0.625", "1"),
}
MODELS = [name for name in RATES if " " not in name]
TAGS = ["client:acme", "client:beta", "project:site"]
HANG = "I hang here"
EXAMPLES = int(os.environ.get("COS_BILL_EXAMPLES", "30"))
AT_A_TIME = 6

How = Literal["text", "delegate", "busy", "broken", "cut", "error", "hang"]
KINDS: list[How] = ["text", "text", "delegate", "delegate", "busy", "broken", "cut", "error", "hang"]


@dataclass(frozen=True)
class Answer:
    how: How
    figures: tuple[int, int, int, int, int]

    @property
    def usage(self) -> dict[str, Any]:
        fresh, output, read, five_minutes, one_hour = self.figures
        return usage(fresh, output, cache_read=read, cache_5m=five_minutes, cache_1h=one_hour)


@dataclass(frozen=True)
class Prompt:
    session: int
    model: str


@dataclass(frozen=True)
class Plan:
    sessions: list[list[str]]
    """The tags of each top-level session."""
    prompts: list[Prompt]
    answers: list[Answer]


tokens = st.one_of(st.integers(0, 3), st.integers(0, 250_000), st.sampled_from([99_999, 100_000, 100_001]))
answers = st.builds(Answer, st.sampled_from(KINDS), st.tuples(tokens, tokens, tokens, tokens, tokens))
plans = st.builds(
    Plan,
    st.lists(st.lists(st.sampled_from(TAGS), max_size=3), min_size=2, max_size=2),
    st.lists(st.builds(Prompt, st.integers(0, 1), st.sampled_from(MODELS)), min_size=1, max_size=5),
    st.lists(answers, min_size=3, max_size=24),
)


@dataclass
class Account:
    """The server's side."""

    plan: Plan
    given: int = 0

    def answer(self, request: RecordedRequest) -> Reply:
        number, self.given = self.given, self.given + 1
        if number >= len(self.plan.answers):
            return reply(text("enough"))
        chosen, depth = self.plan.answers[number], json.loads(_system(request))["depth"]
        match chosen.how:
            case "delegate" if depth < DEPTH:
                return reply(calls_tool("delegate", {"model": MODELS[number % len(MODELS)]}), usage=chosen.usage)
            case "busy":
                return http_error(529, "overloaded_error")
            case "broken":
                return reply(open_text("first half"), fin(), usage=chosen.usage)
            case "cut":
                return reply(text("all but the end"), end(), usage=chosen.usage)
            case "error":
                return reply(text("then"), error_event(), usage=chosen.usage)
            case "hang":
                return reply(open_text(HANG, pieces=1), silence(), usage=chosen.usage)
            case _:
                return reply(text("an answer"), usage=chosen.usage, final_events=1 + number % 3)


def _system(request: RecordedRequest) -> str:
    system = request.body["system"]
    words = system if isinstance(system, str) else system[0]["text"]
    assert isinstance(words, str)
    return words


@dataclass
class Totals:
    cost: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)


def account_of(requests: list[RecordedRequest]) -> Totals:
    """Per session, per tag and in total, from what the clients were told."""
    totals = Totals()
    for request in requests:
        told = request.usage
        if told is None:
            continue
        marks = json.loads(_system(request))
        split = told.get("cache_creation") or {}
        written, hour = told["cache_creation_input_tokens"], split.get("ephemeral_1h_input_tokens", 0)
        counts = (
            told["input_tokens"], told["output_tokens"], told["cache_read_input_tokens"], written - hour, hour,
        )  # fmt: skip
        is_long = sum(counts) - counts[1] > 100_000 and "haiku" in request.body["model"]
        rates = RATES[request.body["model"] + (" long" if is_long else "")]
        cost = sum((Decimal(rate) * count for rate, count in zip(rates, counts, strict=True)), Decimal(0)) / 10**6
        for name in {"total", marks["session"], *marks["tags"], *([] if marks["tags"] else ["(none)"])}:
            totals.cost[name] += cost  # type: ignore[assignment]  # a Counter adds anything
            totals.tokens[name] += sum(counts)
    return totals


class World:
    """Agents that share the hooks, one journal and the server."""

    def __init__(self, bill: BillBench, api: ApiServer) -> None:
        self.journal = MemoryJournal()
        self.provider = AnthropicProvider(api_key=KEY, key_source="test", base_url=api.url)
        self.cancels: dict[UUID, CancelToken] = {}
        """By turn."""
        self.tools = ToolSet.of(tool("delegate", self.delegate, risk="execute"))
        self.agent = Agent(
            provider=self.provider, hooks=bill.hooks, journal=self.journal, approver=ScriptedApprover(),
            publish=self.see, options=AgentOptions(retry=AT_ONCE),
        )  # fmt: skip
        self.plan_of: dict[UUID, int] = {}
        """By session."""

    def see(self, event: AgentEvent) -> None:
        if isinstance(event, MessageDelta) and HANG in event.text:
            self.cancels[event.turn.turn_id].cancel()

    async def session(self, plan: int, tags: list[str], parent: UUID | None = None) -> UUID:
        new = NewSession(profile_id="home", source="cli", tags=merge_tags(tags), parent_session_id=parent)
        session_id = await self.journal.create_session(new)
        self.plan_of[session_id] = plan
        return session_id

    async def run(self, turn: TurnInfo, model: str, cancel: CancelToken, parent: UUID | None = None) -> None:
        plan = self.plan_of[turn.session_id]
        marks = {"plan": plan, "session": str(turn.session_id), "tags": list(turn.tags), "depth": turn.depth}
        specs = tuple(ToolSpec(name=it.name, description="", schema=it.schema) for it in self.tools.tools.values())
        context = SessionContext(
            prompt=SessionPrompt(system=json.dumps(marks), tools=specs, model=model), tools=self.tools,
            workspace=Path("/tmp"), platform="cli", is_new=False, parent_session_id=parent,
        )  # fmt: skip
        self.cancels[turn.turn_id] = cancel
        await self.agent.run_turn(turn, UserMessage(text="go"), context, cancel)

    async def delegate(self, args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        """Stands where the tool of the core that delegates will: `TurnInfo.child` is all that the bill sees of it."""
        child = turn.child(await self.session(self.plan_of[turn.session_id], [], turn.session_id))
        await self.run(child, args["model"], ctx.cancel, turn.session_id)
        return ToolOk(content="the child has ended")

    async def play(self, number: int, plan: Plan) -> list[UUID]:
        """A conversation, one turn after the other; its top-level sessions."""
        sessions = [await self.session(number, tags) for tags in plan.sessions]
        for prompt in plan.prompts:
            tags = merge_tags(plan.sessions[prompt.session])
            turn = TurnInfo(profile_id="home", session_id=sessions[prompt.session], turn_id=new_id(), tags=tags)
            await self.run(turn, prompt.model, CancelToken())
        return sessions


async def play(plans: list[Plan], url: str, folder: Path) -> None:
    accounts, gate = [Account(plan) for plan in plans], asyncio.Semaphore(AT_A_TIME)

    def answer(request: RecordedRequest) -> Reply:
        plan: int = json.loads(_system(request))["plan"]
        return accounts[plan].answer(request)

    with ApiServer(answer=answer) as api:
        async with bill_bench(url, folder, f'[bill.servers]\n"{api.url}" = "anthropic"') as bill:
            world = World(bill, api)

            async def conversation(number: int, plan: Plan) -> list[UUID]:
                async with gate:
                    return await world.play(number, plan)

            found = await asyncio.gather(*(conversation(number, plan) for number, plan in enumerate(plans)))
            await world.provider.close()
            for number in range(len(api.requests)):
                await api.over(number)
            sessions = [session for conversation in found for session in conversation]
            await compare(bill, account_of(api.requests), len(api.requests), sessions)


async def compare(bill: BillBench, account: Totals, requests: int, sessions: list[UUID]) -> None:
    rows = await bill.calls()
    assert len(rows) == requests, "one row for each request that reached the server"
    assert all(row["status"] in {"ok", "error", "dropped", "cancelled"} for row in rows)
    total = await bill.reports.total()
    assert (total.cost_usd, total.unpriced, total.lost) == (Decimal(account.cost["total"]), 0, 0)
    assert total.prompt_tokens + total.output_tokens == account.tokens["total"]
    by_tag = {label or "(none)": cost for label, cost in costs(await bill.reports.report("tag")).items()}
    assert by_tag == {tag: account.cost[tag] for tag in by_tag}
    assert by_tag.keys() >= {tag for tag in [*TAGS, "(none)"] if tag in account.cost}
    by_session = costs(await bill.reports.report("session"))
    assert by_session == {session: Decimal(account.cost[session or ""]) for session in by_session}
    for grouping in ("client", "model", "day", "session"):
        report = await bill.reports.report(grouping)
        assert sum(costs(report).values()) == report.total.cost_usd == total.cost_usd
    trees = await bill.reports.sessions(sessions)
    assert sum(tree.with_children.cost_usd for tree in trees.values()) == total.cost_usd
    turns = await bill.reports.turns(list({row["turn_id"] for row in rows}))
    assert sum(turn.own.cost_usd for turn in turns) == total.cost_usd
    roots = {row["turn_id"] for row in rows if row["parent_turn_id"] is None}
    assert sum(turn.with_children.cost_usd for turn in turns if turn.turn_id in roots) == total.cost_usd
    await bill.assert_rollup_equals_rows()


@pytest.mark.timeout(600)
def test_the_bill_agrees_with_the_servers_account(core_url: str, tmp_path: Path) -> None:
    """COS_BILL_EXAMPLES says how many conversations there are."""
    found: list[Plan] = []

    @settings(max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate])
    @given(plans)
    def collect(plan: Plan) -> None:
        found.append(plan)

    collect()
    asyncio.run(play(found, core_url, tmp_path))


def test_final_figures_that_come_five_times_are_charged_once_H_029(core_url: str, tmp_path: Path) -> None:
    async def five_times() -> None:
        with ApiServer(answer=lambda request: reply(text("so"), usage=usage(100, 412), final_events=5)) as api:
            async with bill_bench(core_url, tmp_path, f'[bill.servers]\n"{api.url}" = "anthropic"') as bill:
                world = World(bill, api)
                await world.play(0, Plan([["client:acme"]], [Prompt(0, "claude-sonnet-5-5")], []))
                await world.provider.close()
                (row,) = await bill.calls()
                assert (row["input_tokens"], row["output_tokens"]) == (100, 412)
                assert row["cost_usd"] == (100 * 2 + 412 * 10) / Decimal(1_000_000)

    asyncio.run(five_times())
