"""`cos doctor`: finds each fault, goes on after it, says what to do, and shows no secret."""

from __future__ import annotations

import json
from typing import Any

from tests.program.fix_program import COS, Program
from tests.program.terminal import Terminal

SECRET = "sk-ant-secret-0123456789abcdef"


def _checks(program: Program, **env: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """Exit code, checks by name, and everything that was printed."""
    done = program.run("doctor", "--json", **env)
    found = json.loads(done.stdout)
    checks = {check["name"]: check for check in found["checks"]}
    assert found["failed"] == sum(check["state"] == "failed" for check in checks.values())
    return done.returncode, checks, done.stdout + done.stderr


def test_fresh_machine_has_no_failures_and_names_the_missing_key(program: Program) -> None:
    code, checks, _ = _checks(program)
    assert code == 0
    assert checks["database"]["state"] == "ok"
    assert "PostgreSQL" in checks["database"]["sentence"]
    assert checks["profile demo"]["state"] == "ok"
    assert checks["profile home"]["state"] == "warning"
    assert "ANTHROPIC_API_KEY" in checks["profile home"]["advice"]
    assert list(checks) == [
        "versions", "folders", "log", "settings", "plugins", "profile demo", "skills of demo",
        "profile home", "skills of home", "profile work", "skills of work", "profiles", "database", "terminal",
    ]  # fmt: skip


def test_key_is_found_and_never_shown(program: Program) -> None:
    code, checks, everything = _checks(program, ANTHROPIC_API_KEY=SECRET)
    assert code == 0
    assert checks["profile home"]["state"] == "ok"
    assert "key in ANTHROPIC_API_KEY" in checks["profile home"]["sentence"]
    assert SECRET not in everything


def test_one_fault_hides_no_other(program: Program) -> None:
    program.run("doctor")
    program.profile("work", 'provider = "mock"\ntools = ["hammer"]\n')
    program.profile("broken", "provider = \n")
    (program.home / "commonos.toml").write_text('default_profile = "gone"\n')
    program.database_url = "postgresql://me:hunter22@127.0.0.1:1/x"
    code, checks, everything = _checks(program)
    assert code == 1
    failed = {name: check["sentence"] for name, check in checks.items() if check["state"] == "failed"}
    assert set(failed) == {"profile broken", "profile work", "profiles", "database"}
    assert "hammer" in failed["profile work"]
    assert "gone" in failed["profiles"]
    assert "127.0.0.1" in failed["database"]
    assert "hunter22" not in everything
    assert "Traceback" not in everything


def test_a_plugin_that_takes_a_command_of_the_app_is_named_by_doctor_and_chat_alike(program: Program) -> None:
    folder = program.home / "plugins"
    folder.mkdir()
    (folder / "news.py").write_text("def register(ctx):\n    ctx.register_command('new', lambda text: 'x')\n")
    program.setting('plugins = ["news"]\n')
    code, checks, _ = _checks(program)
    sentence = checks["plugins"]["sentence"]
    assert code == 1
    assert "plugin news offers the command /new" in sentence and "take the plugin out" in sentence
    chat = program.chat(columns=300)
    assert chat.until_end() == 2
    assert f"cos: {sentence}" in " ".join(chat.text.split())
    assert "Traceback" not in chat.text


def test_broken_settings_leave_the_rest_checked(program: Program) -> None:
    program.setting("plugins = [\n")
    code, checks, _ = _checks(program)
    assert code == 1
    assert checks["settings"]["state"] == "failed"
    assert "database" not in checks
    assert checks["profile demo"]["state"] == "ok"


def test_embedded_database_is_tried_for_real_and_left_stopped(program: Program) -> None:
    program.database_url = None
    code, checks, _ = _checks(program)
    assert code == 0
    assert str(program.home / "pg") in checks["database"]["sentence"]
    assert not list(program.home.glob("pg/*/data/postmaster.pid"))


def test_terminal_is_described_and_a_poor_one_is_a_warning(program: Program) -> None:
    terminal = _doctor_in_terminal(program, TERM="dumb", columns=200)
    assert terminal.until_end() == 0
    assert "warning terminal" in " ".join(terminal.text.split())
    assert "Set TERM" in terminal.text


def _doctor_in_terminal(program: Program, *, columns: int, **env: str) -> Terminal:
    terminal = Terminal([*COS, "doctor"], program.environment(**env), program.home, columns, 40)
    program.terminals.append(terminal)
    return terminal
