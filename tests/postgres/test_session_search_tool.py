"""The tool `session_search`: discover, scroll, read, browse; what the model gets, and what it never gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from cos.agent.arguments import schema_errors
from cos.agent.identity import TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, ToolCall, ToolResultMessage, UserMessage
from cos.agent.providers.scripted import called, said
from cos.agent.tools import ToolError, ToolOk
from cos.core.postgres.database import Database
from cos.core.postgres.session_search import SessionSearch
from cos.core.postgres.sessions import Sessions
from cos.core.session_edits import SessionEdits
from cos.core.tools.search_answers import IN_CONTEXT, MOST_CHARACTERS
from cos.core.tools.session_search import session_search_tool
from tests.core_bench import core_bench
from tests.postgres.test_session_search import CJK, talk, turn_of
from tests.tool_context import RecordingContext


async def call(
    database: Database, args: dict[str, Any], *, session: UUID | None = None, profile: str = "home"
) -> dict[str, Any]:
    outcome = await outcome_of(database, args, session=session, profile=profile)
    assert isinstance(outcome, ToolOk), outcome
    assert len(outcome.content) <= MOST_CHARACTERS
    answer: dict[str, Any] = json.loads(outcome.content)
    assert answer["success"] is True
    return answer


async def outcome_of(
    database: Database, args: dict[str, Any], *, session: UUID | None = None, profile: str = "home"
) -> ToolOk | ToolError:
    tool = session_search_tool(SessionSearch(database), Sessions(database))
    assert not schema_errors(tool.schema, args)
    asking = session or await talk(database, profile=profile, title="asking")
    turn = TurnInfo(profile_id=profile, session_id=asking, turn_id=new_id())
    return await tool.run(args, turn, RecordingContext(Path("/w")))


async def refusal(database: Database, args: dict[str, Any], **more: Any) -> str:
    outcome = await outcome_of(database, args, **more)
    assert isinstance(outcome, ToolError)
    return outcome.content


async def test_discover_has_the_keys_of_hermes(database: Database) -> None:
    session = await talk(database, *(f"question {number}" for number in range(10)), title="Ducks")
    await turn_of(database, session, UserMessage(text="where is the duck?"), AssistantMessage(text="in the pond"))
    await turn_of(database, session, *(UserMessage(text=f"later {number}") for number in range(8)))
    answer = await call(database, {"query": "duck"})
    assert (answer["mode"], answer["query"], answer["count"]) == ("discover", "duck", 1)
    (found,) = answer["results"]
    assert set(found) == {
        "session_id", "when", "source", "model", "title", "matched_role", "match_message_id", "snippet",
        "bookend_start", "messages", "bookend_end", "messages_before", "messages_after", "parent_session_id",
    }  # fmt: skip
    assert (found["session_id"], found["title"], found["matched_role"]) == (str(session), "Ducks", "user")
    assert found["snippet"] == "where is the >>>duck<<<?"
    assert [said["content"] for said in found["bookend_start"]] == ["question 0", "fine", "question 1"]
    assert [said["content"] for said in found["bookend_end"]] == ["later 5", "later 6", "later 7"]
    assert len(found["messages"]) == 11
    (anchor,) = [said for said in found["messages"] if said.get("anchor")]
    assert (anchor["id"], anchor["content"]) == (found["match_message_id"], "where is the duck?")
    assert (found["messages_before"], found["messages_after"]) == (15, 4)


async def test_scroll_goes_on_from_the_last_message_it_showed(database: Database) -> None:
    session = await talk(database, *(f"question {number}" for number in range(10)))
    (found,) = (await call(database, {"query": '"question 2"'}))["results"]
    args = {"session_id": str(session), "around_message_id": found["match_message_id"], "window": 2}
    answer = await call(database, args)
    assert answer["mode"] == "scroll"
    assert [said["content"] for said in answer["messages"]] == [
        "question 1",
        "fine",
        "question 2",
        "fine",
        "question 3",
    ]
    assert (answer["messages_before"], answer["messages_after"]) == (2, 13)
    onward = await call(database, args | {"around_message_id": answer["messages"][-1]["id"]})
    assert [said["content"] for said in onward["messages"]][2:] == ["question 3", "fine", "question 4"]


async def test_scroll_reaches_a_child_session_by_its_root(database: Database) -> None:
    root = await talk(database, "root", title="root")
    child = await talk(database, "a duck", title="child", parent=root)
    (found,) = (await call(database, {"query": "duck"}))["results"]
    assert (found["session_id"], found["child_session_id"]) == (str(root), str(child))
    args = {"session_id": found["session_id"], "around_message_id": found["match_message_id"]}
    assert (await call(database, args))["session_id"] == str(child)


@pytest.mark.parametrize(
    ("count", "shown", "left_out"), [(3, 3, 0), (20, 20, 0), (30, 30, 0), (31, 30, 1), (90, 30, 60)]
)
async def test_read_gives_the_first_20_and_the_last_10(
    database: Database, count: int, shown: int, left_out: int
) -> None:
    session = await talk(database)
    await turn_of(database, session, *(UserMessage(text=f"m{number}") for number in range(count)))
    answer = await call(database, {"session_id": str(session)})
    texts = [said["content"] for said in answer["messages"]]
    assert (answer["mode"], answer["message_count"], answer["left_out"], len(texts)) == ("read", count, left_out, shown)
    assert texts == [f"m{number}" for number in [*range(min(20, count)), *range(max(20, count - 10), count)]]


async def test_read_of_a_session_without_messages_is_empty(database: Database) -> None:
    session = await talk(database)
    answer = await call(database, {"session_id": str(session)})
    assert (answer["messages"], answer["message_count"], answer["left_out"]) == ([], 0, 0)


async def test_browse_lists_the_newest_sessions_but_not_the_one_that_asks(database: Database) -> None:
    first, second = await talk(database, "first thing"), await talk(database, "second thing")
    await talk(database, "of a child", parent=second)
    await talk(database, "elsewhere", profile="work")
    answer = await call(database, {})
    assert [found["session_id"] for found in answer["results"]] == [str(second), str(first)]
    assert [found["preview"] for found in answer["results"]] == ["second thing", "first thing"]
    assert answer["results"][0]["message_count"] == 2
    assert len((await call(database, {"limit": 1}))["results"]) == 1


async def test_another_profile_is_out_of_reach(database: Database) -> None:
    session = await talk(database, "a duck", profile="work")
    (found,) = (await call(database, {"query": "duck"}, profile="work"))["results"]
    message = found["match_message_id"]
    assert (await call(database, {"query": "duck"}))["results"] == []
    assert "there is no session" in await refusal(database, {"session_id": str(session)})
    assert "there is no message" in await refusal(database, {"session_id": str(session), "around_message_id": message})


async def test_wrong_arguments_are_told_in_a_sentence(database: Database) -> None:
    session = str(await talk(database, "a duck"))
    assert "needs the session_id" in await refusal(database, {"around_message_id": str(uuid4())})
    assert "there is no message" in await refusal(database, {"session_id": session, "around_message_id": str(uuid4())})
    assert "takes an id" in await refusal(database, {"session_id": "the one of yesterday"})
    assert "there is no session" in await refusal(database, {"session_id": str(uuid4())})
    assert "role_filter takes" in await refusal(database, {"query": "x", "role_filter": "user,robot"})
    schema = session_search_tool(SessionSearch(database), Sessions(database)).schema
    for args in ({"limit": 0}, {"limit": 11}, {"window": 21}, {"sort": "best"}, {"profile": "work"}):
        assert schema_errors(schema, args), args


async def test_long_messages_never_refill_the_context(database: Database) -> None:
    for _ in range(10):
        session = await talk(database)
        call_ = ToolCall(id="c", name="terminal", args={})
        await turn_of(
            database, session, UserMessage(text="duck " + "long " * 20_000), AssistantMessage(tool_calls=[call_]),
            ToolResultMessage(call_id="c", content="y " * 50_000, is_error=True),
            *(AssistantMessage(text="z " * 5_000) for _ in range(10)),
        )  # fmt: skip
    answer = await call(database, {"query": "duck", "limit": 10})
    assert answer["count"] == 10
    first = answer["results"][0]["messages"]
    assert "characters cut ..." in first[0]["content"]
    assert first[1]["tool_calls"] == ["terminal"] and first[2]["is_error"]
    await call(database, {"session_id": str(session)})
    one = (await call(database, {"query": "duck", "limit": 1}))["results"][0]
    assert all(len(said["content"]) <= 1_300 for said in one["bookend_start"])


async def test_what_the_model_has_before_it_is_named_and_not_repeated(database: Database) -> None:
    session = await talk(database, "old duck", "new goose")
    await database.fetch(b"UPDATE messages SET active = false WHERE ordinal <= 2")
    (found,) = (await call(database, {"query": "duck"}, session=session))["results"]
    assert [said["content"] for said in found["messages"]] == ["old duck", "fine", IN_CONTEXT, IN_CONTEXT]
    assert "goose" not in json.dumps(found)
    assert (await call(database, {"query": "goose"}, session=session))["message"].startswith("Nothing matches")
    live = found["messages"][2]["id"]
    assert "before your eyes" in await refusal(
        database, {"session_id": str(session), "around_message_id": live}, session=session
    )


@pytest.mark.parametrize("typed", ["部署脚本", "手順", "스크립트"])
async def test_scripts_without_spaces_are_found_through_the_tool_H_055(database: Database, typed: str) -> None:
    await talk(database, *CJK)
    (found,) = (await call(database, {"query": typed}))["results"]
    assert f">>>{typed}<<<" in found["snippet"]


@pytest.mark.parametrize(
    "typed",
    ["部署 OR test-run OR errors", "AND AND", "OR", '"unclosed', "a & | b", pytest.param("ab " * 3_400, id="10 kB")],
)
async def test_no_query_is_an_error_of_the_tool_H_056(database: Database, typed: str) -> None:
    await talk(database, "a test-run")
    await call(database, {"query": typed})


async def test_a_model_recalls_and_finds_nothing_of_a_deleted_session_H_058(core_url: str, tmp_path: Path) -> None:
    recall = called(("c1", "session_search", {"query": "duck"}))
    again = called(("c2", "session_search", {"query": "duck"}))
    database = Database(core_url, size=2)
    tool = session_search_tool(SessionSearch(database), Sessions(database))
    await database.open()
    async with core_bench(core_url, tmp_path, [said("noted"), recall, said("a"), again, said("b")], tool) as core:
        first = (await core.ask("the duck is blue")).turn.session_id
        child = await talk(core.database, "duck of a child", parent=first)
        second = (await core.ask("what about it?")).turn.session_id
        edits = SessionEdits(core.database, core.dispatcher, core.events.append)
        await core.idle(first)
        await edits.delete([first])
        await core.ask("and now?", second)
        results = [json.loads(it.content) for it in await core.history(second) if isinstance(it, ToolResultMessage)]
    await database.close()
    assert child
    assert [answer["count"] for answer in results] == [1, 0]
    assert results[0]["results"][0]["session_id"] == str(first)
