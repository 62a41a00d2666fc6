"""Forks own a whole copy of their history; and whatever is undone and forked in any order leaves a valid history."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cos.agent.events import MessageDelta, Usage
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, ToolCall, ToolResultMessage, UserMessage, message_json, reply_text
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import Script, called, said
from cos.agent.records import TurnStatus
from cos.core.errors import SessionError
from cos.core.fork_titles import fork_stem, fork_title
from cos.core.live import SessionCreated
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.sessions import Sessions
from cos.core.session_edits import SessionEdits
from tests.agent_bench import assert_answered, tool
from tests.core_bench import core_bench
from tests.postgres.test_session_edits import edits_of, edits_on, session

if TYPE_CHECKING:
    from cos.agent.messages import Message

WAITS: Script = [StreamStarted("m"), TextChunk("so far"), "hang"]
SIGNED: dict[str, Any] = {"type": "thinking", "thinking": "hm", "signature": "s=", "z": 1.0}
THOUGHT = replace(said("thought"), blocks=(SIGNED, {"type": "text", "text": "thought"}), usage=Usage(output_tokens=7))
STORED = "SELECT frozen_prompt::text, cwd, options::text, tags, source FROM sessions WHERE id = '{}'"


async def test_a_fork_goes_on_from_a_copy_of_every_byte(core_url: str, tmp_path: Path) -> None:
    scripts = [called(("c1", "t", {"say": "r"})), THOUGHT, said("there"), said("here")]
    async with core_bench(core_url, tmp_path, scripts, tool("t")) as core:
        first = await core.ask("go", tags=("client:acme",))
        origin = first.turn.session_id
        fork = await edits_of(core).fork(origin)
        event = core.events[-1]
        assert isinstance(event, SessionCreated)
        assert (event.session_id, event.title) == (fork, "go (fork)")
        rows = [(await core.rows(STORED.format(id_)))[0] for id_ in (origin, fork)]
        assert rows[0] == rows[1]
        assert rows[0]["frozen_prompt"]
        before, after = [await core.sessions.transcript(id_) for id_ in (origin, fork)]
        assert [message_json(row.message) for row in before.messages] == [
            message_json(r.message) for r in after.messages
        ]
        assert [row.created_at for row in before.messages] == [row.created_at for row in after.messages]
        assert before.calls == after.calls
        assert not {row.id for row in before.messages} & {row.id for row in after.messages}
        assert not set(before.turns) & set(after.turns)
        assert [row["copied_from_turn_id"] for row in await core.rows(copied_from(fork))] == [first.turn.turn_id]
        assert (await core.sessions.usage(origin)).output_tokens == 7
        assert await core.sessions.usage(fork) == Usage(), "what was copied cost nothing again"
        for id_, text in ((origin, "on"), (fork, "on")):
            await core.ask(text, id_)
        there, here = core.provider.requests[-2:]
        assert there == here, "the same bytes, so that the cache and bound thinking hold"


def copied_from(fork: UUID) -> str:
    return f"SELECT copied_from_turn_id FROM turns WHERE session_id = '{fork}'"


async def test_a_fork_is_cut_where_the_user_says(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("1"), said("2"), said("3"), WAITS]) as core:
        turns = [(await core.ask("q1")).turn]
        origin = turns[0].session_id
        turns += [(await core.ask(text, origin)).turn for text in ("q2", "q3")]
        edits = edits_of(core)
        second = turns[1].turn_id
        await edits.undo(origin)
        running = (await core.send("q4", origin)).turn_id
        await core.when(4, MessageDelta)
        assert await core.texts(await edits.fork(origin, before_turn=second)) == ["q1", "1"]
        assert await core.texts(await edits.fork(origin, through_turn=second)) == ["q1", "1", "q2", "2"]
        assert await core.texts(await edits.fork(origin, before_turn=turns[0].turn_id)) == []
        for uncut in (await edits.fork(origin), await edits.fork(origin, before_turn=running)):
            assert await core.texts(uncut) == ["q1", "1", "q2", "2"], "neither the undone nor the running turn"
        with pytest.raises(SessionError, match="still runs; fork before it"):
            await edits.fork(origin, through_turn=running)
        for gone in (turns[2].turn_id, new_id()):
            with pytest.raises(SessionError, match=f"turn {gone} is not in the history"):
                await edits.fork(origin, before_turn=gone)
        with pytest.raises(ValueError, match="not both"):
            await edits.fork(origin, before_turn=second, through_turn=second)


async def test_a_fork_and_a_rewind_are_as_full_as_the_history_was_then(core_url: str, tmp_path: Path) -> None:
    scripts = [replace(said("x"), usage=Usage(input_tokens=count, output_tokens=1)) for count in (10, 20, 30)]
    async with core_bench(core_url, tmp_path, [*scripts, said("nobody counted")]) as core:
        turns = [(await core.ask("q1")).turn]
        origin = turns[0].session_id
        turns += [(await core.ask(text, origin)).turn for text in ("q2", "q3")]
        edits = edits_of(core)

        async def used(session_id: UUID) -> int | None:
            context = (await core.sessions.get(session_id)).context
            return context.used if context else None

        assert await used(await edits.fork(origin)) == 31
        middle = await edits.fork(origin, through_turn=turns[1].turn_id)
        assert await used(middle) == 21
        assert await used(await edits.fork(middle, before_turn=await edits.turn_numbered(middle, 2))) == 11
        assert await used(await edits.fork(origin, before_turn=turns[0].turn_id)) is None, "it is empty"
        await edits.undo(origin)
        assert await used(origin) == 21
        await edits.undo(origin, 2)
        assert await used(origin) is None
        assert await used(await edits.fork((await core.ask("q4")).turn.session_id)) is None


async def test_forks_outlive_what_they_came_from_and_child_sessions_do_not_H_059(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [called(("c", "t", {})), said("1"), said("2")], tool("t")) as core:
        origin = (await core.ask("go")).turn.session_id
        child = await session(core.database, "delegated", origin)
        edits = edits_of(core)
        fork = await edits.fork(origin)
        fork_of_child = await edits.fork(child)
        doomed = await edits.what_goes([origin])
        assert ([one.title for one in doomed.children], doomed.forks_kept) == (["delegated"], 2)
        history = await core.history(fork)
        await edits.delete([origin])
        assert {row.id for row in await core.listed()} == {fork, fork_of_child}
        assert await core.history(fork) == history
        assert (await core.ask("go on", fork)).text == "2"
        assert (await core.sessions.get(fork_of_child)).root_session_id == fork_of_child


async def test_titles_of_forks_keep_the_length_of_titles(database: Database) -> None:
    edits, origin = edits_on(database), await session(database, 60 * "漢")
    fork = await edits.fork(origin)
    assert (await Sessions(database).get(fork)).title == 46 * "漢" + " (fork)"
    assert (await Sessions(database).get(await edits.fork(fork))).title == 46 * "漢" + " (fork 2)"


async def test_no_two_forks_have_the_same_title_not_even_those_made_at_once(database: Database) -> None:
    edits, origin = edits_on(database), await session(database, "x")
    fork = await edits.fork(origin)
    made = await asyncio.gather(*[edits.fork(one) for one in (origin, fork, origin, fork, fork)])
    titles = {(await Sessions(database).get(one)).title for one in (fork, *made)}
    assert titles == {"x (fork)", *(f"x (fork {number})" for number in range(2, 7))}


@pytest.mark.parametrize(
    ("title", "taken", "becomes"),
    [
        (None, [], "Session (fork)"),
        ("x (fork)", ["x (fork)"], "x (fork 2)"),
        ("x", ["x (fork)", "x (fork 9)", "x (forked)", "x (fork 09)"], "x (fork 10)"),
        ("x (fork) y", ["x (fork)"], "x (fork) y (fork)"),
        ("x (fork 1234567)", [], "x (fork 1234567) (fork)"),
    ],
)
def test_a_fork_is_numbered_behind_those_that_there_are(title: str | None, taken: list[str], becomes: str) -> None:
    assert fork_title(fork_stem(title), taken) == becomes


@dataclass
class Model:
    """A session, and what its history must be."""

    id: UUID
    turns: list[list[str]]

    @property
    def seen(self) -> list[str]:
        """What a model sees of it: a summary takes the place of all before it."""
        texts = list[str]()
        for turn in self.turns:
            texts = list(turn) if turn[0].startswith("summary") else texts + turn
        return texts


OPERATION = st.one_of(
    st.tuples(st.just("turn"), st.integers(0, 2), st.sampled_from(["completed", "cancelled", "failed"])),
    st.tuples(st.just("compact"), st.just(0), st.just("")),
    st.tuples(st.just("undo"), st.integers(1, 3), st.just("")),
    st.tuples(st.just("fork"), st.integers(0, 4), st.just("")),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=st.lists(st.tuples(st.integers(0, 9), OPERATION), min_size=1, max_size=16))
async def test_any_order_of_turns_undos_and_forks_leaves_valid_histories(
    shared_core_url: str, operations: list[tuple[int, tuple[str, int, str]]]
) -> None:
    database = await Database(shared_core_url, size=2).open()
    try:
        journal, edits = PostgresJournal(database), edits_on(database)
        new = NewSession(profile_id="home", source="cli", title="t")
        models = [Model(await journal.create_session(new), [])]
        for which, (kind, number, status) in operations:
            model = models[which % len(models)]
            if kind == "turn":
                model.turns.append(await play(journal, database, model.id, number, TurnStatus(status)))
            elif kind == "compact":
                model.turns.append(await compact(journal, database, model.id))
            elif kind == "undo" and model.turns:
                taken = await edits.undo(model.id, number)
                assert tuple(prompt.text for prompt in taken.prompts) == tuple(
                    texts[0] for texts in model.turns[-number:] if not texts[0].startswith("summary")
                )
                del model.turns[-number:]
            elif kind == "fork":
                models.append(await forked(edits, database, model, number))
            await assert_valid(database, journal, model)
        for model in models:
            await assert_valid(database, journal, model)
    finally:
        await database.close()


async def test_undoing_a_summary_brings_back_what_it_took_the_place_of(database: Database) -> None:
    journal, edits = PostgresJournal(database), edits_on(database)
    model = Model(await session(database, text="before"), [["before"]])
    model.turns.append(await compact(journal, database, model.id))
    model.turns.append(await play(journal, database, model.id, 1, TurnStatus.COMPLETED))
    model.turns.append(await compact(journal, database, model.id))
    for whole in (model, Model(await edits.fork(model.id), list(model.turns))):
        while whole.turns:
            await assert_valid(database, journal, whole)
            await edits.undo(whole.id)
            whole.turns.pop()
        assert await journal.load_history(whole.id) == []


async def forked(edits: SessionEdits, database: Database, model: Model, keep: int) -> Model:
    """Cut after `keep` turns when there are more."""
    if keep >= len(model.turns):
        return Model(await edits.fork(model.id), list(model.turns))
    rows = (await Sessions(database).transcript(model.id)).turns.values()
    cut = sorted(rows, key=lambda row: row.ordinal)[keep].id
    return Model(await edits.fork(model.id, before_turn=cut), model.turns[:keep])


async def play(
    journal: PostgresJournal, database: Database, session_id: UUID, calls: int, status: TurnStatus
) -> list[str]:
    """A turn as the loop makes it. Its call ids are the first that are free, so that undone ones come again."""
    turn = TurnInfo(profile_id="home", session_id=session_id, turn_id=new_id())
    texts = [f"prompt of {turn.turn_id}"]
    await journal.start_turn(turn, UserMessage(text=texts[0]))
    if calls:
        rows = await database.fetch(b"SELECT call_id FROM tool_calls WHERE session_id = %(id)s", {"id": session_id})
        taken = {row["call_id"] for row in rows}
        free = [id_ for number in range(99) if (id_ := f"c{number}") not in taken][:calls]
        texts.append(f"calls of {turn.turn_id}")
        proposed = [ToolCall(id=id_, name="t", args={}) for id_ in free]
        await journal.append_message(turn, AssistantMessage(text=texts[-1], tool_calls=proposed))
        for id_ in free[: None if status is TurnStatus.COMPLETED else 1]:
            result = ToolResultMessage(call_id=id_, content=f"result in {turn.turn_id}", is_error=False)
            await journal.append_message(turn, result)
    if status is TurnStatus.COMPLETED:
        texts.append(f"reply of {turn.turn_id}")
        await journal.append_message(turn, AssistantMessage(text=texts[-1]))
    await journal.append_message(turn, AssistantMessage(text="cut", partial=True), active=False)
    await journal.finish_turn(turn, status)
    return texts


async def compact(journal: PostgresJournal, database: Database, session_id: UUID) -> list[str]:
    """A turn whose summary takes the place of every message before it."""
    turn = TurnInfo(profile_id="home", session_id=session_id, turn_id=new_id())
    summary, text = new_id(), f"summary in {turn.turn_id}"
    await journal.start_turn(turn)
    put_away = b"UPDATE messages SET active = false, put_away_by = %(by)s WHERE session_id = %(session_id)s AND active"
    await database.fetch(put_away, {"by": summary, "session_id": session_id})
    await journal.append_message(turn, UserMessage(text=text, origin="loop"), message_id=summary)
    await journal.finish_turn(turn, TurnStatus.COMPLETED)
    return [text]


async def assert_valid(database: Database, journal: PostgresJournal, model: Model) -> None:
    history = await journal.load_history(model.id)
    assert_answered(history)
    said_there = [reply_text(message) for message in history if not isinstance(message, ToolResultMessage)]
    assert said_there == model.seen
    page = await Sessions(database).transcript(model.id)
    assert [row.message for row in page.messages if row.active] == history
    assert {call.id for message in history for call in _calls(message)} <= set(page.calls)


def _calls(message: Message) -> list[Any]:
    return list(message.tool_calls) if isinstance(message, AssistantMessage) else []
