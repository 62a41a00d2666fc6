"""What the core lends to plugins: settings checked with file and line, the live feed, a database where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import BaseModel, ConfigDict

from cos.agent.events import Notice
from cos.core.config import Config, load_config
from cos.core.config_errors import ConfigError
from cos.core.errors import DatabaseError, SessionError
from cos.core.live import PluginEvent
from cos.core.paths import Paths
from cos.core.plugin_api import PluginContext, Registrations
from cos.core.plugin_host import PluginHost
from cos.core.plugins import LoadedPlugins
from tests.tool_context import new_turn


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    size: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened(PluginEvent):
    type: ClassVar[str] = "mine.happened"


def context(name: str, host: PluginHost | None = None, config: Config | None = None) -> PluginContext:
    return PluginContext(name, config.plugin_settings.get(name, {}) if config else {}, Registrations(), host)


def config_of(folder: Path, text: str) -> Config:
    (folder / "commonos.toml").write_text(text)
    return load_config(Paths.from_environment({"COS_HOME": str(folder)}))


def test_settings_of_a_plugin_are_checked_like_those_of_the_core(tmp_path: Path) -> None:
    config = config_of(tmp_path, 'plugins = ["mine"]\n\n[mine]\nsice = 4\n')
    with pytest.raises(ConfigError) as caught:
        context("mine", PluginHost(source=config.source), config).settings(Settings)
    assert str(caught.value).startswith(
        f"{tmp_path / 'commonos.toml'}, line 4: mine.sice = 4: unknown key. Did you mean"
    )
    assert (caught.value.key, caught.value.near) == ("mine.sice", "mine.size")
    assert context("mine", PluginHost(source=config.source)).settings(Settings).size == 3


def test_events_carry_the_name_of_their_plugin() -> None:
    published = list[object]()
    mine, other = (context(name, PluginHost(publish=published.append)) for name in ("mine", "other"))
    event, notice = Happened(turn=new_turn()), Notice(turn=new_turn(), level="info", text="hello")
    mine.publish(event)
    other.publish(notice)
    with pytest.raises(ValueError, match="must begin with 'other' and a dot"):
        other.publish(event)
    assert published == [event, notice]


def test_a_plugin_that_is_only_looked_at_has_no_database() -> None:
    lonely = context("mine")
    assert not lonely.has_database
    with pytest.raises(DatabaseError, match="plugin mine: no database is open here"):
        _ = lonely.database


async def test_without_a_core_there_is_no_frozen_context_and_no_session() -> None:
    lonely = context("mine")
    assert await lonely.frozen_context(new_turn().session_id) is None
    with pytest.raises(SessionError, match="there are no sessions here"):
        await lonely.find_session("0")


def test_what_a_plugin_offers_is_found_by_name_and_nothing_else_is() -> None:
    registered, service = Registrations(), object()
    PluginContext("mine", {}, registered).offer("thing", service)
    loaded = LoadedPlugins({"first": Registrations(), "mine": registered})
    assert loaded.offered("thing") is service
    assert loaded.offered("other") is None
