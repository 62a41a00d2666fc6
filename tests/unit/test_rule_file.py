"""Rules in config.toml: written whole or not at all, with comments and order kept."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cos.agent.tags import Tag
from cos.core.config_errors import ConfigError
from cos.core.profiles import load_settings
from cos.core.rule_file import add_rule, remove_rule, toml_text
from cos.core.rules import Rule

TEXT = """# mine
provider = "mock"   # no key

[approvals] # careful
mode = "ask"

# first
[[approvals.rules]]
tool = "terminal"
match = "git push"
decision = "deny"  # never
"""
RULE = Rule(tool="terminal", match="git status *", decision="allow")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(TEXT)
    file.chmod(0o640)
    return file


def rules(config: Path) -> list[Rule]:
    return [entry.rule() for entry in load_settings(config).approvals.rules]


def test_added_rule_comes_last_and_all_else_stays(config: Path) -> None:
    add_rule(config, RULE)
    assert config.read_text().startswith(TEXT)
    assert rules(config) == [Rule(tool="terminal", match="git push", decision="deny"), RULE]
    assert config.stat().st_mode & 0o777 == 0o640
    assert sorted(item.name for item in config.parent.iterdir()) == [".config.toml.lock", "config.toml"]


def test_same_rule_is_written_once_and_removed_again(config: Path) -> None:
    add_rule(config, RULE)
    add_rule(config, RULE)
    assert len(rules(config)) == 2
    assert remove_rule(config, RULE)
    assert not remove_rule(config, RULE)
    assert len(rules(config)) == 1
    assert "# never" in config.read_text()


@pytest.mark.parametrize("before", ['provider = "mock"', 'provider = "mock"\n[approvals]\nmode = "ask"\n'])
def test_first_rule_of_a_file(tmp_path: Path, before: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(before)
    rule = Rule(
        tool="write_file", path="docs/**", risk="write", origin="workspace", tag=Tag("client:acme"),
        expires_at=datetime(2027, 1, 2, 3, 4, tzinfo=UTC), decision="ask",
    )  # fmt: skip
    add_rule(config, rule)
    assert rules(config) == [rule]
    assert config.read_text().startswith(before)


def test_text_of_a_rule_is_what_is_written(config: Path) -> None:
    add_rule(config, RULE)
    assert config.read_text().endswith(toml_text(RULE))


@pytest.mark.parametrize("broken", ["provider = ", 'provider = "mock"\nx = 1', 'approvals = 1\nprovider = "mock"'])
def test_invalid_config_is_an_error_and_left_as_it_is_h096(config: Path, broken: str) -> None:
    config.write_text(broken)
    with pytest.raises(ConfigError):
        add_rule(config, RULE)
    assert config.read_text() == broken


def test_rule_that_can_never_match_is_refused_before_it_is_written(config: Path) -> None:
    with pytest.raises(ConfigError, match="the new rule was refused: match never fits the tool read_file"):
        add_rule(config, Rule(tool="read_file", match="git status", decision="allow"))
    assert config.read_text() == TEXT


def test_missing_file_and_missing_rights_are_errors_h096(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests may run as root, for whom nothing is read-only.
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(ConfigError, match="it is read-only"):
        add_rule(config, RULE)
    assert config.read_text() == TEXT
    config.unlink()
    with pytest.raises(ConfigError, match="is not there any more"):
        add_rule(config, RULE)


def test_rules_added_at_the_same_time_are_all_there(config: Path) -> None:
    added = [Rule(tool="terminal", match=f"git show {number}", decision="allow") for number in range(12)]
    threads = [threading.Thread(target=add_rule, args=(config, rule)) for rule in added]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(added) <= set(rules(config))


@pytest.mark.parametrize(
    ("rule", "key", "sentence"),
    [
        ('tool = "terminal"', "approvals.rules.decision", "this key is missing"),
        ('tool = "terminal"\ndecision = "alow"', "approvals.rules.decision", "Did you mean allow?"),
        ('tool = "terminal"\ndecison = "deny"', "approvals.rules.decison", "Did you mean approvals.rules.decision"),
        ('tool = "read_file"\nmatch = "x"\ndecision = "deny"', "approvals.rules", "would never count"),
        ('tool = "terminal"\npath = "x"\ndecision = "deny"', "approvals.rules", "would never count"),
        ('tool = "terminal"\nmatch = "a && b"\ndecision = "allow"', "approvals.rules.match", "one rule for each"),
        ('tool = "terminal"\nmatch = "git $x"\ndecision = "allow"', "approvals.rules.match", "would replace"),
        ('tool = "patch"\npath = "../x"\ndecision = "allow"', "approvals.rules.path", "below the workspace"),
        ('tool = "x"\ntag = "a b"\ndecision = "allow"', "approvals.rules.tag", "bad tag"),
        ('tool = "x"\nexpires_at = "soon"\ndecision = "allow"', "approvals.rules.expires_at", ""),
    ],
)
def test_wrong_rule_is_one_sentence(config: Path, rule: str, key: str, sentence: str) -> None:
    config.write_text(f'provider = "mock"\n[[approvals.rules]]\n{rule}\n')
    with pytest.raises(ConfigError) as caught:
        load_settings(config)
    assert caught.value.key is not None and caught.value.key.startswith(key)
    assert sentence in str(caught.value)


def test_rule_goes_in_front_of_the_one_that_it_wins_over(config: Path) -> None:
    asks = Rule(tool="terminal", decision="ask")
    add_rule(config, asks)
    add_rule(config, RULE, before=asks)
    assert [rule.decision for rule in rules(config)] == ["deny", "allow", "ask"]
    assert "# first\n" in config.read_text()
