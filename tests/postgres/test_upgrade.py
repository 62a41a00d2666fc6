"""Old databases open with this cos, and a database of a newer cos is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from cos.agent.identity import TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import message_json, partial_reply
from cos.agent.records import TurnStatus
from cos.core.errors import NewerSchemaError
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.listed_sessions import listed_sessions
from cos.core.postgres.schema import apply_core_schema, apply_plugin_schemas
from cos.core.postgres.statements import Schema, core_schema, plugin_schema
from tests.fix_home import CoreHome, asked
from tests.postgres.test_crossing import orphan

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.postgres.database import Database

OLD = sorted((Path(__file__).parent / "old_databases").glob("*.sql"))
KNOWN = {
    "core": (3, "ddf31ca6bfb3e7c65f88e8034fa0fa81c867856a71332151130c10a9c07f855d"),
    "bill": (2, "361cdcf140d6673a2799de24bf4cc4c3625ade63b627a2792c7329d45945aff8"),
    "memory": (1, "6ac0f2630c54b1b6c412d67d8030f8c84dbf8c8b1c2cffc7fccd2ffb0abfc656"),
}
"""Schema -> its number and digest. A changed schema has a higher number, or an older cos would not notice."""


def shipped_schema(name: str) -> Schema:
    schema = core_schema() if name == "core" else plugin_schema(name)
    assert schema is not None
    return schema


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_whoever_changes_a_schema_raises_its_number(name: str) -> None:
    schema = shipped_schema(name)
    assert (schema.number, schema.digest) == KNOWN[name], (
        f"sql/{name}/schema.sql was changed: raise the number in its first line and write both down in KNOWN"
    )


@pytest.mark.parametrize("dump", OLD, ids=lambda dump: dump.stem)
async def test_a_database_of_an_older_cos_opens_and_goes_on(core_home: CoreHome, database_url: str, dump: Path) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(dump.read_bytes())
        before: dict[UUID, int] = dict(
            connection.execute(b"SELECT session_id, count(*) FROM public.messages GROUP BY 1").fetchall()
        )
    core_home.write_profile("demo", 'provider = "mock"\n')
    core = await core_home.open()
    listed = await listed_sessions(core.database, profile_id="demo", archived=False, limit=50)
    assert {session.id for session in listed} == set(before)
    journal = PostgresJournal(core.database)
    assert {session.id: len(await journal.load_history(session.id)) for session in listed} == before
    newest = listed[0]
    ended = await asked(core, "think", newest.id, profile="demo")
    assert ended.status is TurnStatus.COMPLETED
    assert len(await journal.load_history(newest.id)) == before[newest.id] + 2


async def test_what_an_older_cos_kept_of_a_streaming_reply_becomes_a_message(database: Database) -> None:
    session_id, turn_id = await orphan(database)
    body = partial_reply("Half a sen", "hm")
    kept = {"turn_id": turn_id, "message_id": new_id(), "body": message_json(body)}
    await database.fetch(
        b"UPDATE turns SET open_reply_id = %(message_id)s, open_reply = %(body)s WHERE id = %(turn_id)s", kept
    )
    journal = PostgresJournal(database)
    turn = TurnInfo(profile_id="home", session_id=session_id, turn_id=turn_id)
    await journal.finish_turn(turn, TurnStatus.INTERRUPTED)
    assert (await journal.load_history(session_id))[-1] == body


async def test_what_an_older_cos_has_counted_is_counted_again_once(core_home: CoreHome, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute((OLD[0].parent / "first_bill.sql").read_bytes())
    core_home.write_profile("demo", 'provider = "mock"\n')
    core = await core_home.open()
    await asked(core, "think", profile="demo")
    counted = await core.database.fetch(
        b"SELECT (SELECT count(*) FROM model_calls) AS calls, sum(input_tokens) AS tokens,"
        b" (SELECT sum(input_tokens) FROM model_calls) AS tokens_of_calls, sum(calls) AS counted"
        b" FROM bill_sums WHERE kind = 'all'"
    )
    assert counted[0]["calls"] == counted[0]["counted"] == 10
    assert counted[0]["tokens"] == counted[0]["tokens_of_calls"]


@pytest.mark.parametrize("name", ["core", "bill"])
async def test_a_database_of_a_newer_cos_is_refused_and_left_as_it_is(database: Database, name: str) -> None:
    await apply_core_schema(database)
    await apply_plugin_schemas(database, ["bill"])
    await database.fetch(
        b"INSERT INTO applied_schemas (digest, name, number) VALUES ('newer', %(name)s, 7)", {"name": name}
    )
    applied = await database.fetch(b"SELECT * FROM applied_schemas ORDER BY digest")
    whose = "" if name == "core" else " of the plugin bill"
    with pytest.raises(NewerSchemaError, match=rf"made by a newer cos \(schema 7{whose}, this one knows \d\); update"):
        await apply_core_schema(database)
        await apply_plugin_schemas(database, ["bill"])
    assert await database.fetch(b"SELECT * FROM applied_schemas ORDER BY digest") == applied
