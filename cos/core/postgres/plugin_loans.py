"""What plugins of a process with a database may use of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from cos.core.frozen import parts_from_json
from cos.core.plugin_host import FrozenContext, PluginHost
from cos.core.postgres.sessions import Sessions
from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.config import Config
    from cos.core.live import CoreEvent
    from cos.core.postgres.database import Database


def plugin_host(
    database: Database,
    config: Config,
    profiles: Sequence[str],
    publish: Callable[[CoreEvent], None],
    *,
    keys_in: Iterable[str] = (),
) -> PluginHost:
    """The loans of a running core. `keys_in`: the environment variables that hold the profiles' API keys."""

    async def titles(session_ids: Sequence[UUID]) -> dict[UUID, str]:
        rows = await database.fetch(core_statements("plugins")["session_titles"], {"ids": list(session_ids)})
        return {row["id"]: row["title"] for row in rows}

    async def frozen_context(plugin: str, session_id: UUID) -> FrozenContext | None:
        rows = await database.fetch(core_statements("plugins")["frozen_prompt"], {"id": session_id})
        if not rows:
            return None
        parts = parts_from_json(rows[0]["frozen_prompt"])
        texts = [part.text for part in parts if part.source == f"plugin {plugin}"]
        return FrozenContext(text="\n\n".join(texts), frozen_at=rows[0]["frozen_at"])

    return PluginHost(
        database=database,
        publish=publish,
        tell=database.teller.happened,
        profiles=tuple(profiles),
        keys_in=frozenset(keys_in),
        source=config.source,
        titles=titles,
        frozen_context=frozen_context,
        find_session=Sessions(database).find,
    )
