"""Questions of the model, asked and answered from the command line, with the demo that asks one."""

from __future__ import annotations

import json
import subprocess
import time

from tests.program.fix_program import COS, Program
from tests.program.terminal import Terminal

ASK = ("ask", "ask me something", "--profile", "demo")


def _pending(program: Program, process: subprocess.Popen[str]) -> dict[str, object]:
    """The question that a running `cos ask` waits with."""
    while process.poll() is None:
        found = json.loads(program.run("approvals", "list", "--json").stdout)
        if found:
            question: dict[str, object] = found[0]
            return question
        time.sleep(0.05)
    raise AssertionError(process.communicate())


def test_where_nobody_can_answer_the_question_is_answered_at_once_with_that(program: Program) -> None:
    done = program.run(*ASK)
    assert done.returncode == 3
    assert "I have no answer" in done.stdout and "nobody can answer here" in done.stdout
    assert program.rows("SELECT kind, status, answered_by, answer FROM approvals") == [
        ("question", "denied", "cos ask", None)
    ]


def test_a_profile_that_denies_and_a_rule_that_asks_let_it_ask(program: Program) -> None:
    rule = '[approvals]\nmode = "deny"\n[[approvals.rules]]\ntool = "*"\ndecision = "ask"\n'
    program.profile("demo", f'provider = "mock"\n{rule}')
    program.run(*ASK)
    assert program.rows("SELECT kind FROM approvals") == [("question",)]


def test_another_process_lists_the_question_and_answers_it(program: Program) -> None:
    process = program.start(*ASK, "--approve", "ask")
    question = _pending(program, process)
    assert (question["kind"], question["title"]) == ("question", "What shall the demo show you next?")
    choices = question["choices"]
    assert isinstance(choices, list) and len(choices) == 3
    listed = program.run("approvals", "list").stdout
    assert "    What shall the demo show you next?\n      1. A tool call with its approval\n      2. Thinking" in listed
    short = str(question["id"])[-8:]

    refused = program.run("approvals", "approve", short)
    assert refused.returncode == 2 and "cos approvals answer" in refused.stderr
    blank = program.run("approvals", "answer", short, " ")
    assert blank.returncode == 2 and "the answer is empty" in blank.stderr
    done = program.run("approvals", "answer", short, "2")
    assert (done.returncode, done.stdout) == (0, "answered: clarify What shall the demo show you next?\n  Thinking\n")
    again = program.run("approvals", "deny", short)
    assert again.returncode == 1 and "cos: already answered by you (shell), at 20" in again.stderr
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "You answered: *Thinking*" in output
    assert "clarify: answered by you (shell)" in errors
    assert program.rows("SELECT status, answer, answered_by FROM approvals") == [("answered", "Thinking", "cli")]


def test_a_call_cannot_be_answered_and_a_question_can_be_declined(program: Program) -> None:
    call = program.start("ask", "run a command", "--profile", "demo", "--approve", "ask")
    short = str(_pending(program, call)["id"])[-8:]
    refused = program.run("approvals", "answer", short, "yes")
    assert refused.returncode == 2 and "that is a call" in refused.stderr
    program.run("approvals", "deny", short)
    call.communicate(timeout=60)

    asked = program.start(*ASK, "--approve", "ask")
    short = str(_pending(program, asked)["id"])[-8:]
    assert program.run("approvals", "deny", short, "--reason", "later").returncode == 0
    output, _ = asked.communicate(timeout=60)
    assert "word for word: later" in output
    assert asked.returncode == 3


def _in_terminal(program: Program) -> Terminal:
    terminal = Terminal([*COS, *ASK], program.environment(), program.home, 100, 40)
    program.terminals.append(terminal)
    return terminal


def test_at_a_terminal_a_number_or_words_answer_it(program: Program) -> None:
    terminal = _in_terminal(program)
    terminal.until("The agent asks you:", "3. Nothing more", "/decline gives no answer:")
    terminal.press("enter")
    terminal.type("3\r")
    terminal.until("You answered: *Nothing more*")
    assert terminal.until_end() == 0

    terminal = _in_terminal(program)
    terminal.until("/decline gives no answer:")
    terminal.type("no\r")
    terminal.until("You answered: *no*")
    assert terminal.until_end() == 0


def test_at_a_terminal_it_can_be_declined(program: Program) -> None:
    terminal = _in_terminal(program)
    terminal.until("/decline gives no answer:")
    terminal.type("/decline\r")
    terminal.until("the user declined to answer")
    assert terminal.until_end() == 3
    assert program.rows("SELECT status, answer FROM approvals") == [("denied", None)]


def test_who_goes_on_in_a_session_that_waits_is_told_for_what_and_how_to_answer(program: Program) -> None:
    first = program.start("ask", "run a command", "--profile", "demo", "--approve", "ask")
    short = str(_pending(program, first)["id"])[-8:]
    second = program.start("ask", "hello", "--continue", "--profile", "demo")
    assert second.stderr is not None
    assert "busy in another cos" in second.stderr.readline()
    line = second.stderr.readline()
    assert "waits for your approval: terminal $ echo 'Hello from the demo'" in line
    assert f"cos approvals approve {short} (or deny {short})" in line
    assert f"{short}  terminal" in program.run("approvals").stdout
    program.run("approvals", "deny", short)
    assert second.wait(60) == 0
    first.communicate(timeout=60)
