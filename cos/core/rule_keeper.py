"""Keeps what the user allows for longer than one call: a grant for the session, a rule of the profile for always."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.core.profiles import load_settings
from cos.core.rule_file import add_rule
from cos.core.rule_json import rule_words
from cos.core.rule_proposals import RuleProposal, propose
from cos.core.rules import JudgedCall, Rule, first_match, judged_call

if TYPE_CHECKING:
    from cos.agent.records import ApprovalAnswer
    from cos.core.postgres.approvals import PendingApproval
    from cos.core.postgres.grants import Grants
    from cos.core.profiles import Profile


class RuleKeeper:
    """Proposes and stores rules."""

    def __init__(self, profiles: Mapping[str, Profile], origins: Mapping[str, str], grants: Grants) -> None:
        """`origins` says which plugin or server brought a tool."""
        self._profiles = profiles
        self._origins = origins
        self.grants = grants

    def proposals(self, approval: PendingApproval) -> tuple[RuleProposal, ...]:
        """What could be allowed so that the request would not have been asked, narrowest first."""
        return propose(self._call(approval))

    def would_allow(self, approval: PendingApproval, rules: Sequence[Rule]) -> bool:
        """Whether `rules` alone would have allowed the request."""
        found = first_match(rules, self._call(approval))
        return found is not None and found.decision == "allow"

    def _call(self, approval: PendingApproval) -> JudgedCall:
        workspace = Path(approval.workspace or approval.cwd or "/")
        return judged_call(
            tool=approval.tool,
            origin=self._origins.get(approval.tool, ""),
            risk=approval.risk,
            args=approval.args,
            tags=approval.tags,
            folders=(Path(approval.cwd) if approval.cwd else workspace, workspace),
        )

    async def keep(self, approval: PendingApproval, answer: ApprovalAnswer, rules: Sequence[Rule]) -> str | None:
        """Store the rules for the answer's scope. A sentence when that did not work; the call is allowed anyway."""
        if answer.decision != "allowed" or answer.scope == "once":
            return None
        if not rules:
            return "Allowed once: no rule can say safely what else would be allowed."
        try:
            if answer.scope == "session":
                await self.grants.add(approval, rules, answer.answered_by or "unknown")
            else:
                await asyncio.to_thread(self._write, approval, rules)
        except (CosError, FileNotFoundError) as error:
            said = "; ".join(rule_words(rule) for rule in rules)
            return f"Allowed once. The rule could not be kept ({said}): {error}"
        return None

    def _write(self, approval: PendingApproval, rules: Sequence[Rule]) -> None:
        file = self._profiles[approval.profile_id].config_file
        asking = first_match([known.rule() for known in load_settings(file).approvals.rules], self._call(approval))
        for rule in rules:
            # Behind the rule that asks it would never count.
            add_rule(file, rule, before=asking)
