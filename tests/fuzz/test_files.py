"""Files that people edit: whatever is in them, reading ends with a value or with one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cos.agent.errors import CosError
from cos.agent.text import visible
from cos.core.config import load_config
from cos.core.paths import Paths
from cos.core.profiles import load_profiles
from cos.core.skills.folder import load_skills
from tests.fuzz.making import spoiled, tries

CONFIG = b"""
plugins = ["memory", "bill", "workspace"]
default_profile = "home"
[database]
url = "postgresql://me:HIDDENWORD@localhost/cos"
[approvals]
timeout_seconds = 300
[agent]
max_steps = 90
compact_at = 0.8
[delegation]
max_concurrent_children = 3
[memory]
write_approval = true
[bill]
timezone = "Europe/Berlin"
[[bill.budgets]]
tag = "client:acme"
period = "month"
limit_usd = 50
"""
PROFILE = b"""
provider = "anthropic"
model = "claude-sonnet-5-5"
base_url = "http://127.0.0.1:11434"
api_key_env = "ANTHROPIC_API_KEY"
tags = ["area:home"]
tools = ["read_file", "terminal"]
[approvals]
mode = "ask"
[[approvals.rules]]
tool = "terminal"
match = "git status"
decision = "allow"
"""
SKILL = b"---\nname: letter\ndescription: For letters.\n---\nWrite it.\n"


def is_sentence(error: CosError) -> bool:
    text = str(error)
    return bool(text) and text == visible(text) and "\n" not in text and "Traceback" not in text and len(text) < 3_000


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    (tmp_path / "profiles" / "home" / "skills" / "letter").mkdir(parents=True)
    return Paths(config_dir=tmp_path, data_dir=tmp_path, source="COS_HOME")


@tries(60)
@given(data=st.one_of(spoiled(CONFIG), st.binary(max_size=200)))
def test_any_commonos_toml(paths: Paths, data: bytes) -> None:
    paths.config_file.write_bytes(data)
    try:
        load_config(paths)
    except CosError as error:
        assert is_sentence(error), error
        assert "HIDDENWORD" not in str(error)


@tries(60)
@given(data=st.one_of(spoiled(PROFILE), st.binary(max_size=200)), soul=st.binary(max_size=60))
def test_any_profile(paths: Paths, data: bytes, soul: bytes) -> None:
    folder = paths.profiles_dir / "home"
    (folder / "config.toml").write_bytes(data)
    (folder / "SOUL.md").write_bytes(soul)
    try:
        load_profiles(paths)
    except CosError as error:
        assert is_sentence(error), error


@tries(60)
@given(data=st.one_of(spoiled(SKILL), st.binary(max_size=200)))
def test_any_skill(paths: Paths, data: bytes) -> None:
    folder = paths.profiles_dir / "home"
    (folder / "skills" / "letter" / "SKILL.md").write_bytes(data)
    found = load_skills(folder)
    assert len(found.skills) + len(found.broken) == 1, "nothing is passed over silently"
    assert all(is_sentence(error) for error in found.broken), found.broken
