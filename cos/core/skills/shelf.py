"""The skills of every profile, read from disk when they are needed, and what is said of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from cos.core.config_errors import nearest
from cos.core.errors import SkillError
from cos.core.skills.files import linked_files
from cos.core.skills.folder import SkillSet, load_skills

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cos.core.skills.skill import Skill

VIEW: Final = "skill_view"
_INDEX: Final = f"""\
Skills are instructions that the user keeps for certain tasks. Before you begin a task that one of these fits, read it \
with `{VIEW}` and follow it; do not guess what stands in it.
"""


class SkillShelf:
    """By profile."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        """`folders`: the profiles' own folders."""
        self._folders = folders
        self._last: dict[str, SkillSet] = {}

    @property
    def profiles(self) -> list[str]:
        return list(self._folders)

    async def read(self, profile_id: str) -> SkillSet:
        """As they are on disk now."""
        self._last[profile_id] = await asyncio.to_thread(load_skills, self._folders[profile_id])
        return self._last[profile_id]

    def last(self, profile_id: str) -> SkillSet:
        """As they were when they were last read; none when they never were."""
        return self._last.get(profile_id, SkillSet())

    async def find(self, profile_id: str, name: str) -> Skill:
        """
        Raises:
            SkillError: there is no such skill, or it is broken.
        """
        found = (await self.read(profile_id)).skills
        if name not in found:
            near = nearest(name, found)
            hint = f"Did you mean {near}?" if near else f"Skills: {', '.join(found) or 'none'}"
            raise SkillError(f"there is no skill {name[:80]!r} in the profile {profile_id}. {hint}")
        return found[name]


def skills_index(found: SkillSet) -> str:
    """The text for the frozen context: every name with its whole description. Empty when there is no skill."""
    if not found.skills:
        return ""
    return "\n".join([_INDEX, *(f"- {skill.name}: {skill.description}" for skill in found.skills.values())])


def whole_text(skill: Skill) -> str:
    """A skill as the model reads it: the instructions, then the names of its files."""
    files = linked_files(skill)
    if not files:
        return skill.body
    listed = "\n".join(f"- {name}" for name in files)
    return f"{skill.body}\n\nFiles of this skill, which `{VIEW}` with `file_path` reads:\n{listed}"
