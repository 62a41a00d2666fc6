"""`/context`: the exact parts of what the model gets, their sizes, and what is stale."""

from __future__ import annotations

import re
from dataclasses import replace
from uuid import UUID

import pytest

from cos.agent.events import Usage
from cos.agent.providers.scripted import called, said
from cos.agent.tokens import estimated_tokens
from cos.cli.running_core import Core
from cos.core.errors import CommandError
from cos.core.inbound import Inbound
from tests.fix_home import CoreHome, asked

PLUGIN = """
text = ["Remember the milk."]
def register(ctx):
    ctx.register_context(lambda profile: text[0])
    ctx.register_command("forget", lambda argument: text.__setitem__(0, argument), "changes what is remembered")
"""
SKILL = "---\nname: tone\ndescription: Changes the tone.\n---\nWrite it again.\n"


async def shown(core: Core, text: str = "/context", session: UUID | None = None) -> str:
    inbound = Inbound(text=text, profile_id="home", source="cli", session_id=session)
    answer = (await core.dispatcher.dispatch(inbound)).command
    assert answer is not None
    return answer.text


def rows(text: str) -> dict[str, str]:
    """What stands behind each name."""
    return dict(re.findall(r"^ *(\S.{0,17}?) +(~[\d,]+(?:  .*)?)$", text, re.MULTILINE))


@pytest.fixture
def home(core_home: CoreHome) -> CoreHome:
    (core_home.folder / "profiles" / "home" / "SOUL.md").write_text("Be kind.")
    folder = core_home.folder / "profiles" / "home" / "skills" / "tone"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (core_home.folder / "plugins").mkdir()
    (core_home.folder / "plugins" / "milk.py").write_text(PLUGIN)
    (core_home.folder / "commonos.toml").write_text('plugins = ["milk", "workspace"]\n')
    return core_home


async def test_before_the_first_message_it_says_what_the_session_will_begin_with(home: CoreHome) -> None:
    core = await home.open()
    found = rows(await shown(core))
    assert found["System prompt"].endswith("not frozen yet")
    assert found["SOUL.md"] == "~2" == f"~{estimated_tokens('Be kind.')}"
    assert {"folder and date", "skills", "plugin milk", "Tools, 10"} <= set(found)
    assert found["History"] == "~0  0 messages"
    assert await core.database.fetch(b"SELECT id FROM sessions") == []


async def test_it_shows_word_for_word_what_the_model_got(home: CoreHome) -> None:
    provider = home.script(said("x"))
    core = await home.open()
    session = (await asked(core, "hello")).turn.session_id
    system = provider.requests[0].prompt.system
    assert await shown(core, "/context system prompt", session) == system
    names = ["SOUL.md", "folder and date", "skills", "plugin milk"]
    assert "\n\n".join([await shown(core, f"/context {name}", session) for name in names]) == system
    assert await shown(core, "/context milk", session) == "Remember the milk."
    assert '"input_schema"' in await shown(core, "/context terminal", session)
    with pytest.raises(CommandError, match=r"the context has no part 'nonsense'; there are SOUL\.md, folder and date"):
        await shown(core, "/context nonsense", session)


async def test_sizes_add_up_and_the_count_of_the_provider_stands_beside_the_estimate(home: CoreHome) -> None:
    used = Usage(input_tokens=41_000, output_tokens=59)
    call = called(("c1", "read_file", {"path": "none"}))
    home.script(call, replace(said("y" * 400), usage=used))
    core = await home.open()
    session = (await asked(core, "h" * 40)).turn.session_id
    text = await shown(core, session=session)
    found = rows(text)
    assert found["your messages"] == "~10"
    assert found["History"].endswith("4 messages")
    sizes = {name: int(row.split()[0][1:].replace(",", "")) for name, row in found.items()}
    assert sizes["History"] == sizes["your messages"] + sizes["replies"] + sizes["tool results"]
    assert sizes["System prompt"] == sum(
        sizes[name] for name in ("SOUL.md", "folder and date", "skills", "plugin milk")
    )
    total = sizes["System prompt"] + sizes["Tools, 10"] + sizes["History"]
    assert f"Together ~{total:,} tokens of the 200,000 that mock-1 takes." in text
    assert "The last model call counted 41,059 (21%)" in text
    assert "Stale" not in text and "since" not in text
    assert "~: tokens, estimated from the length" in text


async def test_H_089_what_changed_since_the_session_began_is_said_part_by_part(home: CoreHome) -> None:
    home.script(said("x"))
    core = await home.open()
    session = (await asked(core, "hello")).turn.session_id
    (home.folder / "profiles" / "home" / "SOUL.md").write_text("Be brief.")
    (home.folder / "profiles" / "home" / "skills" / "tone" / "SKILL.md").unlink()
    await shown(core, "/forget something else")
    text = await shown(core, session=session)
    found = rows(text)
    assert found["SOUL.md"].endswith("changed since")
    assert found["skills"].endswith("gone since")
    assert found["plugin milk"].endswith("changed since")
    assert "since" not in found["folder and date"]
    assert "Stale: what changed since reaches new sessions only; /new begins one." in text
    assert await shown(core, "/context SOUL.md", session) == "Be kind."
    assert await shown(core, "/context SOUL.md") == "Be brief."
    await core.close()
    home.write_profile("home", 'provider = "mock"\ntools = ["read_file", "clarify"]\n')
    text = await shown(await home.open(), session=session)
    assert rows(text)["Tools, 10"].endswith("changed since")
    changed = "delegate_task, patch, search_files, session_search, skill_view, skills_list, terminal, write_file"
    assert f"changed, new or gone: {changed}" in " ".join(text.split())


async def test_a_part_that_is_new_is_said(home: CoreHome) -> None:
    skill = home.folder / "profiles" / "home" / "skills" / "tone" / "SKILL.md"
    skill.unlink()
    home.script(said("x"))
    core = await home.open()
    session = (await asked(core, "hello")).turn.session_id
    skill.write_text(SKILL)
    assert rows(await shown(core, session=session))["skills"].endswith("new since")


async def test_of_a_session_from_before_the_parts_were_stored_the_whole_prompt_is_shown(home: CoreHome) -> None:
    home.script(said("x"))
    core = await home.open()
    session = (await asked(core, "hello")).turn.session_id
    await core.database.fetch(
        b"UPDATE sessions SET frozen_prompt = (frozen_prompt::jsonb - 'parts')::json RETURNING id"
    )
    text = await shown(core, session=session)
    assert "  system prompt" in text and "SOUL.md" not in text
    assert (await shown(core, "/context system prompt", session)).startswith("Be kind.\n\nYou work in")


async def test_after_a_compaction_the_summary_is_the_history(home: CoreHome) -> None:
    home.script(said("x"), said("All about ducks."))
    core = await home.open()
    session = (await asked(core, "hello")).turn.session_id
    await asked(core, "/compact", session)
    text = await shown(core, session=session)
    assert rows(text)["History"].endswith("1 messages")
    assert "summary" in rows(text)
    assert "No model has counted them yet." in text


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("日本語", 3), ("日本語abcd", 4), ("ä" * 8, 2)]
)
def test_the_estimate(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens
