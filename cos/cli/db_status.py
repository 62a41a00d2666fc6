"""`cos db status`: where the database is, how large, and who uses it. Nothing is started for that."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cos.agent.text import visible
from cos.cli.db_opening import looked_at
from cos.cli.own_server import embedded_postgres
from cos.core.effective import effective_database_url
from cos.core.errors import DatabaseError
from cos.core.masking import masked_url
from cos.core.postgres.server_state import Client, server_state

if TYPE_CHECKING:
    from cos.core.config import Config

ANSWERS, IS_AWAY = 0, 1
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


async def status(config: Config, *, as_json: bool) -> int:
    """Exit code 1 when a given server, or one that runs, does not answer."""
    found = _where(config)
    code = ANSWERS
    try:
        async with looked_at(config) as database:
            if database is not None:
                state = await server_state(database)
                found |= asdict(state) | {"running": True, "clients": [_json(client) for client in state.clients]}
    except DatabaseError as error:
        found["problem"], code = str(error), IS_AWAY
    print(json.dumps(found, ensure_ascii=False) if as_json else "\n".join(_lines(found)))
    return code


def _where(config: Config) -> dict[str, Any]:
    url = effective_database_url(config, os.environ)
    if url.value is not None:
        return {"kind": "given", "url": masked_url(url.value), "source": url.source, "running": False}
    own = embedded_postgres(config).status()
    return {
        "kind": "embedded",
        "state_dir": str(own.state_dir),
        "data_dir": None if own.data_dir is None else str(own.data_dir),
        "log": None if own.log is None else str(own.log),
        "running": own.running,
        "keeps_running": own.keeps_running,
        "pid": own.pid,
        "version": own.version,
    }


def _json(client: Client) -> dict[str, Any]:
    return asdict(client) | {"since": client.since.isoformat(), "words": client.words}


def _lines(found: dict[str, Any]) -> list[str]:
    rows = [("database", _database(found)), ("state", _state(found))]
    if found.get("version"):
        rows.append(("version", f"PostgreSQL {found['version']}"))
    if found.get("data_dir"):
        rows += [("data", found["data_dir"]), ("log", found["log"])]
    if "size_bytes" in found:
        rows.append(("size", _size(found["size_bytes"])))
        rows += [("used by", f"{it['words']}, since {it['since'][:19].replace('T', ' ')}") for it in found["clients"]]
        rows += [] if found["clients"] else [("used by", "nobody")]
    if "problem" in found:
        rows.append(("problem", found["problem"]))
    return [f"{name:<9} {visible(str(value))}" for name, value in rows]


def _database(found: dict[str, Any]) -> str:
    if found["kind"] == "given":
        return f"given by {found['source']}: {found['url']}"
    return "cos' own (embedded)"


def _state(found: dict[str, Any]) -> str:
    if found["kind"] == "given":
        return "answers" if found["running"] else "does not answer"
    if found["data_dir"] is None:
        return f"not set up yet; the first start makes it in {found['state_dir']}"
    if not found["running"]:
        return "not running" + ("; the next start keeps it running" if found["keeps_running"] else "")
    process = "" if found["pid"] is None else f" (process {found['pid']})"
    until = "until `cos db stop`" if found["keeps_running"] else "until the last cos leaves"
    return f"running{process}, {until}"


def _size(size: float) -> str:
    unit = 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size} {_UNITS[unit]}"
