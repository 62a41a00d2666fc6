"""`cos export` as a person and a script use it."""

from __future__ import annotations

import json
import subprocess

from tests.program.fix_program import COS, Program


def _session(program: Program, text: str = "<img src=x> hello") -> str:
    done = program.run("ask", "-", "--profile", "demo", stdin=text)
    assert done.returncode == 0
    return done.stderr.rsplit("session ", 1)[1].split(",")[0]


def test_markdown_goes_to_standard_output_and_json_into_a_file(program: Program) -> None:
    session = _session(program)
    done = program.run("export", session[:30])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# &lt;img src\\=x&gt; hello\n")
    assert "```markdown\n<img src=x> hello\n```" in done.stdout
    assert "Welcome to cos" in done.stdout

    done = program.run("export", session, "--format", "json", "--output", "x.json")
    assert (done.returncode, done.stdout) == (0, "")
    assert f"2 messages of session {session} written to {program.home / 'x.json'}" in done.stderr
    assert (program.home / "x.json").stat().st_mode & 0o777 == 0o600
    data = json.loads((program.home / "x.json").read_text())
    assert [message["message"]["role"] for message in data["messages"]] == ["user", "assistant"]

    again = program.run("export", session, "--output", "x.json")
    assert again.returncode == 2
    assert "x.json exists; give another file, or --force to replace it" in again.stderr
    assert program.run("export", session, "--output", "x.json", "--force").returncode == 0
    assert (program.home / "x.json").read_text().startswith("# ")


def test_unknown_session_is_named(program: Program) -> None:
    done = program.run("export", "abc")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no session whose id begins with 'abc'" in done.stderr


def test_reader_that_goes_away_is_no_crash(program: Program) -> None:
    session = _session(program, "word " * 50_000)
    process = subprocess.Popen(
        [*COS, "export", session], env=program.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.wait(60)
    assert "Traceback" not in errors and "BrokenPipe" not in errors
    process.stderr.close()
