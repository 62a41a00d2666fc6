"""Profiles: reading them, refusing wrong ones, the first start, and the API key."""

import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cos.core.api_keys import ApiKey, MissingKey, api_key
from cos.core.config import load_config
from cos.core.config_errors import ConfigError, FolderError, ProfileError
from cos.core.effective import Flags, effective_values
from cos.core.first_start import install_shipped
from cos.core.paths import Paths
from cos.core.profiles import Profile, load_profiles, open_workspace, profile_named, read_soul
from cos.core.settings import Settings

ANTHROPIC = 'provider = "anthropic"\nmodel = "m"\n'


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.from_environment({"COS_HOME": str(tmp_path / "cos")})


def write(paths: Paths, text: str, name: str = "home") -> Path:
    folder = paths.profiles_dir / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)
    return folder


def one(paths: Paths, text: str) -> Profile:
    write(paths, text)
    return load_profiles(paths)["home"]


def test_profile_has_its_settings_soul_and_defaults(paths: Paths) -> None:
    (write(paths, ANTHROPIC + 'tags = ["area:home"]') / "SOUL.md").write_text("\nBe kind.\x00\n")
    profile = load_profiles(paths)["home"]
    assert read_soul(profile.folder) == "Be kind.\ufffd"
    assert profile.settings.tags == ("area:home",)
    assert profile.workspace == paths.data_dir / "workspaces" / "home"
    settings = profile.settings
    assert (settings.api_key_env, settings.auth, settings.prompt_caching) == ("ANTHROPIC_API_KEY", "bearer", True)
    assert (settings.tools, settings.thinking, settings.approvals.mode) == (None, None, "ask")


def test_folder_without_config_is_no_profile_and_no_soul_is_empty(paths: Paths) -> None:
    write(paths, 'provider = "mock"', "b")
    write(paths, 'provider = "mock"', "a")
    (paths.profiles_dir / "notes").mkdir()
    profiles = load_profiles(paths)
    assert list(profiles) == ["a", "b"]
    assert read_soul(profiles["a"].folder) == ""


@pytest.mark.parametrize(
    ("text", "line", "key", "sentence"),
    [
        ("", None, "provider", "this key is missing"),
        ('provider = "anthropic"', None, "model", "this key is missing: the provider anthropic needs one"),
        ('provider = "antropic"', 1, "provider", "must be anthropic or mock. Did you mean anthropic?"),
        (ANTHROPIC + 'auth = "x-api"', 3, "auth", "must be bearer or x-api-key. Did you mean x-api-key?"),
        (ANTHROPIC + 'thinking = "on"', 3, "thinking", "must be adaptive or off"),
        (ANTHROPIC + 'api_key_evn = "MY_KEY"', 3, "api_key_evn", "Did you mean api_key_env?"),
        (ANTHROPIC + 'api_key_env = "sk-ant-secret"', 3, "api_key_env", "= (hidden): must be the name"),
        (ANTHROPIC + 'api_key_env = "secret_key_123"', 3, "api_key_env", "= (hidden): must be the name"),
        (ANTHROPIC + 'base_url = "ftp://x"', 3, "base_url", '= "ftp://x": must be a URL such as'),
        (ANTHROPIC + 'base_url = "http://x:port"', 3, "base_url", "must be a URL such as"),
        (ANTHROPIC + 'base_url = "http://[x"', 3, "base_url", "must be a URL such as"),
        (ANTHROPIC + "max_output_tokens = 0", 3, "max_output_tokens", "must be greater than 0"),
        (ANTHROPIC + 'prompt_caching = "yes"', 3, "prompt_caching", '= "yes": must be true or false'),
        (
            ANTHROPIC + 'tags = [\n"a:b",\n"Client: {x}"]',
            5,
            "tags",
            "bad tag 'Client: {x}': it must not contain spaces",
        ),
        (ANTHROPIC + 'tags = "area:home"', 3, "tags", "must be a list in square brackets"),
        (ANTHROPIC + "tools = [1]", 3, "tools", "must be a text in quotes"),
        (ANTHROPIC + '[approvals]\nmode = "aks"', 4, "approvals.mode", "ask or auto or deny. Did you mean ask?"),
    ],
)
def test_wrong_setting_is_one_sentence(paths: Paths, text: str, line: int | None, key: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        one(paths, text)
    error = caught.value
    assert (error.file, error.line, error.key) == (paths.profiles_dir / "home" / "config.toml", line, key)
    assert sentence in str(error)
    assert "secret" not in str(error)


def test_config_that_is_a_dangling_link_is_not_skipped(paths: Paths) -> None:
    folder = paths.profiles_dir / "home"
    folder.mkdir(parents=True)
    (folder / "config.toml").symlink_to("gone")
    with pytest.raises(FolderError, match="link to a file that is not there"):
        load_profiles(paths)


def test_soul_that_is_not_utf8_is_an_error_with_its_line(paths: Paths) -> None:
    (write(paths, 'provider = "mock"') / "SOUL.md").write_bytes(b"a\n\xe9")
    with pytest.raises(ConfigError, match=r"SOUL\.md, line 2: is not UTF-8 text"):
        load_profiles(paths)


@pytest.mark.parametrize("name", ["Home", "my profile", "-x", "é", "x" * 65, ".hidden"])
def test_bad_profile_id_is_an_error_that_names_it(paths: Paths, name: str) -> None:
    write(paths, 'provider = "mock"', name)
    with pytest.raises(ProfileError, match=re.escape(repr(name))):
        load_profiles(paths)


def test_profile_folder_that_leads_elsewhere_is_refused(paths: Paths, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.toml").write_text('provider = "mock"')
    paths.profiles_dir.mkdir(parents=True)
    (paths.profiles_dir / "home").symlink_to(outside)
    with pytest.raises(ProfileError, match="leads out of the profiles folder"):
        load_profiles(paths)


def test_unknown_profile_names_the_near_match_and_who_asked(paths: Paths) -> None:
    write(paths, 'provider = "mock"')
    with pytest.raises(ProfileError, match=r"'hoem' \(named by COS_PROFILE\)\. Did you mean home\? Profiles: home"):
        profile_named(load_profiles(paths), "hoem", asked_by="COS_PROFILE")
    with pytest.raises(ProfileError, match="There are no profiles"):
        profile_named({}, "home")


def test_workspace_is_relative_to_the_profile_and_must_exist(paths: Paths) -> None:
    profile = one(paths, 'provider = "mock"\nworkspace = "files"')
    assert profile.workspace == profile.folder / "files"
    with pytest.raises(ConfigError, match=r"workspace = .*files: No such file or directory\. Create the folder"):
        open_workspace(profile)
    profile.workspace.write_text("")
    with pytest.raises(ConfigError, match="is not a folder"):
        open_workspace(profile)


def test_default_workspace_is_created_on_first_use(paths: Paths) -> None:
    profile = one(paths, 'provider = "mock"')
    assert not profile.workspace.exists()
    assert open_workspace(profile) == open_workspace(profile) == profile.workspace.resolve()


def test_first_start_gives_a_working_set_that_equals_the_defaults(paths: Paths) -> None:
    install_shipped(paths)
    config, profiles = load_config(paths), load_profiles(paths)
    assert config.settings == Settings()
    assert list(profiles) == ["demo", "home", "work"]
    assert profiles["home"].settings.tags == ("area:home",)
    assert all(len(read_soul(profile.folder)) > 200 for profile in profiles.values())
    assert isinstance(api_key(profiles["home"], {}), MissingKey)
    effective_values(config, profiles["demo"], {}, Flags())
    assert not [item for item in paths.config_dir.iterdir() if item.name.startswith(".cos-")]


@pytest.mark.parametrize("name", ["commonos.toml", "profiles/home/config.toml", "profiles/work/config.toml"])
def test_commented_lines_of_shipped_files_are_valid_settings(paths: Paths, name: str) -> None:
    install_shipped(paths)
    file = paths.config_dir / name
    file.write_text(re.sub(r"^# (?=\w+ = |\[)", "", file.read_text(), flags=re.MULTILINE))
    assert len(tomllib.loads(file.read_text())) > 4
    load_config(paths)
    load_profiles(paths)


def test_later_start_overwrites_nothing_and_resurrects_no_profile(paths: Paths) -> None:
    install_shipped(paths)
    paths.config_file.write_text("# mine")
    for file in (paths.profiles_dir / "demo").iterdir():
        file.unlink()
    (paths.profiles_dir / "demo").rmdir()
    install_shipped(paths)
    assert paths.config_file.read_text() == "# mine"
    assert list(load_profiles(paths)) == ["home", "work"]


def test_many_first_starts_at_the_same_instant_all_succeed(paths: Paths) -> None:
    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(install_shipped, paths) for _ in range(16)]:
            future.result()
    assert list(load_profiles(paths)) == ["demo", "home", "work"]
    assert sorted(item.name for item in paths.config_dir.iterdir()) == ["commonos.toml", "profiles"]


@pytest.mark.parametrize("place", ["file", "file/inside"])
def test_folder_that_cannot_be_created_is_an_error_with_advice(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="Set COS_HOME to a folder that you may write to"):
        install_shipped(Paths.from_environment({"COS_HOME": str(tmp_path / place)}))


READ_ONLY = """
import os, sys
from cos.core.config_errors import FolderError
from cos.core.first_start import install_shipped
from cos.core.paths import Paths
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    install_shipped(Paths.from_environment({"COS_HOME": sys.argv[1]}))
except FolderError as error:
    print(error)
"""


@pytest.mark.parametrize("inside", ["", "new"])
def test_folder_of_somebody_else_is_an_error_with_advice(inside: str) -> None:
    folder = Path("/", inside)
    done = subprocess.run([sys.executable, "-c", READ_ONLY, str(folder)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{folder}: cannot be ")
    assert "Set COS_HOME" in done.stdout


def test_key_is_found_trimmed_and_never_in_a_repr_h098(paths: Paths) -> None:
    profile = one(paths, ANTHROPIC + 'api_key_env = "MY_KEY"')
    key = api_key(profile, {"MY_KEY": " sk-secret\n"})
    assert isinstance(key, ApiKey)
    assert key.value == "sk-secret"
    assert "sk-secret" not in f"{key!r} {key}"
    assert key.origin == f"MY_KEY (named by api_key_env in {profile.config_file})"


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        ({}, "is not set"),
        ({"MY_KEY": ""}, "is empty"),
        ({"MY_KEY": " \n"}, "is empty"),
        ({"MY_KEY": "sk-sec ret"}, "holds blanks"),
        ({"MY_KEY": "sk-secrét"}, "holds blanks"),
    ],
)
def test_missing_key_names_the_variable_and_the_file_h098(paths: Paths, env: dict[str, str], reason: str) -> None:
    profile = one(paths, ANTHROPIC + 'api_key_env = "MY_KEY"')
    missing = api_key(profile, env)
    assert isinstance(missing, MissingKey)
    assert missing.variable == "MY_KEY"
    assert f"MY_KEY (named by api_key_env in {profile.config_file}) {reason}" in missing.sentence
    assert "sk-sec" not in missing.sentence


def test_misspelt_key_variable_hints_at_the_one_that_is_set_h099(paths: Paths) -> None:
    profile = one(paths, ANTHROPIC + 'api_key_env = "ANTHROPIC_API_KYE"')
    missing = api_key(profile, {"ANTHROPIC_API_KEY": "sk-secret"})
    assert isinstance(missing, MissingKey)
    assert "ANTHROPIC_API_KEY is set: is that the one?" in missing.sentence


def test_default_key_variable_is_said_to_be_the_default_h098(paths: Paths) -> None:
    missing = api_key(one(paths, ANTHROPIC), {})
    assert isinstance(missing, MissingKey)
    assert "ANTHROPIC_API_KEY (the default of api_key_env in" in missing.sentence
