"""Finds the skills of a profile: `skills/[category/]<name>/SKILL.md`. One that cannot be used stops nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cos.core.config_errors import ConfigError, FolderError
from cos.core.skills.files import linked_files
from cos.core.skills.skill import FILE_NAME, MOST_CHARACTERS, Skill, is_plain, parse_skill

MOST_BYTES: Final = 4 * MOST_CHARACTERS


@dataclass(frozen=True, slots=True)
class SkillSet:
    """What the skills folder of a profile held when it was read."""

    skills: Mapping[str, Skill] = field(default_factory=dict)
    """By name, sorted."""
    broken: tuple[ConfigError, ...] = ()
    """Why others are none, each with its file and, where there is one, the line."""


def load_skills(profile_folder: Path) -> SkillSet:
    """Read every skill of a profile. Never raises: what is wrong is among the `broken`."""
    root = profile_folder / "skills"
    found: dict[str, Skill] = {}
    broken: list[ConfigError] = []
    try:
        places = list(_places(root))
    except OSError as error:
        return SkillSet(broken=(FolderError(f"cannot be read: {error.strerror}", file=root),))
    for folder, category in places:
        try:
            skill = _load(folder, category, profile_folder)
            _check_names(skill, folder)
            if skill.name in found:
                first = found[skill.name].file
                raise ConfigError("is the name of another skill too", file=skill.file, key="name", value=str(first))
            found[skill.name] = skill
        except ConfigError as error:
            broken.append(error)
    return SkillSet(dict(sorted(found.items())), tuple(broken))


def _places(root: Path) -> Iterator[tuple[Path, str | None]]:
    """Folders that are meant as skills, each with its category, sorted."""
    for folder in _folders(root):
        # A link that leads nowhere is no category: why it is no skill is said where it is loaded.
        below = [] if _has_skill(folder) or not folder.is_dir() else _folders(folder)
        if any(_has_skill(item) for item in below):
            yield from ((item, folder.name) for item in below)
        else:
            yield folder, None


def _folders(parent: Path) -> list[Path]:
    if not os.path.lexists(parent):
        return []
    return sorted(item for item in parent.iterdir() if not item.name.startswith(".") and _is_folder(item))


def _is_folder(item: Path) -> bool:
    return item.is_dir() or (item.is_symlink() and not item.is_file())


def _has_skill(folder: Path) -> bool:
    return os.path.lexists(folder / FILE_NAME)


def _check_names(skill: Skill, folder: Path) -> None:
    """The model reads the names of a skill's files and of its category, one to a line."""
    for name in (skill.category or "", *linked_files(skill)):
        if not is_plain(name):
            file = folder.parent if name == skill.category else folder / name
            problem = "has a line break or a hidden character in its name, which a model would take for text: rename it"
            raise FolderError(problem, file=file)


def _load(folder: Path, category: str | None, profile_folder: Path) -> Skill:
    file = folder / FILE_NAME
    try:
        real = file.resolve(strict=True)
        if not real.is_relative_to(profile_folder.resolve() / "skills"):
            raise FolderError("leads out of the skills folder, which is not followed: move the skill here", file=file)
        if not real.is_file():
            raise FolderError("is no file", file=file)
        with real.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise FolderError(f"there is no {FILE_NAME} in this folder, so it is no skill", file=folder) from error
    except (OSError, RuntimeError) as error:
        raise FolderError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=file) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(data) <= MOST_BYTES:
            line = data.count(b"\n", 0, error.start) + 1
            raise ConfigError("is not UTF-8 text: save the file as UTF-8", file=file, line=line) from error
        text = ""
    if len(data) > MOST_BYTES or len(text) > MOST_CHARACTERS:
        raise ConfigError(f"is too long for a skill: at most {MOST_CHARACTERS:,} characters are read", file=file)
    return parse_skill(text, file, real.parent, category)
