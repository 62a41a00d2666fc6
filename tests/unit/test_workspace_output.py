"""Bounded output, binary data, and the environment without secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cos.core.environment import is_secret, without_secrets
from cos.plugins.workspace.environment import command_environment
from cos.plugins.workspace.output import LiveOutput, OutputCollector


def collected(*chunks: bytes, limit: int = 100) -> OutputCollector:
    collector = OutputCollector(limit)
    for chunk in chunks:
        collector.feed(chunk)
    return collector


@given(st.lists(st.text(alphabet="aé漢🎉\n").map(str.encode), max_size=20))
def test_collector_keeps_head_and_tail_of_any_chunking(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    collector = collected(*chunks)
    text, dropped = collector.result()
    assert collector.kept_bytes <= 100
    assert dropped == max(0, len(whole) - 100)
    if not dropped:
        assert text == whole.decode()
        return
    head, _, tail = text.partition(f"\n\n[{dropped:,} bytes of output left out here]\n\n")
    assert whole.decode().startswith(head)
    assert whole.decode().endswith(tail)
    assert len(head.encode()) > 40 - 4
    assert len(tail.encode()) > 60 - 4


def test_text_followed_by_binary_keeps_the_text() -> None:
    text, dropped = collected(b"compiling\n" * 4, bytes(range(32)) * 8).result()
    assert text == "compiling\n" * 4 + "\n\n[256 bytes left out: binary output from here on]"
    assert dropped == 256


@pytest.mark.parametrize("data", ["Grüße\n".encode("latin-1") * 5, b"a\0bb\0ccc\0", b"\x1b[31mred\x1b[0m\r\n", b""])
def test_slightly_odd_text_is_still_text(data: bytes) -> None:
    text, dropped = collected(data).result()
    assert "not shown" not in text
    assert "\0" not in text
    assert dropped == 0


def test_live_output_joins_characters_that_two_reads_divided() -> None:
    shown: list[str] = []
    live = LiveOutput(shown.append)
    for byte in "漢🎉".encode():
        live.feed(bytes([byte]))
    live.feed("漢".encode()[:2])
    live.finish()
    assert shown == ["漢", "🎉", "\ufffd"]


def test_live_output_ends_with_one_note_when_it_grows_too_long() -> None:
    shown: list[str] = []
    live = LiveOutput(shown.append, limit_bytes=10)
    for _ in range(5):
        live.feed(b"1234567")
    assert shown == ["1234567", "123", "\n[too much output: the rest is not shown live]\n"]


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "AWS_PROFILE", "GITHUB_TOKEN", "NPM_AUTHTOKEN", "DB_PASSWORD",
        "MYSQL_PWD", "CLIENT_SECRET_2", "GOOGLE_APPLICATION_CREDENTIALS", "DATABASE_URL", "COS_DATABASE_URL", "PGHOST",
        "SSH_PRIVATE_KEY", "openai_api_key", "SENTRY_DSN", "REDISCLI_AUTH", "SESSION_COOKIE", "GPG_PASSPHRASE",
    ],
)  # fmt: skip
def test_name_that_sounds_secret_is_dropped(name: str) -> None:
    assert is_secret(name, "x")


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "LANG",
        "PWD",
        "OLDPWD",
        "TOKENIZERS_PARALLELISM",
        "KEYBOARD",
        "SSH_AUTH_SOCK",
        "XAUTHORITY",
        "CI",
    ],
)
def test_ordinary_name_is_kept(name: str) -> None:
    assert not is_secret(name, "/x:y@z")


def test_password_in_a_url_is_a_secret_under_any_name() -> None:
    assert is_secret("UPSTREAM", "postgresql://me:pw@db/x")
    assert not is_secret("UPSTREAM", "https://db.example:5432/x@y")


def test_a_key_is_a_secret_by_its_look_or_when_a_profile_names_its_variable() -> None:
    own = {"WORK": "sk-ant-x", "MINE": "abc", "PLAIN": "task-1"}
    assert without_secrets(own, {"MINE"}) == {"PLAIN": "task-1"}


def test_environment_sets_a_plain_terminal_and_no_pager() -> None:
    seen = command_environment({"PATH": "/bin", "TERM": "xterm"})
    assert {name: value for name, value in seen.items() if "CONFIG" not in name} == {
        "PATH": "/bin", "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat",
    }  # fmt: skip


def test_settings_of_git_come_after_those_of_the_user() -> None:
    own = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "me"}
    seen = command_environment(own)
    assert seen["GIT_CONFIG_COUNT"] == "3"
    keys = [seen[f"GIT_CONFIG_KEY_{number}"] for number in range(3)]
    assert keys == ["user.name", "safe.bareRepository", "core.fsmonitor"]
