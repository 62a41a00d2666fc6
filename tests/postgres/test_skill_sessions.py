"""Skills in sessions: the frozen index, the slash commands of a profile, and what the model is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from cos.agent.messages import Message, UserMessage
from cos.agent.provider import StreamStarted
from cos.agent.providers.scripted import MODEL, called, said
from cos.cli.running_core import Core
from cos.core.commands import Command, CommandAnswer, CommandCall
from cos.core.errors import CommandError, SkillError
from cos.core.inbound import Accepted, Inbound
from tests.core_bench import core_bench
from tests.fix_home import CoreHome, asked

TONE = "---\nname: tone\ndescription: Changes the tone.\n---\nWrite it again, {how}.\n"


async def typed(core: Core, text: str, profile: str = "home") -> Accepted:
    return await core.dispatcher.dispatch(Inbound(text=text, profile_id=profile, source="cli"))


def sent(messages: Sequence[Message]) -> UserMessage:
    message = messages[-1]
    assert isinstance(message, UserMessage)
    return message


async def test_the_index_is_frozen_and_the_tool_reads_what_is_there_now(core_home: CoreHome) -> None:
    core_home.write_skill("tone", TONE.format(how="kindly"))
    view = called(("c1", "skill_view", {"name": "tone"}))
    provider = core_home.script(said("one"), view, said("two"), said("three"))
    core = await core_home.open()
    first = await asked(core, "hello")
    core_home.write_skill("tone", TONE.format(how="firmly"))
    core_home.write_skill("late", TONE.format(how="x").replace("tone", "late", 1))
    await asked(core, "again", first.turn.session_id)
    await asked(core, "in a new session")
    systems = [request.prompt.system for request in provider.requests]
    assert systems[0] == systems[1] == systems[2]
    assert "- tone: Changes the tone." in systems[0] and "late" not in systems[0]
    assert "- late: Changes the tone.\n- tone: Changes the tone." in systems[3]
    assert provider.requests[2].messages[-1].model_dump()["content"] == "Write it again, firmly."


async def test_a_model_that_cannot_read_skills_is_not_told_of_them(core_home: CoreHome) -> None:
    core_home.write_skill("tone", TONE.format(how="kindly"))
    core_home.write_profile("home", 'provider = "mock"\ntools = ["clarify"]\n')
    provider = core_home.script(said("one"))
    await asked(await core_home.open(), "hello")
    assert "tone" not in provider.requests[0].prompt.system


async def test_a_skill_is_a_command_that_begins_a_session_and_shows_what_was_typed(core_home: CoreHome) -> None:
    core_home.write_skill("tone", TONE.format(how="kindly"))
    provider = core_home.script(said("one"), said("two"))
    core = await core_home.open()
    done = await asked(core, "/tone  Dear Sir,\nno.")
    message = sent(provider.requests[0].messages)
    assert message.text == "/tone  Dear Sir,\nno."
    assert message.context is not None and message.context.endswith("instructions:\n\nWrite it again, kindly.")
    session = await core.sessions.get(done.turn.session_id)
    assert session.title == "/tone Dear Sir, no."
    assert (await core.dispatcher._journal.load_history(session.id))[0] == message
    core_home.write_skill("tone", TONE.format(how="firmly"))
    while core.dispatcher.running(session.id):
        await asyncio.sleep(0.002)
    await core.dispatcher.retry(session.id)
    while len(provider.requests) < 2:
        await asyncio.sleep(0.002)
    assert "firmly" in str(sent(provider.requests[1].messages).context)


async def test_several_skills_may_stand_before_the_text(core_home: CoreHome) -> None:
    for name in ("tone", "b", "c", "d", "e", "f"):
        core_home.write_skill(name, TONE.format(how=f"as {name} says").replace("tone", name, 1))
    provider = core_home.script(said("one"))
    core = await core_home.open()
    await asked(core, "/tone /b\n/tone /nothing text")
    message = sent(provider.requests[0].messages)
    assert message.text == "/tone /b\n/tone /nothing text"
    assert message.context == (
        "The message begins with the names of skills, /tone /b: the user wants their instructions followed now, on "
        "what stands behind. These are the instructions of /tone:\n\nWrite it again, as tone says.\n\n"
        "These are the instructions of /b:\n\nWrite it again, as b says."
    )
    with pytest.raises(SkillError, match="at most 5 skills; this one has 6"):
        await typed(core, "/tone /b /c /d /e /f text")


async def test_what_hooks_add_stands_behind_the_skill(core_home: CoreHome) -> None:
    core_home.write_skill("tone", TONE.format(how="kindly"))
    provider = core_home.script(said("one"))
    core = await core_home.open()
    core.dispatcher._gateway._hooks.register("pre_llm_call", lambda: "It is Monday.", source="p")
    done = await asked(core, "/tone x")
    context = sent(provider.requests[0].messages).context
    assert context is not None and context.endswith("Write it again, kindly.\n\nIt is Monday.")
    stored = await core.dispatcher._journal.load_history(done.turn.session_id)
    assert stored[0] == sent(provider.requests[0].messages)


async def test_each_profile_has_its_own_and_a_new_one_works_at_once(core_home: CoreHome) -> None:
    provider = core_home.script(said("one"))
    core = await core_home.open()
    with pytest.raises(CommandError, match="there is no command /tone"):
        await typed(core, "/tone x")
    core_home.write_skill("tone", TONE.format(how="kindly"))
    await asked(core, "/tone x")
    assert sent(provider.requests[0].messages).context
    with pytest.raises(CommandError, match="there is no command /tone"):
        await typed(core, "/tone x", "work")
    names = {profile: {it.name for it in core.dispatcher.commands.all(profile)} for profile in ("home", "work")}
    assert names["home"] - names["work"] == {"tone"}


async def test_a_command_of_the_same_name_keeps_its_meaning_and_it_is_said(core_home: CoreHome) -> None:
    for name in ("undo", "theme", "greet"):
        core_home.write_skill(name, TONE.format(how="x").replace("tone", name, 1))
    (core_home.folder / "plugins").mkdir()
    (core_home.folder / "plugins" / "hello.py").write_text(
        "def register(ctx):\n    ctx.register_command('greet', lambda text: f'hello {text}', 'greets')\n"
    )
    (core_home.folder / "commonos.toml").write_text('plugins = ["hello"]\n')
    core = await core_home.open()
    answer = (await typed(core, "/greet you")).command
    assert answer is not None and answer.text == "hello you"
    with pytest.raises(CommandError, match="/undo works on a session"):
        await typed(core, "/undo")
    with pytest.raises(CommandError, match="there is no command /theme"):
        await typed(core, "/theme")
    said_at_start = await core.findings()
    assert [sentence.split(": ")[0] for sentence in said_at_start] == [
        "The skill greet has no slash command, because /greet is a command of hello",
        "The skill theme has no slash command, because /theme is a command of cos",
        "The skill undo has no slash command, because /undo is a command of cos",
    ]
    listed = (await typed(core, "/skills")).command
    assert listed is not None and said_at_start[0] in listed.text


async def test_H_093_broken_skills_are_said_at_the_start_and_stop_nothing(core_home: CoreHome) -> None:
    bad = core_home.write_skill("a", "---\nname: a\ndescription: Use when: asked\n---\nx\n")
    core_home.write_skill("b", "---\n")
    core_home.write_skill("tone", TONE.format(how="kindly"))
    provider = core_home.script(said("one"))
    core = await core_home.open()
    (finding,) = await core.findings()
    assert finding.startswith(f"Left out, a broken skill: {bad}, line 3: ")
    assert finding.endswith(" (2 in the profile home; /skills there lists them)")
    await asked(core, "hello")
    assert provider.requests[0].prompt.system.endswith("- tone: Changes the tone.")
    listed = (await typed(core, "/skills")).command
    assert listed is not None
    assert [line.split(":")[0] for line in listed.text.splitlines()] == [
        "tone  Changes the tone.", "Left out, a broken skill", "Left out, a broken skill",
    ]  # fmt: skip


async def test_a_new_session_begins_with_the_soul_that_is_there_now(core_home: CoreHome) -> None:
    soul = core_home.folder / "profiles" / "home" / "SOUL.md"
    soul.write_text("Be kind.")
    provider = core_home.script(*[said("x")] * 3)
    core = await core_home.open()
    first = await asked(core, "hello")
    soul.write_text("Be brief.")
    await asked(core, "again", first.turn.session_id)
    await asked(core, "new")
    assert [request.prompt.system[:9] for request in provider.requests] == ["Be kind.\n", "Be kind.\n", "Be brief."]


async def test_a_waiting_message_loses_its_skill_when_it_is_edited_into_another_message(
    core_url: str, tmp_path: Path
) -> None:
    async def run(call: CommandCall) -> CommandAnswer:
        return CommandAnswer(context="Be kind.")

    async with core_bench(core_url, tmp_path, [[StreamStarted(MODEL), "hang"]]) as core:
        core.dispatcher.commands.add(Command(name="tone", summary="", run=run, needs_session=False))
        session = (await core.send("first")).session_id
        assert session is not None
        waiting = (await core.send("/tone a", session)).message_id
        assert waiting is not None
        for text, context in (("/tone b", "Be kind."), ("hello", None), ("/tone c", None)):
            await core.queue.edit(waiting, text)
            (row,) = await core.sessions.queue(session)
            assert (row.text, row.message.context) == (text, context)
