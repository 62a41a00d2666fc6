"""Finding a text in one session: words, thinking, calls; as written and as read; only what is not rewound."""

from __future__ import annotations

import pytest

from cos.agent.identity import TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, UserMessage
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.session_text import SessionText
from tests.tui.long_session import PER_TURN, long_session

ALL = 1_000_000


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("question 7", [(7, 1)]),
        ("QUESTION 7", [(7, 1)]),
        ("step 3", [(3, 2)]),
        ('echo "step 3"', [(3, 2)]),
        ("100% 5_", [(5, 2)]),
        ("100% 5%x", []),
        ("5__", []),
        ("the **loader** reads\n`part9", [(9, 4)]),
        ("the loader reads part9.toml once", [(9, 4)]),
        ("\\", []),
        ("nowhere", []),
    ],
)
async def test_a_text_is_found_where_a_reader_sees_it(
    database: Database, text: str, places: list[tuple[int, int]]
) -> None:
    session_id = await long_session(database, 10)
    found = await SessionText(database).find(session_id, text, before=ALL)
    assert found == [turn * PER_TURN + place for turn, place in places]


async def test_what_is_found_comes_newest_first_and_only_from_before_an_ordinal(database: Database) -> None:
    session_id = await long_session(database, 4)
    await long_session(database, 4, "another")
    text = SessionText(database)
    assert await text.find(session_id, "question", before=ALL) == [13, 9, 5, 1]
    assert await text.find(session_id, "question", before=9) == [5, 1]
    await database.fetch("UPDATE turns SET undone_at = now() WHERE session_id = %s AND ordinal = 2", (session_id,))  # type: ignore[arg-type]
    assert await text.find(session_id, "question", before=ALL) == [13, 9, 1]


async def test_thinking_is_found_and_messages_without_blocks_are_no_error(database: Database) -> None:
    journal = PostgresJournal(database)
    session_id = await long_session(database, 1)
    turn = TurnInfo(profile_id="home", session_id=session_id, turn_id=new_id())
    await journal.start_turn(turn, UserMessage(text="x"))
    thinking = [{"type": "thinking", "thinking": "let me see", "signature": "s"}, {"type": "text", "text": "done"}]
    await journal.append_message(turn, AssistantMessage(text="done", blocks=thinking))
    assert await SessionText(database).find(session_id, "LET ME", before=ALL) == [6]
