"""Command lines as they are read: words, what is simple, and what is a fault."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cos.core.shell.parsed import MAX_BYTES, parse
from cos.core.shell.reached import reached


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("git status", ("git", "status")),
        (" git \t status \n", ("git", "status")),
        ("echo 'a b' \"c d\" e\\ f g'h'\"i\"j $'k'", ("echo", "a b", "c d", "e f", "ghij", "k")),
        ('echo "a\\"b\\c" \'$x\' "\\$x" "y$"', ("echo", 'a"b\\c', "$x", "$x", "y$")),
        ("echo '' \"\"", ("echo", "", "")),
        ("find . -name '*.c' ! -path x {} +", ("find", ".", "-name", "*.c", "!", "-path", "x", "{}", "+")),
        ("git show HEAD@{1} a#b a=b -x=1 5", ("git", "show", "HEAD@{1}", "a#b", "a=b", "-x=1", "5")),
        ("echo é 日本", ("echo", "é", "日本")),
    ],
)
def test_simple_command_has_the_words_that_the_program_receives(text: str, argv: tuple[str, ...]) -> None:
    parsed = parse(text)
    assert parsed.is_simple
    assert parsed.commands[0].argv == argv


@pytest.mark.parametrize(
    "text",
    ["git status; ls", "git status;", "git status &", "a && b", "a | b", "a\nb", "a > x", "a 2>&1", "A=1 a", "a $x",
     "a `b`",
     "a $(b)", 'a "$b"', "a <(b)", "a *", "a {b,c}", "a ~", "a !b", "a # b", "(a)", "{ a; }", "! a", "time a",
     "a <<E\nx\nE",
     "a <<< b", "f() { a; }", "if a; then b; fi", "a 'b\nc'", "a \\\n b", "a $'\\n'", 'a $"b"', "a x=~", "", "A=1",
     "> x"],
)  # fmt: skip
def test_anything_more_is_not_simple(text: str) -> None:
    assert not parse(text).is_simple


@pytest.mark.parametrize(
    "text",
    ["a 'b", 'a "b', "a (", "a )", "a b\x00", "a\rb", "a\x1b[0m", "a\u00a0b", "a\u202eb", "a\u200bb", "a\ud800b",
     "a " + "x" * MAX_BYTES, "a;" * 2000, "(" * 500 + ")" * 500, "for", "a >", "echo x=(1)", "a\\\nb",
     "a 'b\\\nc'", "a x\\\\\\\nb"],
    ids=lambda text: repr(text[:12]),
)  # fmt: skip
def test_what_is_not_understood_is_a_fault(text: str) -> None:
    parsed = parse(text)
    assert parsed.fault is not None
    assert not parsed.is_simple


def test_commands_are_found_wherever_they_are_nested() -> None:
    parsed = parse('a | b && { c $(d "$(e)"); } > f & g() { h; }; for i in $(j); do k; done; l <<E\n$(m)\nE')
    assert [one.words[0].text for one in parsed.commands] == list("abcdehjklm")
    contexts = {one.words[0].text: one.context for one in parsed.commands}
    assert contexts["b"] >= {"pipeline", "background"}
    assert "substitution" in contexts["e"]
    assert "function" in contexts["h"]
    assert "loop" in contexts["k"]
    assert "heredoc" in contexts["m"]


def test_wrappers_are_looked_through() -> None:
    layers = reached(parse("sudo -u me env A=1 bash -lc 'timeout 5 rm $1; x' _ y"))
    assert [one.words[0].text for one in layers.commands] == ["sudo", "env", "bash", "timeout", "rm", "x"]


def test_judging_is_not_paid_for_before_it_is_needed() -> None:
    code = (
        "import sys, cos.core.rules, cos.core.shell.floor; sys.exit(any('tree_sitter' in name for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
