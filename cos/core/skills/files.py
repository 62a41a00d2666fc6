"""The files that belong to a skill besides its SKILL.md: only those inside its folder, by their real paths."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cos.agent.text import storable, visible
from cos.core.errors import SkillError
from cos.core.skills.skill import FILE_NAME

if TYPE_CHECKING:
    from cos.core.skills.skill import Skill

MOST_BYTES: Final = 1_048_576
"""Of a linked file, as in Hermes. What the model gets of it is bounded further, as every result of a tool."""
_MOST_LISTED: Final = 100


def linked_files(skill: Skill) -> list[str]:
    """Paths inside the skill's folder, sorted, hidden ones and links left out; at most 100."""
    found: list[str] = []
    for folder, folders, files in os.walk(skill.folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = Path(folder)
        paths = (here / name for name in sorted(files) if not name.startswith("."))
        names = (path.relative_to(skill.folder).as_posix() for path in paths if not path.is_symlink())
        found += [name for name in names if name != FILE_NAME]
        if len(found) >= _MOST_LISTED:
            break
    return found[:_MOST_LISTED]


def read_linked(skill: Skill, file_path: str) -> str:
    """The text of a file inside the skill's folder.

    Raises:
        SkillError: it leads out of the folder, is not there, is too large or no text. Never holds text of the file.
    """
    shown = repr(visible(file_path))[:200]
    try:
        real = (skill.folder / file_path).resolve()
        if not real.is_relative_to(skill.folder):
            raise SkillError(f"{shown} leads out of the folder of the skill {skill.name}")
        if not real.is_file():
            known = ", ".join(linked_files(skill)) or "none"
            raise SkillError(f"the skill {skill.name} has no file {shown}. Its files: {known}")
        with real.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        raise SkillError(f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > MOST_BYTES:
        raise SkillError(f"{shown} is larger than {MOST_BYTES:,} bytes, the most that is read")
    try:
        return storable(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise SkillError(f"{shown} is no UTF-8 text") from None
