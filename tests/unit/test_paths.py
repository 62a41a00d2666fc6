"""The folders of a user, and the files that ship with cos."""

from pathlib import Path

import pytest

from cos.core.config_errors import FolderError
from cos.core.paths import Paths
from cos.core.shipped import shipped


def test_cos_home_holds_settings_and_data(tmp_path: Path) -> None:
    paths = Paths.from_environment({"COS_HOME": str(tmp_path)})
    assert (paths.config_dir, paths.data_dir, paths.source) == (tmp_path, tmp_path, "COS_HOME")
    assert paths.config_file == tmp_path / "commonos.toml"
    assert (paths.profiles_dir, paths.plugins_dir) == (tmp_path / "profiles", tmp_path / "plugins")
    assert paths.log_file == tmp_path / "cos.log"


def test_cos_home_may_be_relative_or_begin_with_a_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert Paths.from_environment({"COS_HOME": "~/c"}).data_dir == tmp_path / "c"
    assert Paths.from_environment({"COS_HOME": "c"}).data_dir == tmp_path / "c"


@pytest.mark.parametrize("env", [{}, {"COS_HOME": ""}, {"COS_HOME": "  "}])
def test_without_cos_home_the_platform_decides(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    paths = Paths.from_environment(env)
    assert paths.source == "platform"
    assert paths.config_dir.is_relative_to(tmp_path) and paths.data_dir.is_relative_to(tmp_path)


def test_unknown_home_folder_in_cos_home_is_a_clear_error() -> None:
    with pytest.raises(FolderError, match="COS_HOME = '~nobody-of-that-name/x'"):
        Paths.from_environment({"COS_HOME": "~nobody-of-that-name/x"})


def test_profiles_ship_with_the_repository() -> None:
    assert {item.name for item in shipped("profiles").iterdir()} == {"home", "work", "demo"}


def test_the_wheels_own_folder_wins_over_one_beside_it(tmp_path: Path) -> None:
    package = tmp_path / "cos"
    for folder in (package / "_shipped" / "sql", tmp_path / "sql"):
        folder.mkdir(parents=True)
    assert shipped("sql", package=package) == package / "_shipped" / "sql"


def test_a_strangers_folder_beside_the_package_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "sql").mkdir()
    with pytest.raises(FolderError, match="reinstall cos"):
        shipped("sql", package=tmp_path / "cos")
