"""`cos config`: every setting as it takes effect, with who set it. Secrets are never shown."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from cos.cli.table import table
from cos.core.checking import near_key
from cos.core.config import load_config
from cos.core.config_errors import ConfigError
from cos.core.effective import Flags, effective_profile, effective_values
from cos.core.first_start import install_shipped
from cos.core.paths import Paths
from cos.core.profiles import load_profiles, profile_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.core.effective import EffectiveValue


def run(options: argparse.Namespace) -> int:
    paths, flags = Paths.from_environment(os.environ), Flags(profile=options.profile)
    install_shipped(paths)
    config, profiles = load_config(paths), load_profiles(paths)
    wanted = effective_profile(config, os.environ, flags)
    profile = profile_named(profiles, wanted.value, asked_by=wanted.source)
    values = effective_values(config, profile, os.environ, flags)
    if options.key is not None:
        values = _named(options.key, values)
    if options.json:
        print(json.dumps([asdict(value) for value in values], ensure_ascii=False))
    else:
        print(
            table(
                ("KEY", "VALUE", "SOURCE"), [(it.key, it.value or "(not set)", it.source) for it in values], widest=72
            )
        )
    return 0


def _named(key: str, values: Sequence[EffectiveValue]) -> list[EffectiveValue]:
    """The value of `key`, or all of that table.

    Raises:
        ConfigError: there is none.
    """
    found = [value for value in values if value.key == key or value.key.startswith(f"{key}.")]
    if not found:
        keys = [value.key for value in values]
        raise ConfigError(f"there is no such setting. Settings: {', '.join(keys)}", key=key, near=near_key(key, keys))
    return found
