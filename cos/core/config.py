"""Reads commonos.toml: what holds for all profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cos.core.checking import checked
from cos.core.config_errors import ConfigError
from cos.core.masking import shown
from cos.core.paths import Paths
from cos.core.settings import RESERVED_TABLES, Settings
from cos.core.toml_source import TomlSource, read_toml


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """commonos.toml, checked."""

    paths: Paths
    settings: Settings
    plugin_settings: Mapping[str, Mapping[str, Any]] = field(repr=False)
    """The tables of the enabled plugins as they stand in the file; each plugin checks its own."""
    source: TomlSource = field(repr=False)


def load_config(paths: Paths) -> Config:
    """commonos.toml, or the defaults when there is none.

    Raises:
        ConfigError: the file cannot be read, or a key or value in it is wrong.
    """
    try:
        source = read_toml(paths.config_file)
    except FileNotFoundError:
        source = TomlSource(file=paths.config_file, text="", data={})
    plugin_names = _plugin_names(source.data)
    own = {key: value for key, value in source.data.items() if key not in plugin_names}
    settings = checked(Settings, source, own, tables=plugin_names)
    tables = {name: _plugin_table(source, name) for name in plugin_names if name in source.data}
    return Config(paths=paths, settings=settings, plugin_settings=tables, source=source)


def _plugin_names(data: Mapping[str, Any]) -> list[str]:
    """The enabled plugins as far as they can be told before the list is checked."""
    listed = data.get("plugins", Settings().plugins)
    names = listed if isinstance(listed, list | tuple) else ()
    return [name for name in names if isinstance(name, str) and name not in RESERVED_TABLES]


def _plugin_table(source: TomlSource, name: str) -> Mapping[str, Any]:
    table = source.data[name]
    if not isinstance(table, dict):
        raise ConfigError(
            f"the settings of the plugin {name} must be a table: begin it with [{name}]",
            file=source.file,
            line=source.line_of((name,)),
            key=name,
            value=shown(name, table),
        )
    return table
