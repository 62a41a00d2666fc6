"""Budgets: what may be spent of what, in which period; how much of it is spent, and what is said about that."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from typing import TYPE_CHECKING, Any

from cos.agent.ids import new_id
from cos.plugins.bill.money import MOST, amount_in, usd

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import LiteralString
    from uuid import UUID

    from cos.agent.identity import TurnInfo
    from cos.core.plugin_api import PluginConnection
    from cos.plugins.bill.settings import BudgetSettings, Period

WARN_PERCENT, STOP_PERCENT = 80, 100
STOP_REASON = "budget"
_STEP = Decimal("0.0001")
_STOPPING = frozenset({"", "no", "n", "stop"})


def written_amount(answer: str) -> Decimal | None:
    """What a typed answer to the question of a spent budget allows; 0 = nothing, None = nobody knows."""
    return Decimal(0) if answer.strip().lower() in _STOPPING else amount_in(answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A limit for one tag, one profile or everything; a budget of a tag key is one of these for each value."""

    tag: str | None
    profile: str | None
    period: Period
    limit_usd: Decimal
    root_session_id: UUID | None = None
    """Only with the period `session`: the session that is meant, with its children."""

    @property
    def scope(self) -> str:
        """As people name it: `client:acme`, `@work` for a profile, `all`."""
        return self.tag or (f"@{self.profile}" if self.profile else "all")

    @property
    def name(self) -> str:
        return f"{self.scope}/{self.period}"

    @property
    def kind(self) -> str:
        """The kind of its group in `bill_groups`."""
        return "tag" if self.tag else "profile" if self.profile else "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """A budget in the period that runs now."""

    budget: Budget
    period_key: str
    """The first day of the period, or the root session."""
    spent_usd: Decimal
    extra_usd: Decimal
    """What overrides add to the limit."""
    unpriced: int
    """Calls whose cost is unknown and not counted."""

    @property
    def limit_usd(self) -> Decimal:
        return self.budget.limit_usd + self.extra_usd

    @property
    def percent(self) -> Decimal:
        return self.spent_usd * 100 / self.limit_usd

    @property
    def is_spent(self) -> bool:
        return self.spent_usd >= self.limit_usd

    @property
    def stop_message(self) -> str:
        """Why no call is made, and how to go on."""
        session = f" --session {self.period_key}" if self.budget.period == "session" else ""
        return (
            f"The budget {self.budget.name} is spent: {usd(self.spent_usd)} of {usd(self.limit_usd)}{self._since}. The "
            "next model call was not made. Go on by raising limit_usd under [[bill.budgets]] in commonos.toml and "
            "starting cos again, or once: allow more when you are asked (F4 in cos chat), or with: "
            f"cos cost override {self.budget.name} AMOUNT{session}"
        )

    @property
    def question(self) -> str:
        """For the user, before the turn is stopped."""
        return (
            f"The budget {self.budget.name} is spent: {usd(self.spent_usd)} of {usd(self.limit_usd)}{self._since}. "
            "The next model call waits. May it spend more, once? You can also write an amount, such as 2.50. If "
            "several sessions ask this, the largest answer holds."
        )

    @staticmethod
    def unread(answer: str) -> str:
        """What is said before `question` when an answer to it could not be read."""
        written = answer if len(answer) <= 40 else f"{answer[:40]}…"
        return f"{written!r} is no amount between {usd(_STEP)} and {usd(MOST)}, so nothing was allowed yet."

    @property
    def choices(self) -> dict[str, Decimal]:
        """Answers to `question`, and what each lets the budget spend beyond what is spent now."""
        more = [(self.budget.limit_usd * part).quantize(_STEP, ROUND_UP) for part in (Decimal("0.1"), 1)]
        return {f"Allow {usd(amount)} more": amount for amount in more} | {"Stop the turn": Decimal(0)}

    def meant(self, answer: str) -> Decimal | None:
        """What an answer to `question` allows; 0 = nothing, None = nobody knows."""
        if answer in self.choices:
            return self.choices[answer]
        return written_amount(answer)

    def extra_for(self, more: Decimal, asked: BudgetState) -> Decimal:
        """What an override adds so that `more` may be spent; 0 or less = that much is allowed already.

        It counts from what is spent now. When the budget is not spent any more, because another question about it was
        answered meanwhile, it counts from what `asked` showed. So the larger of two answers holds and not their sum:
        who answers twice what was shown twice has allowed no more than was shown, and is asked again when it is spent.
        """
        base = self.spent_usd if self.is_spent else asked.spent_usd
        return base + more - self.limit_usd

    @property
    def allowance(self) -> str:
        """What an answer to `question` has come to."""
        left = max(self.limit_usd - self.spent_usd, Decimal(0))
        return (
            f"The budget {self.budget.name} may spend {usd(left)} more now: {usd(self.limit_usd)} in all{self._since}."
        )

    @property
    def warning(self) -> str:
        stops = "spent; no further model call is made unless you allow more"
        what = stops if self.is_spent else f"{int(self.percent)}% spent"
        return f"The budget {self.budget.name} is {what}: {usd(self.spent_usd)} of {usd(self.limit_usd)}{self._since}."

    @property
    def _since(self) -> str:
        if self.budget.period == "session":
            return " in this session"
        return f" since {self.period_key}"


class Budgets:
    """The budgets of commonos.toml. Its methods take a connection inside a transaction."""

    def __init__(self, settings: Sequence[BudgetSettings], sql: Mapping[str, LiteralString]) -> None:
        self._settings = settings
        self._sql = sql

    def __bool__(self) -> bool:
        return bool(self._settings)

    async def of_turn(
        self, connection: PluginConnection, turn: TurnInfo, parent: UUID | None, timezone: str
    ) -> list[BudgetState]:
        """The budgets that a call of this turn is paid from."""
        parameters = {"session_id": turn.session_id, "parent_session_id": parent}
        found = await (await connection.execute(self._sql["root_session"], parameters)).fetchone()
        budgets = [
            budget
            for settings in self._settings
            for budget in _instances(settings, [str(tag) for tag in turn.tags], found["id"])
            if budget.profile in (None, turn.profile_id) and (budget.tag is None or budget.tag in turn.tags)
        ]
        return await self._states(connection, budgets, timezone)

    async def now(self, connection: PluginConnection, session_id: UUID | None, timezone: str) -> list[BudgetState]:
        """Every budget; those with the period `session` only for `session_id` and the sessions it belongs to."""
        root = None
        if session_id is not None:
            parameters = {"session_id": session_id, "parent_session_id": None}
            root = (await (await connection.execute(self._sql["root_session"], parameters)).fetchone())["id"]
        budgets: list[Budget] = []
        for settings in self._settings:
            tags: list[str] = []
            if settings.key is not None:
                period = "day" if settings.period == "session" else settings.period
                asked = {"key": settings.key, "period": period, "timezone": timezone}
                rows = await (await connection.execute(self._sql["values_of_key"], asked)).fetchall()
                tags = [row["tag"] for row in rows]
            budgets += _instances(settings, tags, root)
        return await self._states(connection, budgets, timezone)

    async def _states(
        self, connection: PluginConnection, budgets: Sequence[Budget], timezone: str
    ) -> list[BudgetState]:
        if not budgets:
            return []
        asked = [
            {
                "number": number, "scope": budget.scope, "period": budget.period, "kind": budget.kind,
                "name": budget.tag or budget.profile or "",
                "root": str(budget.root_session_id) if budget.root_session_id else None,
            }
            for number, budget in enumerate(budgets)
        ]  # fmt: skip
        parameters = {"budgets": json.dumps(asked), "timezone": timezone}
        rows = await (await connection.execute(self._sql["states"], parameters)).fetchall()
        return [
            BudgetState(
                budget=budgets[row["number"]], period_key=row["period_key"], spent_usd=row["spent_usd"],
                extra_usd=row["extra_usd"], unpriced=row["unpriced"],
            )
            for row in rows
        ]  # fmt: skip

    async def new_warnings(self, connection: PluginConnection, states: Sequence[BudgetState]) -> list[str]:
        """Sentences about budgets that have passed a mark since somebody was told; each is told once in its period."""
        sentences: list[str] = []
        for state in states:
            passed = [percent for percent in (WARN_PERCENT, STOP_PERCENT) if state.percent >= percent]
            is_new = [await self._is_new(connection, state, percent) for percent in passed]
            if is_new and is_new[-1]:
                sentences.append(state.warning)
        return sentences

    async def _is_new(self, connection: PluginConnection, state: BudgetState, percent: int) -> bool:
        budget = state.budget
        # After an override the same mark is reached again, at another limit.
        period_key = state.period_key if not state.extra_usd else f"{state.period_key} +{state.extra_usd}"
        parameters = {
            "scope": budget.scope, "period": budget.period, "period_key": period_key, "percent": percent,
        }  # fmt: skip
        return await (await connection.execute(self._sql["warn"], parameters)).fetchone() is not None

    async def override(
        self, connection: PluginConnection, state: BudgetState, extra_usd: Decimal, granted_by: str
    ) -> None:
        """Let a budget spend more, in the period that runs now."""
        parameters: dict[str, Any] = {
            "id": new_id(), "scope": state.budget.scope, "period": state.budget.period,
            "period_key": state.period_key, "extra_usd": extra_usd, "granted_by": granted_by,
        }  # fmt: skip
        await connection.execute(self._sql["add_override"], parameters)


def _instances(settings: BudgetSettings, tags: Sequence[str], root: UUID | None) -> Iterator[Budget]:
    """The budgets that one entry of commonos.toml means: for a tag key one for each of the `tags` that has it."""
    if settings.period == "session" and root is None:
        return
    scopes = [settings.tag] if settings.key is None else [tag for tag in tags if tag.startswith(f"{settings.key}:")]
    for tag in scopes:
        yield Budget(
            tag=tag,
            profile=settings.profile,
            period=settings.period,
            limit_usd=settings.limit_usd,
            root_session_id=root if settings.period == "session" else None,
        )
