"""`cos profiles`: the agents of this user, what each runs on, and what is wrong with one."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from typing import Any

from cos.agent.errors import CosError
from cos.cli.providers import build_provider
from cos.cli.table import table
from cos.core.config import load_config
from cos.core.effective import Flags, effective_base_url, effective_profile
from cos.core.first_start import install_shipped
from cos.core.masking import masked_url
from cos.core.paths import Paths
from cos.core.profiles import Profile, load_profile, profile_folders


def run(options: argparse.Namespace) -> int:
    """Exit code 0 when every profile can be read, else 1."""
    paths = Paths.from_environment(os.environ)
    install_shipped(paths)
    first = effective_profile(load_config(paths), os.environ, Flags()).value
    found: dict[str, Profile] = {}
    broken: dict[str, str] = {}
    for folder in profile_folders(paths):
        try:
            found[folder.name] = load_profile(folder, paths)
        except CosError as error:
            broken[folder.name] = str(error)
    objects = [_object(profile, is_first=profile.id == first) for profile in found.values()]
    if options.json:
        print(json.dumps({"profiles": objects, "broken": broken}, ensure_ascii=False))
    else:
        rows = [
            (
                "* " * it["default"] + it["id"],
                it["provider"],
                it["model"] or "",
                it["trouble"] and "no key",
                *_places(it),
            )
            for it in objects
        ]
        print(table(("PROFILE", "PROVIDER", "MODEL", "MISSING", "TAGS", "FOLDER"), rows))
        for sentence in [*(it["trouble"] for it in objects if it["trouble"]), *broken.values()]:
            print(sentence)
    return 1 if broken else 0


def _places(profile: dict[str, Any]) -> tuple[str, str]:
    return " ".join(profile["tags"]), profile["workspace"]


def _object(profile: Profile, *, is_first: bool) -> dict[str, Any]:
    """`trouble`: why its model cannot be called, empty when nothing is known against it."""
    provider, settings = build_provider(profile, os.environ), profile.settings
    asyncio.run(provider.close())
    return {
        "id": profile.id,
        "default": is_first,
        "provider": settings.provider,
        "model": settings.model,
        "base_url": masked_url(effective_base_url(profile, os.environ).value or "") or None,
        "tags": list(settings.tags),
        "workspace": str(profile.workspace),
        "folder": str(profile.folder),
        "trouble": provider.missing() or "",
    }
