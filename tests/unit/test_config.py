"""commonos.toml: defaults, every kind of mistake, and which source of a setting wins."""

from pathlib import Path

import pytest

from cos.agent.tags import Tag
from cos.core.config import Config, load_config
from cos.core.config_errors import ConfigError, UnknownToolError
from cos.core.effective import (
    EffectiveValue,
    Flags,
    effective_compact_at,
    effective_database_url,
    effective_profile,
    effective_values,
)
from cos.core.masking import masked_url
from cos.core.paths import Paths
from cos.core.profiles import Profile, load_profiles
from cos.core.tool_lists import match_tools

SECRET = "sk-ant-api03-verysecret"


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.from_environment({"COS_HOME": str(tmp_path)})


def load(paths: Paths, text: str) -> Config:
    paths.config_file.write_text(text)
    return load_config(paths)


def refusal(paths: Paths, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(paths, text)
    assert caught.value.file == paths.config_file
    return caught.value


def write_profile(paths: Paths, text: str, name: str = "home") -> Profile:
    folder = paths.profiles_dir / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)
    return load_profiles(paths)[name]


def test_missing_file_means_defaults(paths: Paths) -> None:
    settings = load_config(paths).settings
    assert (settings.plugins, settings.default_profile) == (("memory", "bill", "workspace"), "home")
    assert (settings.database.url, settings.approvals.timeout_seconds, settings.agent.max_steps) == (None, 300, 90)


def test_every_key_is_read(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    config = load(
        paths,
        'plugins = ["memory", "workspace"]\ndefault_profile = "w"\n[database]\nurl = "postgresql://h/d"\n'
        'data_dir = "~/pg"\nbin_dir = "bin"\nrun_as = "cos"\n[approvals]\ntimeout_seconds = 1.5\n'
        "[agent]\nmax_steps = 1000\ncompact_at = 0\n[memory]\nanything = [1]\n",
    )
    settings = config.settings
    assert settings.plugins == ("memory", "workspace")
    assert settings.database.data_dir == Path("/h/pg")
    assert settings.database.bin_dir == paths.config_dir / "bin"
    assert (settings.approvals.timeout_seconds, settings.agent.max_steps) == (1.5, 1000)
    assert settings.agent.compact_at == 0
    assert config.plugin_settings == {"memory": {"anything": [1]}}


def test_unknown_key_names_file_line_key_value_and_near_match(paths: Paths) -> None:
    error = refusal(paths, "\n[database]\n\nprot = 5432\nrun_ass = 'x'")
    assert str(error).startswith(f"{paths.config_file}, line 4: database.prot = 5432: unknown key. Did you mean ")
    assert "? Known keys: plugins," in str(error)
    assert (error.line, error.key, error.value) == (4, "database.prot", "5432")
    error = refusal(paths, "[database]\nrun_ass = 'x'")
    assert error.near == "database.run_as"
    assert "unknown key. Did you mean database.run_as? Known keys: " in str(error)


@pytest.mark.parametrize(
    ("text", "line", "key", "sentence"),
    [
        ('data_dir = "/x"', 1, "data_dir", "Did you mean database.data_dir?"),
        ("[workspce]\na = 1", 1, "workspce", "Did you mean workspace?"),
        ("[mcp]\na = 1", 1, "mcp", "only when the plugin is enabled"),
        ("workspace = 3", 1, "workspace", "must be a table"),
        ("database = 3", 1, "database", "must be a table"),
        ('plugins = "workspace"', 1, "plugins", "must be a list"),
        ('plugins = [\n"a",\n3]', 3, "plugins", "= 3: must be a text in quotes"),
        ('plugins = ["a", "a"]', 1, "plugins", "a is listed twice"),
        ('plugins = ["agent"]', 1, "plugins", "no plugin can be called agent"),
        ("[agent]\nmax_steps = 0", 2, "agent.max_steps", "= 0: must be at least 1"),
        ("[agent]\nmax_steps = 1001", 2, "agent.max_steps", "must be at most 1000"),
        ('[agent]\nmax_steps = "9"', 2, "agent.max_steps", '= "9": must be a whole number'),
        ("[agent]\nmax_steps = 9.5", 2, "agent.max_steps", "must be a whole number"),
        ("[agent]\ncompact_at = 80", 2, "agent.compact_at", "= 80: must be at most 1"),
        ("[agent]\ncompact_at = -0.1", 2, "agent.compact_at", "must be at least 0"),
        ("[agent]\ncompact_at = nan", 2, "agent.compact_at", "must be"),
        ('[agent]\ncompact_at = "0.8"', 2, "agent.compact_at", "must be a number"),
        ("[delegation]\nmax_concurrent_children = 0", 2, "delegation.max_concurrent_children", "must be at least 1"),
        ("[delegation]\nmax_spawn_depth = 0", 2, "delegation.max_spawn_depth", "must be at least 1"),
        ("[delegation]\nmax_iteration = 9", 2, "delegation.max_iteration", "max_iterations"),
        ("[agent]\nmax_steps = true", 2, "agent.max_steps", "= true: must be a whole number"),
        ("[approvals]\ntimeout_seconds = 0", 2, "approvals.timeout_seconds", "must be greater than 0"),
        ("[approvals]\ntimeout_seconds = inf", 2, "approvals.timeout_seconds", "must be a finite number"),
        ("[approvals]\ntimeout_seconds = 1e18", 2, "approvals.timeout_seconds", "must be at most 31536000"),
        ("approvals.rules = []", 1, "approvals.rules", "unknown key"),
        ('default_profile = " "', 1, "default_profile", "must not be blank"),
        ('database.data_dir = "~no-such-user/x"', 1, "database.data_dir", "no such home folder"),
        ('database.data_dir = "a\\u0000"', 1, "database.data_dir", "control characters"),
    ],
)
def test_wrong_value_is_one_sentence(paths: Paths, text: str, line: int, key: str, sentence: str) -> None:
    error = refusal(paths, text)
    assert (error.line, error.key) == (line, key)
    assert sentence in str(error)
    assert "\n" not in str(error)


def test_first_mistake_of_the_file_is_reported(paths: Paths) -> None:
    assert refusal(paths, "[agent]\nmax_steps = 0\n[database]\nx = 1").line == 2


@pytest.mark.parametrize(
    "text",
    [
        f'api_key = "{SECRET}"',
        f'[database]\nurl = "mysql://me:{SECRET}@h/d"',
        f'[database]\nurl = "postgresql://me:{SECRET} @h/d"',
        f'[database]\nurrl = "postgresql://me:{SECRET}@h/d"',
        f'[database]\nlist = ["{SECRET}"]',
        f'[database.more]\npassword = "{SECRET}"',
        '[database]\npassword = "verysecret"',
    ],
)
def test_no_error_shows_a_secret(paths: Paths, text: str) -> None:
    assert "verysecret" not in str(refusal(paths, text))


def test_plain_words_of_a_mistake_are_shown(paths: Paths) -> None:
    assert refusal(paths, '[agent]\nmode = "fast"').value == '"fast"'


def test_mistake_cannot_move_the_cursor_or_add_a_line(paths: Paths) -> None:
    text = str(refusal(paths, '"a\\u001b]0;x\\nb" = "c\\u009b2J\\u202e"'))
    assert text.isprintable()


def test_settings_keep_the_database_password_out_of_their_repr(paths: Paths) -> None:
    config = load(paths, '[database]\nurl = "postgresql://me:verysecret@h/d"\n[workspace]\ntoken = "verysecret"')
    assert "verysecret" not in repr(config)


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("postgresql://me:pw@h:5432/d", "postgresql://me:(hidden)@h:5432/d"),
        ("postgresql://me:p@/w@h/d", "postgresql://me:(hidden)@h/d"),
        ("postgresql://me@h/d?password=pw&x=1", "postgresql://me@h/d?password=(hidden)&x=1"),
        ("postgresql://me:pw", "postgresql://(hidden)"),
        ("postgresql://[::1]:5432/d", "postgresql://[::1]:5432/d"),
        ("postgresql://a:1,b:2/d", "postgresql://a:1,b:2/d"),
        ("postgresql:///d?host=/run", "postgresql:///d?host=/run"),
    ],
)
def test_database_url_is_shown_without_its_password(url: str, masked: str) -> None:
    assert masked_url(url) == masked


def shown_values(config: Config, profile: Profile, env: dict[str, str], flags: Flags) -> dict[str, tuple[str, str]]:
    listed: list[EffectiveValue] = effective_values(config, profile, env, flags)
    assert len({item.key for item in listed}) == len(listed)
    return {item.key: (item.value, item.source) for item in listed}


def test_effective_values_name_their_source_and_hide_secrets_h099(paths: Paths) -> None:
    config = load(
        paths,
        'plugins = ["workspace"]\ndefault_profile = "a"\n[database]\nurl = "postgresql://old/d"\n'
        '[approvals]\ntimeout_seconds = 5\n[workspace]\napi_key = "hush"\ndepth = 3\n',
    )
    profile = write_profile(
        paths,
        'provider = "anthropic"\nmodel = "m"\ntags = ["area:home"]\napi_key_env = "MY_KEY"\n[approvals]\nmode = "ask"',
    )
    env = {
        "MY_KEY": SECRET,
        "COS_PROFILE": "b",
        "COS_DATABASE_URL": "postgresql://me:pw@new/d",
        "ANTHROPIC_BASE_URL": "https://gateway.example",
    }
    flags = Flags(profile="c", tags=(Tag("client:acme"),), approval_mode="deny", timeout_seconds=9)
    values = shown_values(config, profile, env, flags)
    common, own = str(paths.config_file), str(profile.config_file)
    assert values["profile"] == ("c", "flag --profile")
    assert values["database.url"] == ("postgresql://me:(hidden)@new/d", "environment COS_DATABASE_URL")
    assert values["approvals.timeout_seconds"] == ("9", "flag --timeout-seconds")
    assert values["approvals.mode"] == ("deny", "flag --approve")
    assert values["base_url"] == ("https://gateway.example", "environment ANTHROPIC_BASE_URL")
    assert values["tags"] == ("area:home, client:acme", f"flag --tag, {own}")
    assert values["api_key"] == ("set (from MY_KEY)", "environment MY_KEY")
    assert values["model"] == ("m", own)
    assert values["plugins"] == ("workspace", common)
    assert values["tools"] == ("all", "default")
    assert values["agent.max_steps"] == ("90", "default")
    assert values["delegation.max_concurrent_children"] == ("3", "default")
    assert values["delegation.max_spawn_depth"] == ("1", "default")
    assert values["delegation.max_iterations"] == ("50", "default")
    assert values["config_dir"] == (str(paths.config_dir), "environment COS_HOME")
    assert values["workspace.api_key"] == ("(hidden)", common)
    assert values["workspace.depth"] == ("3", common)
    assert SECRET not in str(values)


def test_each_source_gives_way_to_the_one_above_it_h099(paths: Paths) -> None:
    config = load(paths, 'default_profile = "a"\n[database]\nurl = "postgresql://old/d"')
    assert effective_profile(config, {"COS_PROFILE": "b"}, Flags()).value == "b"
    assert effective_profile(config, {"COS_PROFILE": " "}, Flags()).value == "a"
    assert effective_database_url(config, {"COS_DATABASE_URL": ""}).value == "postgresql://old/d"
    profile = write_profile(paths, 'provider = "anthropic"\nmodel = "m"\nbase_url = "http://127.0.0.1:1"')
    values = shown_values(config, profile, {"ANTHROPIC_BASE_URL": "https://other.example"}, Flags())
    assert values["base_url"] == ("http://127.0.0.1:1", str(profile.config_file))
    assert values["api_key"] == ("", "missing from environment ANTHROPIC_API_KEY")


def test_a_profile_says_when_its_sessions_are_compacted(paths: Paths) -> None:
    own = write_profile(paths, 'provider = "mock"\n[agent]\ncompact_at = 0.5')
    plain = write_profile(paths, 'provider = "mock"', name="plain")
    config = load(paths, "[agent]\ncompact_at = 0.7")
    assert shown_values(config, own, {}, Flags())["agent.compact_at"] == ("0.5", str(own.config_file))
    assert shown_values(config, plain, {}, Flags())["agent.compact_at"] == ("0.7", str(paths.config_file))
    assert effective_compact_at(load(paths, ""), plain).value == 0.8
    with pytest.raises(ConfigError, match=r"agent\.compact_at = 80: must be at most 1"):
        write_profile(paths, 'provider = "mock"\n[agent]\ncompact_at = 80')


def test_wrong_variable_is_named_and_its_password_hidden(paths: Paths) -> None:
    with pytest.raises(
        ConfigError, match=r"COS_DATABASE_URL = \(hidden\): this environment variable must be a URL"
    ) as caught:
        effective_database_url(load_config(paths), {"COS_DATABASE_URL": "mysql://me:verysecret@h"})
    assert "verysecret" not in str(caught.value)


INSTALLED = ["read_file", "terminal", "mcp__git__log", "search_files"]


def test_tool_patterns_match_names_and_globs() -> None:
    assert match_tools(["mcp__git__*", "read_file", "re*"], INSTALLED) == ["read_file", "mcp__git__log"]
    assert match_tools([], INSTALLED) == []


@pytest.mark.parametrize(
    "patterns", [["run_sqll"], ["terminal", "read_fiel"], ["nothing__*", "read_file"], ["Terminal"]]
)
def test_one_unknown_tool_stops_the_start_h103(patterns: list[str]) -> None:
    with pytest.raises(UnknownToolError):
        match_tools(patterns, INSTALLED)


def test_unknown_tools_are_all_named_with_near_match_and_line_h103(paths: Paths) -> None:
    profile = write_profile(paths, 'provider = "mock"\ntools = [\n  "terminal",\n  "read_fiel",\n  "zzz",\n]')
    with pytest.raises(UnknownToolError) as caught:
        match_tools(profile.settings.tools or (), INSTALLED, file=profile.config_file)
    assert str(caught.value).startswith(f"{profile.config_file}, line 4: tools: no installed tool is called")
    assert "'read_fiel' (did you mean read_file?), 'zzz'." in str(caught.value)
