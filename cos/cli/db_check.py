"""`cos db check`: what is wrong in the database, and with `--repair` what can be done about it safely."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.agent.hooks import HookBus
from cos.agent.text import visible
from cos.cli.db_opening import opened, progress
from cos.core.plugins import load_plugins
from cos.core.postgres.check import check_journal, repair_journal
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.plugin_loans import plugin_host
from cos.core.postgres.schema import apply_core_schema, apply_plugin_schemas
from cos.core.profiles import profile_folders

if TYPE_CHECKING:
    import argparse

    from cos.core.config import Config
    from cos.core.postgres.check import Finding
    from cos.core.postgres.database import Database

CLEAN, FINDINGS = 0, 1


async def check(config: Config, options: argparse.Namespace) -> int:
    async with opened(config) as found:
        database = found.database
        await apply_core_schema(database)
        await apply_plugin_schemas(database, config.settings.plugins)
        done = await repair_journal(database, PostgresJournal(database)) if options.repair else []
        findings = await check_journal(database)
        sentences = await _plugins_say(config, database)
    if options.json:
        shown = [asdict(it) | {"session_id": str(it.session_id), "turn_id": _text(it.turn_id)} for it in findings]
        print(json.dumps({"repaired": done, "findings": shown, "plugins": sentences}, ensure_ascii=False))
    else:
        print("\n".join(visible(line) for line in _lines(done, findings, sentences, repaired=options.repair)))
    return FINDINGS if findings or sentences else CLEAN


async def _plugins_say(config: Config, database: Database) -> list[str]:
    profiles = [folder.name for folder in profile_folders(config.paths)]
    host = plugin_host(database, config, profiles, lambda event: None)
    plugins, folder = config.settings.plugins, config.paths.plugins_dir
    try:
        loaded = await load_plugins(plugins, config.plugin_settings, folder, HookBus(), host=host)
    except CosError as error:
        progress(f"the tables of plugins are not checked: {error}")
        return []
    try:
        return await loaded.database_findings()
    finally:
        await loaded.close()


def _lines(done: list[str], findings: list[Finding], sentences: list[str], *, repaired: bool) -> list[str]:
    lines = [f"repaired: {line}" for line in done]
    for it in findings:
        turn = f", turn {it.turn_id}" if it.turn_id is not None else ""
        lines.append(f"{it.kind}: {it.id} (session {it.session_id}{turn})")
    lines += sentences
    count = len(findings) + len(sentences)
    if not count:
        return [*lines, "Nothing is wrong."]
    hint = "" if repaired else " `cos db check --repair` repairs what it safely can; make a `cos db backup` first."
    left = " left" if repaired else ""
    return [*lines, f"{count} finding{'' if count == 1 else 's'}{left}.{hint}"]


def _text(value: object | None) -> str | None:
    return None if value is None else str(value)
