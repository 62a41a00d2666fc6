"""`cos skills`: lists the skills of every profile and checks them."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any

from cos.agent.text import visible
from cos.core.commands import Commands
from cos.core.first_start import install_shipped
from cos.core.paths import Paths
from cos.core.profiles import load_profiles, profile_named
from cos.core.skills.commands import shadowed, skill_lines
from cos.core.skills.folder import load_skills

if TYPE_CHECKING:
    from cos.core.skills.folder import SkillSet


def run(options: argparse.Namespace) -> int:
    """Exit code 0 when every skill can be used, else 1."""
    paths = Paths.from_environment(os.environ)
    install_shipped(paths)
    profiles = load_profiles(paths)
    if options.profile is not None:
        profiles = {options.profile: profile_named(profiles, options.profile, asked_by="flag --profile")}
    found = {name: load_skills(profile.folder) for name, profile in profiles.items()}
    if options.json:
        print(json.dumps({name: _json(skills) for name, skills in found.items()}, ensure_ascii=False))
    else:
        print("\n".join(line for name, skills in found.items() for line in _lines(name, skills)))
    return 1 if any(skills.broken for skills in found.values()) else 0


def _lines(profile: str, found: SkillSet) -> list[str]:
    lines = [*skill_lines(found), *shadowed(found, Commands())] or ["no skills"]
    return [profile, *(f"  {visible(line)}" for line in lines)]


def _json(found: SkillSet) -> dict[str, Any]:
    return {
        "skills": [
            {"name": it.name, "description": it.description, "category": it.category, "file": str(it.file)}
            for it in found.skills.values()
        ],
        "broken": [{"file": str(it.file), "line": it.line, "problem": str(it)} for it in found.broken],
        "warnings": shadowed(found, Commands()),
    }
