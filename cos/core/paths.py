"""Where cos keeps things: the folder of settings and the folder of data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import platformdirs

from cos.core.config_errors import FolderError


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """The folders of one user. Both are absolute; neither need exist yet."""

    config_dir: Path
    data_dir: Path
    source: Literal["COS_HOME", "platform"]

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> Self:
        """`COS_HOME` for both folders, else the platform's own. A blank `COS_HOME` counts as not set.

        Raises:
            FolderError: there is no home folder to start from, or `COS_HOME` is no path.
        """
        home = env.get("COS_HOME", "").strip()
        if home:
            folder = _absolute(home)
            return cls(config_dir=folder, data_dir=folder, source="COS_HOME")
        config, data = platformdirs.user_config_path("cos"), platformdirs.user_data_path("cos")
        if not (config.is_absolute() and data.is_absolute()):
            raise FolderError("this user has no home folder: set COS_HOME to a folder that you may write to")
        return cls(config_dir=config, data_dir=data, source="platform")

    @property
    def config_file(self) -> Path:
        return self.config_dir / "commonos.toml"

    @property
    def profiles_dir(self) -> Path:
        return self.config_dir / "profiles"

    @property
    def plugins_dir(self) -> Path:
        return self.config_dir / "plugins"

    @property
    def log_file(self) -> Path:
        return self.data_dir / "cos.log"


def _absolute(home: str) -> Path:
    try:
        return Path(home).expanduser().absolute()
    except RuntimeError as error:
        raise FolderError(f"COS_HOME = {home!r}: no such home folder. Set COS_HOME to an absolute path") from error
