"""Grants in Postgres: rules that hold for one session and its child agents until they are revoked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.ids import new_id
from cos.core.postgres.database import Connection, Database
from cos.core.postgres.statements import core_statements
from cos.core.rule_json import rule_from_object, rule_object
from cos.core.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.core.postgres.approvals import PendingApproval


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One rule that somebody granted."""

    id: UUID
    profile_id: str
    root_session_id: UUID
    rule: Rule
    granted_by: str
    created_at: datetime
    last_used_at: datetime | None
    uses: int
    session_title: str | None


class Grants:
    """One query a method."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("approvals")

    async def add(self, approval: PendingApproval, rules: Sequence[Rule], granted_by: str) -> None:
        """Keep the rules for the session of the approval; all or none."""

        async def work(connection: Connection) -> None:
            for rule in rules:
                row = {
                    "id": new_id(), "profile_id": approval.profile_id, "root_session_id": approval.root_session_id,
                    "approval_id": approval.id, "rule": json.dumps(rule_object(rule)), "granted_by": granted_by,
                }  # fmt: skip
                await connection.execute(self._sql["add_grant"], row)

        await self._database.transaction(work)

    async def of_session(self, session_id: UUID) -> list[tuple[UUID, Rule]]:
        """The grants that hold in a session, oldest first, by id."""
        rows = await self._database.fetch(self._sql["session_grants"], {"session_id": session_id})
        return [(row["id"], rule_from_object(row["rule"])) for row in rows]

    async def used(self, grant_id: UUID) -> None:
        await self._database.fetch(self._sql["use_grant"], {"id": grant_id})

    async def live(self) -> list[Grant]:
        """Every grant that holds, newest first."""
        rows = await self._database.fetch(self._sql["grants"])
        return [Grant(**row | {"rule": rule_from_object(row["rule"])}) for row in rows]

    async def revoke(self, grant_id: UUID) -> bool:
        """End a grant; False when it had ended before."""
        return bool(await self._database.fetch(self._sql["revoke_grant"], {"id": grant_id}))
