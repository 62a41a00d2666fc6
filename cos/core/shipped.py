"""Where the files that ship with cos are: inside the wheel, or at the top of the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from cos.core.config_errors import FolderError

_PACKAGE = Path(__file__).resolve().parents[1]


def shipped(name: Literal["sql", "profiles"], *, package: Path = _PACKAGE) -> Path:
    """The folder `name` that came with this installation of the package `cos`.

    Raises:
        FolderError: the installation lacks it.
    """
    inside_wheel, repository = package / "_shipped" / name, package.parent
    if inside_wheel.is_dir():
        return inside_wheel
    # Beside an installed package lie other people's folders, so only a folder that is a repository counts.
    if (repository / "pyproject.toml").is_file() and (repository / name).is_dir():
        return repository / name
    raise FolderError(f"the folder {name}/ of cos is not at {inside_wheel}: this installation is broken, reinstall cos")
