"""The profiles in the order in which they are offered: what can work comes first, and what lacks a key is marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cos.agent.provider import Provider


def next_profile(providers: Mapping[str, Provider], current: str) -> str:
    """The one after `current` by name; those that lack nothing are gone round first."""
    names = sorted(providers)
    place = names.index(current)
    return min(
        names[place + 1 :] + names[: place + 1], key=lambda name: (name == current, bool(providers[name].missing()))
    )


def marked(providers: Mapping[str, Provider], name: str) -> str:
    """`home`, or `home (no key)`."""
    return f"{name} (no key)" if providers[name].missing() else name
