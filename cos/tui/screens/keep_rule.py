"""Allow for longer than once: what the session, or the profile's file, would get, shown and editable before it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from cos.agent.text import visible
from cos.core.rule_file import kept_words
from cos.tui.edited_rule import part_of, with_part
from cos.tui.screens.request_panel import RequestPanel
from cos.tui.widgets.key_hints import KeyHints
from cos.tui.widgets.reading import ReadToEnd

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from cos.core.rule_proposals import RuleProposal
    from cos.core.rules import Rule
    from cos.tui.widgets.approval_card import Card

Scope = Literal["session", "always"]
NOT_THIS_CALL = "Such a rule would not have allowed this very call, so it is not kept. Change it, or press Esc."


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What the panel is about."""

    scope: Scope
    proposals: Sequence[RuleProposal]
    """Narrowest first, at least one."""
    file: Path
    """The profile's config.toml."""
    would_allow: Callable[[Sequence[Rule]], bool]


class KeepRule(RequestPanel[tuple["Rule", ...]]):
    """The result is the rules to keep. Enter decides nothing here: it leaves the line that is being edited."""

    DEFAULT_CSS = """
    KeepRule > ReadToEnd { height: 1fr; padding: 0 1; }
    KeepRule > ReadToEnd > * { height: auto; }
    KeepRule .kept { margin: 1 0 0 0; padding: 0 1; border-left: outer $warning; background: $surface; }
    KeepRule Input { padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "keep", "Allow and keep"),
        Binding("ctrl+s", "keep", "Allow and keep", show=False, priority=True),
        Binding("down", "choose(1)", "Wider", priority=True),
        Binding("up", "choose(-1)", "Narrower", priority=True),
        Binding("tab", "edit", "Edit"),
        *(Binding(str(number), f"pick({number})", show=False) for number in range(1, 10)),
    ]
    DECIDING = frozenset({"y", "ctrl+s"})

    def __init__(self, card: Card, keeping: Keeping, *, arm_seconds: float) -> None:
        super().__init__(card, arm_seconds=arm_seconds)
        self._keeping = keeping
        self._chosen = 0

    @property
    def proposal(self) -> RuleProposal:
        return self._keeping.proposals[self._chosen]

    def compose(self) -> ComposeResult:
        for_how_long = "for this session" if self._keeping.scope == "session" else "always"
        yield Static(f"Allow {for_how_long}: {self.heading}", markup=False, classes="title")
        with ReadToEnd():
            yield Static(id="grades", markup=False)
            yield Vertical(id="parts")
            yield Static(classes="kept", markup=False)
        yield Static(markup=False, classes="problem")
        yield KeyHints()

    def on_mount(self) -> None:
        self.call_later(self._show)

    async def action_choose(self, step: int) -> None:
        await self.action_pick(self._chosen + step + 1)

    async def action_pick(self, number: int) -> None:
        if 1 <= number <= len(self._keeping.proposals) and number - 1 != self._chosen:
            self._chosen = number - 1
            await self._show()

    def action_edit(self) -> None:
        """To the first line that can be edited, then to the next."""
        self.focus_next(Input)

    def action_keep(self) -> None:
        if not self.arming.is_armed:
            self.refuse()
        elif not self.query_one(ReadToEnd).was_read:
            self.say("Read it to its end first: PgDn.")
        elif (rules := self._edited()) is not None:
            self.dismiss(rules)

    @on(Input.Submitted)
    def _to_the_list(self) -> None:
        self.query_one(ReadToEnd).focus()

    @on(Input.Changed)
    def _preview(self) -> None:
        rules = self._edited()
        if rules is not None:
            self.query_one(".kept", Static).update(self._kept_text(rules))
        self.query_one(ReadToEnd).begin(scroll=False)
        self.arming.disarm()

    async def _show(self) -> None:
        grades = Text()
        for number, proposal in enumerate(self._keeping.proposals, 1):
            is_chosen = number - 1 == self._chosen
            line = f"{'▸' if is_chosen else ' '} {number}  {proposal.grade}: {self._sentence(proposal)}\n"
            grades.append(visible(line), style="bold" if is_chosen else "")
        self.query_one("#grades", Static).update(grades)
        parts = self.query_one("#parts", Vertical)
        await parts.remove_children()
        await parts.mount_all(
            Input(str(getattr(rule, part)), select_on_focus=False, compact=True)
            for rule in self.proposal.rules
            if (part := part_of(rule))
        )
        self.say("")
        self.query_one(".kept", Static).update(self._kept_text(self.proposal.rules))
        self.query_one(ReadToEnd).focus()
        self.query_one(ReadToEnd).begin()
        self.arming.disarm()

    def _sentence(self, proposal: RuleProposal) -> str:
        if self._keeping.scope == "always":
            return proposal.sentence
        return proposal.sentence.replace("Always allow", "Until the session ends allow", 1)

    def _edited(self) -> tuple[Rule, ...] | None:
        """The rules as they stand now; None, and a sentence on screen, when they are not to be kept."""
        texts = iter([line.value for line in self.query(Input)])
        try:
            rules = tuple(with_part(rule, next(texts)) if part_of(rule) else rule for rule in self.proposal.rules)
        except ValueError as error:
            self.say(str(error))
            return None
        is_right = self._keeping.would_allow(rules)
        self.say("" if is_right else NOT_THIS_CALL)
        return rules if is_right else None

    def _kept_text(self, rules: Sequence[Rule]) -> str:
        return visible(kept_words(rules, self._keeping.scope, self._keeping.file))
