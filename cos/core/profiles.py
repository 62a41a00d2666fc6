"""Profiles: the folders under profiles/, each an agent with its settings and its SOUL.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cos.agent.text import storable
from cos.core.checking import checked
from cos.core.config_errors import ConfigError, FolderError, ProfileError, nearest
from cos.core.paths import Paths
from cos.core.settings import ProfileSettings
from cos.core.toml_source import read_text, read_toml

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One agent of the user."""

    id: str
    folder: Path
    config_file: Path
    settings: ProfileSettings
    workspace: Path
    """Absolute; may not exist before `open_workspace`."""


def load_profiles(paths: Paths) -> dict[str, Profile]:
    """Every folder with a config.toml under the profiles folder, by id, sorted. Empty when there is no such folder.

    Raises:
        ProfileError: a folder's name is no profile id, or it leads out of the profiles folder.
        ConfigError: a profile's files cannot be read, or a key or value in them is wrong.
    """
    return {folder.name: load_profile(folder, paths) for folder in profile_folders(paths)}


def profile_folders(paths: Paths) -> list[Path]:
    """The folders that `load_profiles` reads, sorted.

    Raises:
        FolderError: the profiles folder cannot be read.
    """
    try:
        return sorted(item for item in paths.profiles_dir.iterdir() if _is_there(item / "config.toml"))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FolderError(
            f"cannot be read as a folder of profiles: {error.strerror}", file=paths.profiles_dir
        ) from error


def load_profile(folder: Path, paths: Paths) -> Profile:
    """One profile; errors as in `load_profiles`."""
    if not _ID.fullmatch(folder.name):
        raise ProfileError(
            f"{folder.name!r} is no profile id: rename the folder. An id takes lower-case letters, digits, _ and -, "
            "begins with a letter or digit and has at most 64 characters",
            file=folder,
        )
    if not folder.resolve().is_relative_to(paths.profiles_dir.resolve()):
        raise ProfileError(
            f"leads out of the profiles folder, to {folder.resolve()}: move the folder here", file=folder
        )
    config_file = folder / "config.toml"
    settings = load_settings(config_file)
    read_soul(folder)
    return Profile(
        id=folder.name,
        folder=folder,
        config_file=config_file,
        settings=settings,
        workspace=settings.workspace or paths.data_dir / "workspaces" / folder.name,
    )


def profile_named(profiles: Mapping[str, Profile], name: str, *, asked_by: str = "") -> Profile:
    """The profile `name`; `asked_by` tells the user where the name came from, such as "COS_PROFILE".

    Raises:
        ProfileError: there is none; the error holds the near match and all names.
    """
    if name in profiles:
        return profiles[name]
    origin = f" (named by {asked_by})" if asked_by else ""
    having = f"Profiles: {', '.join(profiles)}" if profiles else "There are no profiles: add one to the profiles folder"
    raise ProfileError(
        f"there is no profile {name!r}{origin}. {having}", allowed=profiles, near=nearest(name, profiles)
    )


def open_workspace(profile: Profile) -> Path:
    """The real path of the profile's workspace. Only the default folder is created; a named one must be there.

    Raises:
        ConfigError: it is missing, is no folder or cannot be created.
    """
    is_default = profile.settings.workspace is None
    try:
        if is_default:
            profile.workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
        real = profile.workspace.resolve(strict=True)
    except OSError as error:
        hint = (
            "Set COS_HOME to a folder that you may write to" if is_default else "Create the folder or change the path"
        )
        raise _workspace_error(profile, f"{error.strerror}. {hint}") from error
    if not real.is_dir():
        raise _workspace_error(profile, "is not a folder. Name a folder")
    return real


def _is_there(file: Path) -> bool:
    """Also a link that leads nowhere: reading it fails loudly, where a profile that is skipped would be missed."""
    return file.exists() or file.is_symlink()


def _workspace_error(profile: Profile, problem: str) -> ConfigError:
    return ConfigError(problem, file=profile.config_file, key="workspace", value=str(profile.workspace))


def load_settings(config_file: Path) -> ProfileSettings:
    """The settings of one profile.

    Raises:
        FileNotFoundError: there is no such file.
        ConfigError: it cannot be read, or a key or value in it is wrong.
    """
    source = read_toml(config_file)
    settings = checked(ProfileSettings, source, source.data)
    if settings.provider == "anthropic" and settings.model is None:
        raise ConfigError(
            'this key is missing: the provider anthropic needs one, such as model = "claude-sonnet-5-5"',
            file=config_file,
            key="model",
        )
    return settings


def read_soul(folder: Path) -> str:
    """SOUL.md of the profile in `folder`, which its agent's system prompt begins with; empty when there is none.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return storable(read_text(folder / "SOUL.md")).strip()
    except FileNotFoundError:
        return ""
