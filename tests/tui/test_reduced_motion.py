"""Reduced motion: by environment at once, by commonos.toml once the core is there."""

from __future__ import annotations

import pytest

from cos.core.config import load_config
from cos.core.config_errors import ConfigError
from cos.core.effective import effective_reduced_motion
from cos.core.paths import Paths
from cos.tui.app import CosApp, Opening
from cos.tui.motion import CALM_FRAME_SECONDS
from tests.fix_home import CoreHome
from tests.tui.chat import chat_in


async def test_the_setting_calms_the_screen(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text("[tui]\nreduced_motion = true\n")
    async with chat_in(core_home) as chat:
        assert chat.app.animation_level == "none"
        assert chat.main.conversation.least_frame_seconds == CALM_FRAME_SECONDS
        assert not chat.main.composer.cursor_blink


async def test_the_environment_calms_the_first_picture(core_home: CoreHome) -> None:
    app = CosApp(Opening(open_core=core_home.open, reduced_motion=True))
    async with app.run_test() as pilot:
        while app.animation_level != "none":
            await pilot.pause()


@pytest.mark.parametrize(
    ("variable", "setting", "expected"), [("", True, True), ("0", True, False), ("YES", False, True)]
)
def test_the_environment_comes_before_the_file(
    core_home: CoreHome, variable: str, setting: bool, expected: bool
) -> None:
    (core_home.folder / "commonos.toml").write_text(f"[tui]\nreduced_motion = {str(setting).lower()}\n")
    config = load_config(Paths.from_environment(core_home.env))
    assert effective_reduced_motion(config, {"COS_REDUCED_MOTION": variable}).value is expected


def test_a_value_that_is_neither_on_nor_off_is_refused(core_home: CoreHome) -> None:
    config = load_config(Paths.from_environment(core_home.env))
    with pytest.raises(ConfigError, match="must be 1 or 0"):
        effective_reduced_motion(config, {"COS_REDUCED_MOTION": "maybe"})
