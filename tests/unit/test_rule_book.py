"""The rules of a profile while its file changes under a running cos."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cos.core.profiles import Profile, load_settings
from cos.core.rule_book import RuleBook

ASK = '[[approvals.rules]]\ntool = "terminal"\ndecision = "ask"\n'
INSTALLED = ["memory", "terminal"]


def rewritten(file: Path, text: str) -> None:
    file.write_text(text)
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1_000_000_000))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "config.toml"
    found.write_text('provider = "mock"\n' + ASK)
    return found


@pytest.fixture
def book(file: Path) -> RuleBook:
    folder = file.parent
    profile = Profile(id="home", folder=folder, config_file=file, settings=load_settings(file), workspace=folder)
    return RuleBook(profile, INSTALLED)


@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_a_misspelt_rule_written_while_cos_runs_is_a_fault_and_the_rules_of_before_hold(
    file: Path, book: RuleBook, decision: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = book.rules()
    rewritten(file, f'provider = "mock"\n[[approvals.rules]]\ntool = "memry"\ndecision = "{decision}"\n')
    assert book.rules() == before and [rule.tool for rule in before] == ["terminal"]
    assert book.fault is not None and f"{file}, line 3" in book.fault and "did you mean memory?" in book.fault
    assert "did you mean memory?" in caplog.text
    assert book.warning is not None and book.warning.startswith("The rules of the profile home are those of before, ")
    assert [rule.tool for rule in book.profile.settings.approvals.rules] == ["terminal"]

    rewritten(file, f'provider = "mock"\n[[approvals.rules]]\ntool = "memory"\ndecision = "{decision}"\n')
    assert [(rule.tool, rule.decision) for rule in book.rules()] == [("memory", decision)]
    assert book.fault is None and book.warning is None


@pytest.mark.parametrize(("tool", "decision"), [("memry", "allow"), ("a_plugin_that_is_off", "deny"), ("mem*", "deny")])
def test_a_rule_that_lets_nothing_through_by_a_slip_is_no_fault(
    file: Path, book: RuleBook, tool: str, decision: str
) -> None:
    rewritten(file, f'provider = "mock"\n[[approvals.rules]]\ntool = "{tool}"\ndecision = "{decision}"\n')
    assert [rule.tool for rule in book.rules()] == [tool]
    assert book.fault is None
