"""Approval rules: allow what a reader expects and nothing more, never let a deny rule be weaker than it looks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from cos.agent.tags import Tag
from cos.core.rule_proposals import propose
from cos.core.rules import Decision, JudgedCall, Rule, first_match, judged_call

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def call(command: str, **changes: Any) -> JudgedCall:
    return judged_call(
        tool="terminal", origin="workspace", risk="execute", args={"command": command}, tags={"area:home"},
        folders=(Path("/w"), Path("/w")), **changes,
    )  # fmt: skip


def rule(match: str, decision: Decision = "allow") -> Rule:
    return Rule(tool="terminal", match=match, decision=decision)


def decide(rules: list[Rule], judged: JudgedCall) -> str | None:
    found = first_match(rules, judged, now=NOW)
    return found.decision if found else None


@pytest.mark.parametrize(
    ("match", "command", "allowed"),
    [
        ("git status", "git status", True),
        ("git status", "  git   'status' ", True),
        ("git status", "git status -s", False),
        ("git status", "git", False),
        ("git status *", "git status", True),
        ("git status *", "git status -s 'a b'", True),
        ("git status *", "git push", False),
        ("git * -s", "git status -s", True),
        ("git * -s", "git status x -s", False),
        ("cat docs/*", "cat docs/a.md", True),
        ("cat docs/*", "cat docs/../etc", False),
        ("cat docs/*", "cat docs/..", False),
        ("cat docs/*", "cat docs/a/b", False),
        ("cat *", "cat /etc/passwd x", True),
        ("echo 'a b'", "echo a\\ b", True),
        ("echo '*'", "echo x", False),
        ("echo '*'", "echo '*'", True),
    ],
)
def test_allow_rule_is_read_word_by_word(match: str, command: str, allowed: bool) -> None:
    assert decide([rule(match)], call(command)) == ("allow" if allowed else None)


@pytest.mark.parametrize(
    "command",
    ["git status; rm x", "git status && rm x", "git status | tee x", "git status & rm x", "git status\nrm x",
     "git status $x",
     "git status $(rm x)", "git status `rm x`", "git status > x", "git status 2>&1", "git status < x",
     "git status <<E\nE",
     "env git status", "A=1 git status", "sudo git status", "/usr/bin/git status", "./git status", "git status *",
     "git status ~", "git status {a,b}", "git status # x", "(git status)", "! git status", "time git status",
     "git status 'a\nb'",
     "git status \\\n-s", "git stat\\\nus", "gi\\\nt status",
     "git() { rm x; }; git status", "if git status; then git status; fi", "git status 'a",
     "git status\x00",
     "git\u00a0status", "eval git status", "git status !x", "alias git=rm; git status"],
)  # fmt: skip
def test_allow_rule_allows_nothing_more(command: str) -> None:
    assert decide([rule("git status *"), rule("git status")], call(command)) is None


def test_each_command_of_a_line_needs_an_allow_rule() -> None:
    rules = [rule("git status"), rule("wc *")]
    assert first_match(rules, call("git status | wc -l; git status"), now=NOW) == rules[0]
    assert decide(rules, call("git status | wc -l; ls")) is None
    assert decide([rules[0], rule("wc *", "deny"), rules[1]], call("git status | wc -l")) == "deny"
    assert decide([*rules, rule("wc *", "deny")], call("git status | wc -l")) == "allow"


@pytest.mark.parametrize(
    "command",
    ["git push", "git push -f origin", "git -C x push", "/usr/bin/git push", "sudo -u me git push", "env A=1 git push",
     "bash -c 'git push'", "ls; git push", "ls $(git push)", "git 'pu'sh", "g\\it push", "git push > x",
     "f() { git push; }; f",
     "git $x", "$x push", "echo git push | sh", "xargs git push", "git push 'a", "'git' push \x00", "(git push",
     "git \\\npush", "git pu\\\nsh", "gi\\\nt push", "gi\\\nt pu\\\nsh", "git\\\n push", "# a\\\ngit push",
     "bash -c 'git pu\\\nsh'",
     "if true; then git push; fi", "eval 'git push'", "A=1 git push &", "find . -exec git push ;"],
)  # fmt: skip
@pytest.mark.parametrize("decision", ["deny", "ask"])
@pytest.mark.parametrize("match", ["git push", "git push *"])
def test_deny_and_ask_are_never_weaker_than_they_look(command: str, decision: Decision, match: str) -> None:
    rules = [rule(match, decision), Rule(tool="*", decision="allow")]
    assert decide(rules, call(command)) == decision


@pytest.mark.parametrize(
    "command", ["git status", "echo git push", "git commit -m push-it", 'git commit -m "$x"', "gitpush"]
)
def test_deny_rule_leaves_other_commands_alone(command: str) -> None:
    assert decide([rule("git push", "deny"), Rule(tool="*", decision="allow")], call(command)) == "allow"


def test_first_rule_of_the_file_wins() -> None:
    assert decide([rule("git *"), rule("git push", "deny")], call("git push")) == "allow"
    assert decide([rule("git push", "deny"), rule("git *")], call("git push")) == "deny"


def test_rule_for_a_whole_tool_does_not_allow_what_cannot_be_parsed() -> None:
    assert decide([Rule(tool="term*", decision="allow")], call("a > b; c $x")) == "allow"
    assert decide([Rule(tool="term*", decision="allow")], call("a 'b")) is None
    assert decide([Rule(tool="term*", decision="deny")], call("a 'b")) == "deny"


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({"risk": "execute"}, True),
        ({"risk": "network"}, False),
        ({"origin": "work*"}, True),
        ({"origin": "mcp*"}, False),
        ({"tag": Tag("area:home")}, True),
        ({"tag": Tag("client:acme")}, False),
        ({"expires_at": date(2026, 11, 30)}, True),
        ({"expires_at": date(2026, 11, 29)}, False),
        ({"expires_at": datetime(2026, 11, 30, 13)}, True),
        ({"expires_at": datetime(2026, 11, 30, 12, tzinfo=UTC)}, False),
    ],
)
def test_all_that_a_rule_names_must_hold(changes: dict[str, Any], counts: bool) -> None:
    assert decide([Rule(tool="terminal", decision="allow", **changes)], call("a")) == ("allow" if counts else None)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    (folder / "docs" / "a").mkdir(parents=True)
    (tmp_path / "proj-evil").mkdir()
    (folder / "docs" / "out").symlink_to(tmp_path / "proj-evil")
    (folder / "docs" / "top").symlink_to(folder)
    return folder


def write(workspace: Path, path: object) -> JudgedCall:
    return judged_call(
        tool="write_file",
        origin="workspace",
        risk="write",
        args={"path": path},
        tags=(),
        folders=(workspace, workspace),
    )


@pytest.mark.parametrize(
    ("pattern", "path", "counts"),
    [
        ("docs/**", "docs/x", True),
        ("docs/**", "docs/a/b/c.md", True),
        ("docs/**", "docs", True),
        ("docs/*", "docs/a/b", False),
        ("docs/*.md", "docs/x.md", True),
        ("**/*.md", "x.md", True),
        ("**/*.md", "docs/a/x.md", True),
        ("**", "src/x", True),
        ("docs/**", "docs/../src/x", False),
        ("docs/**", "docs/top/src", False),
        ("**", "docs/out/x", False),
        ("**", "../proj-evil/x", False),
        ("**", "/etc/passwd", False),
        ("**", "a\0b", False),
        ("**", None, False),
        ("docs/**", "docs-evil/x", False),
    ],
)
def test_path_rule_counts_for_real_paths_below_the_workspace(
    workspace: Path, pattern: str, path: object, counts: bool
) -> None:
    found = decide([Rule(tool="write_file", path=pattern, decision="allow")], write(workspace, path))
    assert found == ("allow" if counts else None)


@pytest.mark.parametrize("tool", ["write_file", "patch"])
@pytest.mark.parametrize(
    "path", [".git/config", ".git", "docs/.git/hooks/x", "docs/../.git/x", "hooks/x", ".GIT/x", "docs/out/.git/x"]
)
@pytest.mark.parametrize(
    ("narrowed", "decision", "counts"),
    [
        ({"path": "**"}, "allow", False),
        ({"path": ".git/**"}, "allow", False),
        ({}, "allow", False),
        ({}, "ask", True),
        ({}, "deny", True),
    ],
)
def test_no_allow_rule_lets_write_into_git(
    workspace: Path, tool: str, path: str, narrowed: dict[str, Any], decision: Decision, counts: bool
) -> None:
    (workspace / ".git" / "hooks").mkdir(parents=True)
    (workspace / "hooks").symlink_to(workspace / ".git" / "hooks")
    judged = replace(write(workspace, path), tool=tool)
    found = decide([Rule(tool=tool, decision=decision, **narrowed)], judged)
    assert found == (decision if counts else None)
    assert propose(judged) == ()


def test_rules_for_git_leave_reading_and_other_names_alone(workspace: Path) -> None:
    allow = [Rule(tool="*", path="**", decision="allow")]
    assert decide(allow, replace(write(workspace, ".git/config"), tool="read_file")) == "allow"
    assert decide(allow, write(workspace, ".gitignore")) == "allow"
    assert decide([Rule(tool="patch", path=".git/**", decision="deny")], write(workspace, ".git/x")) is None
    assert decide([Rule(tool="write_file", path=".git/**", decision="deny")], write(workspace, ".git/x")) == "deny"


@pytest.mark.parametrize(
    "command",
    ["podman run x", "podman exec a x", "kubectl exec a", "kubectl run a", "yarn exec x", "yarn dlx x", "pnpm exec x",
     "pnpm dlx x", "npm exec x", "npm x y", "git rebase x", "git bisect x", "git submodule x", "git config x",
     "git difftool", "git mergetool", "git diff", "git log", "git show", "git grep x", "uv tool x", "uv run x",
     "bundle exec x", "cargo run"],
)  # fmt: skip
def test_what_runs_or_writes_anything_is_proposed_only_word_for_word(command: str) -> None:
    assert [one.grade for one in propose(call(command))] == ["exact"]


@pytest.mark.parametrize(
    ("command", "matches"),
    [
        ("git commit -m 'a b'", [["git commit -m 'a b'"], ["git commit *"]]),
        ("ls -la", [["ls -la"]]),
        ("git status | wc -l", [["git status", "wc -l"], ["git status *", "wc -l"]]),
        ("sudo apt install x", [["sudo apt install x"]]),
        ("bash -c 'x y'", [["bash -c 'x y'"]]),
        ("echo '*' \"it's\"", [["echo '*' 'it'\\''s'"]]),
        ("docker run x", [["docker run x"]]),
        ("ls > x", []),
        ("ls $x", []),
        ("ls 'a", []),
        ("ls 'a\nb'", []),
    ],
)
def test_proposed_rules_say_the_call_and_would_allow_it(command: str, matches: list[list[str]]) -> None:
    proposals = propose(call(command))
    assert [[one.match for one in proposal.rules] for proposal in proposals] == matches
    for proposal in proposals:
        assert decide(list(proposal.rules), call(command)) == "allow"
        assert all(f"`{one.match}`" in proposal.sentence for one in proposal.rules)


def test_proposals_for_a_file_are_graded(workspace: Path) -> None:
    proposals = propose(write(workspace, "docs/a/x.md"))
    assert [(one.grade, one.rules[0].path) for one in proposals] == [
        ("file", "docs/a/x.md"), ("folder", "docs/a/**"), ("tool", None),
    ]  # fmt: skip
    assert all(decide(list(one.rules), write(workspace, "docs/a/x.md")) == "allow" for one in proposals)
