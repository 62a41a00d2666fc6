"""What other processes, shells and terminals say: notifications, arguments, keys."""

from __future__ import annotations

import asyncio
import json
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cos.cli.arguments import build_parser
from cos.core.neighbours import Neighbours
from cos.plugins.bill.events import CallRecorded
from cos.tui.terminal_input import TerminalInput
from tests.fuzz.making import texts, tries, values

if TYPE_CHECKING:
    from cos.core.postgres.database import Database
    from tests.fix_home import CoreHome

OPTIONS = ("--by", "--since", "--until", "--limit", "--json", "--profile", "--port", "--tz")
SEQUENCES = (b"\x1b[200~", b"\x1b[201~", b"\x1b[<0;1;1M", b"\x1b[999999999999;5u", b"\x1b]52;c;", b"\x1b[?1;2c")
ids = st.one_of(st.uuids().map(str), st.just("x"), texts)
kinds = st.sampled_from(
    ["session.touched", "session.updated", "session.deleted", "session.rewound", "reply.grew", CallRecorded.type, "?"]
)
told: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"turn_id": ids, "parent_turn_id": st.one_of(st.none(), ids), "tags": st.lists(texts, max_size=2), "depth": values,
     "at": st.one_of(st.datetimes().map(str), values), "own": values}
)  # fmt: skip
rests = st.one_of(texts, values.map(json.dumps), told.map(json.dumps), st.just('{"a":' * 1_400), st.just("[" * 7_000))
payloads = st.one_of(texts, st.tuples(ids, ids, texts, kinds, rests).map(" ".join))


@tries(150)
@given(payload=payloads)
def test_any_word_of_another_process_is_understood_or_somebody_elses(payload: str) -> None:
    """A ValueError is passed over by the listener; any other error would end it."""
    heard: list[object] = []
    neighbours = Neighbours(uuid4(), heard.append, {CallRecorded.type: CallRecorded})
    with suppress(ValueError):
        asyncio.run(neighbours.hear(payload))
        assert len(heard) <= 1


async def _tell_again(database: Database, tell: str, after: dict[str, str]) -> None:
    """Until it is heard: right after the start nobody listens yet."""
    while True:
        await database.fetch(tell, after)
        await asyncio.sleep(0.2)


@tries(20)
@given(payload=st.one_of(payloads, ids), channel=st.sampled_from(["cos_sessions", "cos_cancels", "cos_approvals"]))
async def test_any_notification_leaves_the_listener_running(
    core_home: CoreHome, caplog: pytest.LogCaptureFixture, payload: str, channel: str
) -> None:
    if not core_home.opened:
        await core_home.open()
    core = core_home.opened[0]
    payload = payload.replace("\0", "").encode("utf-8", "replace").decode()[:2_500]
    tell, session = "SELECT pg_notify(%(channel)s, %(payload)s)", uuid4()
    with core.feed.subscribe() as events:
        await core.database.fetch(tell, {"channel": channel, "payload": payload})
        after = {"channel": "cos_sessions", "payload": f"{uuid4()} {session} home session.touched"}
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            telling = tasks.create_task(_tell_again(core.database, tell, after))
            async for live in events:
                if getattr(live.event, "session_id", None) == session:
                    telling.cancel()
                    break
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


@tries(60)
@given(
    words=st.lists(st.one_of(texts, st.sampled_from(["--by", "--since", "--limit", "--json", "--profile"])), max_size=4)
)
@pytest.mark.parametrize(
    "command",
    [
        ["cost"],
        ["sessions", "list"],
        ["sessions", "show"],
        ["sessions", "search"],
        ["ask"],
        ["db"],
        ["config"],
        ["serve"],
    ],
)
def test_any_arguments_are_taken_or_refused_with_usage(command: list[str], words: list[str]) -> None:
    said, complained = StringIO(), StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(complained):
            build_parser().parse_args([*command, *words])
    except SystemExit as end:
        assert end.code == 0 or "cos" in complained.getvalue()


@tries(30)
@given(
    pieces=st.lists(
        st.one_of(
            st.binary(max_size=12),
            texts.map(lambda text: text.encode("utf-8", "replace")[:200]),
            st.sampled_from(SEQUENCES),
        ),
        max_size=12,
    )
)  # fmt: skip
def test_any_bytes_of_a_terminal_are_keys_or_nothing(pieces: list[bytes]) -> None:
    terminal = TerminalInput()
    for piece in pieces:
        assert None not in list(terminal.messages(piece))
    assert None not in list(terminal.waited())
