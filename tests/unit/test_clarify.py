"""The tool `clarify`: what it asks, and that only an answer reaches the model as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cos.agent.arguments import schema_errors
from cos.agent.records import ApprovalAnswer, ToolCallStatus
from cos.agent.tools import ToolError, ToolOk, ToolOutcome
from cos.core.errors import PluginError
from cos.core.plugin_api import Registrations
from cos.core.plugins import LoadedPlugins
from cos.core.postgres.database import Database
from cos.core.questions import meant_answer, numbered
from cos.core.skills.shelf import SkillShelf
from cos.core.tools.clarify import clarify_tool
from cos.core.tools.installed import installed_tools
from tests.agent_bench import tool
from tests.tool_context import RecordingContext, new_turn

ANSWERED = ApprovalAnswer(decision="answered", answer="Red", answered_by="tui")


async def asked(args: dict[str, Any], answer: ApprovalAnswer = ANSWERED) -> tuple[ToolOutcome, RecordingContext]:
    context = RecordingContext(Path("/w"), answer=answer)
    return await clarify_tool().run(args, new_turn(), context), context


async def test_the_result_has_the_keys_of_hermes() -> None:
    outcome, context = await asked({"question": " Which colour?\n", "choices": ["Red", " Dark\nblue ", "", "Red"]})
    assert context.asked == [("Which colour?", ("Red", "Dark blue"))]
    assert isinstance(outcome, ToolOk)
    assert json.loads(outcome.content) == {
        "question": "Which colour?", "choices_offered": ["Red", "Dark blue"], "user_response": "Red",
    }  # fmt: skip


async def test_an_open_question_offers_nothing() -> None:
    outcome, context = await asked({"question": "Why?"})
    assert context.asked == [("Why?", ())]
    assert json.loads(outcome.content)["choices_offered"] is None


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (ApprovalAnswer(decision="denied", answered_by="tui"), ToolCallStatus.DENIED, "the user declined"),
        (ApprovalAnswer(decision="denied", reason="not now"), ToolCallStatus.DENIED, "word for word: not now"),
        (ApprovalAnswer(decision="expired"), ToolCallStatus.EXPIRED, "nobody answered in time"),
    ],
)
async def test_no_answer_is_told_as_none(answer: ApprovalAnswer, status: ToolCallStatus, words: str) -> None:
    outcome, _ = await asked({"question": "Which?", "choices": ["Red"]}, answer)
    assert isinstance(outcome, ToolError)
    assert outcome.status is status
    assert outcome.content.startswith("No answer") and words in outcome.content
    assert "user_response" not in outcome.content and "Red" not in outcome.content


@pytest.mark.parametrize(
    "args",
    [{}, {"question": ""}, {"question": "Q", "choices": list("abcde")}, {"question": "Q", "choices": [1]}],
)
def test_wrong_arguments_are_named(args: dict[str, Any]) -> None:
    assert schema_errors(clarify_tool().schema, args)


def test_a_blank_question_is_refused_before_anybody_is_asked() -> None:
    clarify = clarify_tool()
    assert clarify.describe is not None
    assert clarify.describe({"question": " \n"}, new_turn(), Path("/w")).refusal
    shown = clarify.describe({"question": "Which?\nSay.", "choices": ["a", "b"]}, new_turn(), Path("/w"))
    assert (shown.title, shown.detail, shown.refusal) == ("Which?", "Which?\nSay.\n  1. a\n  2. b", None)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (" 2 ", "blue"),
        ("1", "7"),
        ("7", "7"),
        ("0", "0"),
        ("3", "3"),
        ("²", "²"),
        ("02", "02"),
        (" a b\n", "a b"),
        ("", ""),
    ],
)
def test_a_number_means_its_choice_and_anything_else_itself(typed: str, meant: str) -> None:
    assert meant_answer(typed, ["7", "blue"]) == meant


def test_where_choices_name_dollars_a_number_is_an_amount_and_a_letter_a_choice() -> None:
    choices = ["Allow $1.0000 more", "Stop the turn"]
    assert numbered("Q", choices) == "Q\n  a. Allow $1.0000 more\n  b. Stop the turn"
    assert [meant_answer(typed, choices) for typed in ("1", "b")] == ["1", "Stop the turn"]


def test_without_choices_a_number_is_a_number() -> None:
    assert meant_answer("1", ()) == "1"
    assert numbered("Q", ()) == "Q"


def test_every_profile_has_it_and_a_plugin_cannot_take_its_name() -> None:
    database, skills = Database(""), SkillShelf({})
    own = ["clarify", "delegate_task", "skill_view", "skills_list", "session_search"]
    assert list(installed_tools(LoadedPlugins(), database, skills)) == own
    loaded = LoadedPlugins({"mine": Registrations(tools=[tool("clarify")])})
    with pytest.raises(PluginError, match="plugin mine offers the tool clarify, which is cos' own"):
        installed_tools(loaded, database, skills)
