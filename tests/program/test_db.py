"""`cos db` as a user types it, on cos' own server and on a given one."""

from __future__ import annotations

import json

from tests.program.fix_program import Program


def ask(program: Program, text: str = "hello") -> None:
    done = program.run("ask", text, "--profile", "demo", "--approve", "deny")
    assert done.returncode in (0, 3), done.stderr


def status(program: Program) -> dict[str, object]:
    done = program.run("db", "status", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_cos_own_server_runs_on_after_start_until_stop(program: Program) -> None:
    program.database_url = None
    before = status(program)
    assert (before["kind"], before["running"], before["data_dir"]) == ("embedded", False, None)
    assert program.run("db", "start").returncode == 0
    ask(program)
    found = status(program)
    assert (found["running"], found["keeps_running"], found["clients"]) == (True, True, [])
    url = program.run("db", "url")
    assert url.stderr == ""
    counted = program.run("db", "psql", "-tAc", "SELECT count(*) FROM messages")
    assert (counted.returncode, counted.stdout) == (0, "2\n")
    waiting = program.start("ask", "run a command", "--profile", "demo", "--approve", "ask")
    while "waits" not in program.run("approvals", "list").stdout and not _pending(program):
        assert waiting.poll() is None
    refused = program.run("db", "stop")
    assert refused.returncode == 1
    assert f"in use by cos (cli, process {waiting.pid})" in refused.stderr
    used = program.run("db", "restore", "--force", "x.dump")
    assert used.returncode == 2
    assert f"process {waiting.pid}" in used.stderr
    waiting.kill()
    waiting.wait()
    stopped = program.run("db", "stop", "--force")
    assert "the database is stopped" in stopped.stderr
    assert status(program)["running"] is False
    assert "it was not running" in program.run("db", "stop").stderr


def _pending(program: Program) -> bool:
    return bool(json.loads(program.run("approvals", "list", "--json").stdout))


def test_a_backup_of_a_given_server_is_brought_back_on_cos_own(program: Program) -> None:
    ask(program)
    given = program.database_url
    assert "cos db" not in program.run("db", "url").stdout
    assert program.run("db", "start").returncode == 2
    made = program.run("db", "backup", "all.dump")
    assert made.returncode == 0, made.stderr
    assert "all.dump exists; give another file, or --force" in program.run("db", "backup", "all.dump").stderr
    program.database_url = None
    assert program.run("db", "restore", "all.dump").returncode == 0
    before = program.run("sessions", "list", "--json").stdout
    program.database_url = given
    assert json.loads(before) == json.loads(program.run("sessions", "list", "--json").stdout)
    refused = program.run("db", "restore", "all.dump")
    assert refused.returncode == 2
    assert "--force replaces it" in refused.stderr
    assert not (program.home / "backups").exists()
    ask(program, "more")
    forced = program.run("db", "restore", "--force", "all.dump")
    assert forced.returncode == 0, forced.stderr
    assert json.loads(program.run("sessions", "list", "--json").stdout) == json.loads(before)
    (kept,) = (program.home / "backups").iterdir()
    assert str(kept) in forced.stderr
    assert program.run("db", "restore", "--force", str(kept)).returncode == 0
    assert len(json.loads(program.run("sessions", "list", "--json").stdout)) == 2


def test_the_password_of_a_given_server_is_shown_only_on_demand(program: Program) -> None:
    program.database_url = "postgresql://me:hunter22@127.0.0.1:1/cos"
    assert program.run("db", "url").stdout == "postgresql://me:(hidden)@127.0.0.1:1/cos\n"
    assert program.run("db", "url", "--show-password").stdout == "postgresql://me:hunter22@127.0.0.1:1/cos\n"
    done = program.run("db", "status")
    assert done.returncode == 1
    assert "does not answer" in done.stdout
    assert "hunter22" not in done.stdout + done.stderr


def test_check_tells_and_repairs(program: Program) -> None:
    ask(program, "run a command")
    clean = program.run("db", "check")
    assert (clean.returncode, clean.stdout) == (0, "Nothing is wrong.\n")
    program.rows("UPDATE approvals SET status = 'pending', answered_at = NULL RETURNING id")
    program.rows("UPDATE turns SET status = 'running', completed_at = NULL RETURNING id")
    found = program.run("db", "check")
    assert found.returncode == 1
    assert "open turn whose process is gone: " in found.stdout
    assert "1 finding. `cos db check --repair` repairs" in found.stdout
    repaired = program.run("db", "check", "--repair", "--json")
    assert repaired.returncode == 0
    answer = json.loads(repaired.stdout)
    assert answer["findings"] == answer["plugins"] == []
    assert "whose process is gone" in answer["repaired"][0]


def test_doctor_and_every_command_refuse_a_database_of_a_newer_cos(program: Program) -> None:
    ask(program)
    program.rows("INSERT INTO applied_schemas (digest, name, number) VALUES ('newer', 'core', 9) RETURNING digest")
    words = "this database was made by a newer cos (schema 9, this one knows 3); update cos"
    for command in (["ask", "hi", "--profile", "demo"], ["sessions", "list"], ["db", "check"]):
        done = program.run(*command)
        assert (done.returncode, done.stderr.strip().splitlines()[-1]) == (2, f"cos: {words}")
    doctor = program.run("doctor", "--json")
    assert doctor.returncode == 1
    checks = {check["name"]: check for check in json.loads(doctor.stdout)["checks"]}
    assert (checks["database"]["state"], checks["database"]["sentence"]) == ("failed", words)
