"""Whatever is wrong with what the user gave: one sentence with the place and what to do, exit code 2, no traceback."""

from __future__ import annotations

import contextlib
import os
import pwd
import subprocess

import pytest

from tests.postgres.fix_embedded import module_path
from tests.program.fix_program import COS, Program

MOCK = 'provider = "mock"\n'


def _refused(program: Program, *wanted: str, **env: str) -> str:
    """The sentence with which `cos ask` stopped, after checking that it is one and holds `wanted`."""
    done = program.run("ask", "hi", "--profile", "demo", **env)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("cos: ")
    for words in wanted:
        assert words in line
    return line


def test_broken_toml_names_file_and_line(program: Program) -> None:
    file = program.setting('plugins = ["workspace"]\ndefault_profile = "home\n')
    _refused(program, str(file), "line 2")


def test_unknown_key_names_line_and_near_match(program: Program) -> None:
    file = program.setting('\n\ndefault_profil = "home"\n')
    _refused(program, f"{file}, line 3", "default_profil", "Did you mean default_profile?")


def test_wrong_value_in_a_profile_names_its_line(program: Program) -> None:
    file = program.profile("demo", MOCK + '[approvals]\nmode = "aks"\n')
    _refused(program, f"{file}, line 3", "Did you mean ask?")


@pytest.mark.parametrize(
    ("address", "reason"), [("127.0.0.1:1", "refused"), ("127.0.0.1:99999", "port"), ("127.0.0.1:port", "port")]
)
def test_wrong_port_says_where_the_address_is_set_and_hides_the_password(
    program: Program, address: str, reason: str
) -> None:
    program.database_url = None
    program.setting(f'[database]\nurl = "postgresql://me:hunter22@{address}/x"\n')
    line = _refused(program, "database.url", reason)
    assert "hunter22" not in line


def test_plugin_that_is_not_installed_is_named_with_the_near_match(program: Program) -> None:
    program.setting('plugins = ["workspce"]\n')
    _refused(program, "plugin workspce", "not installed", "Did you mean workspace?")


def test_plugin_that_fails_is_named_with_its_error(program: Program) -> None:
    program.setting('plugins = ["workspace", "broken"]\n')
    plugins = program.home / "plugins"
    plugins.mkdir()
    (plugins / "broken.py").write_text("def register(ctx):\n    raise ValueError('no luck')\n")
    _refused(program, "plugin broken", "no luck")


def test_tool_that_nobody_provides_is_named_with_its_line_H_103(program: Program) -> None:
    file = program.profile("demo", MOCK + 'tools = ["read_file", "termnal"]\n')
    _refused(program, f"{file}, line 2", "'termnal'", "did you mean terminal?")
    program.profile("demo", MOCK + 'tools = ["run_sqll"]\n')
    _refused(program, f"{file}, line 2", "'run_sqll'")
    program.profile("demo", MOCK + '[[approvals.rules]]\ntool = "termnal"\ndecision = "deny"\n')
    _refused(program, f"{file}, line 3", "'termnal'", "did you mean terminal?")


def test_unknown_profile_and_session_are_named(program: Program) -> None:
    done = program.run("ask", "hi", "--profile", "dmo")
    assert (done.returncode, "Did you mean demo?" in done.stderr) == (2, True)
    done = program.run("ask", "hi", "--profile", "demo", "--session", "0123abcd")
    assert (done.returncode, "0123abcd" in done.stderr) == (2, True)


def test_empty_message_is_refused(program: Program) -> None:
    done = program.run("ask", "-", stdin=" \n")
    assert (done.returncode, "empty" in done.stderr) == (2, True)


def test_home_below_a_file_is_refused(program: Program) -> None:
    (program.home / "file").write_text("")
    _refused(program, str(program.home / "file"), "COS_HOME", COS_HOME=str(program.home / "file" / "home"))


def test_home_that_cannot_be_written_is_refused(program: Program) -> None:
    """As an ordinary user, for root may write anywhere."""
    locked = program.home / "locked"
    locked.mkdir(mode=0o755)
    env = program.environment(COS_HOME=str(locked), HOME=str(locked), PYTHONPATH=module_path())
    python = _python_of_ordinary_user(env)
    if os.geteuid() != 0:
        locked.chmod(0o555)
    for command, code in ((["ask", "hi", "--profile", "demo"], 2), (["doctor"], 1)):
        done = _as_ordinary_user([python, "-m", "cos", *command], env)
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        assert str(locked) in said
        assert "COS_HOME" in said
        assert "Traceback" not in said


def _python_of_ordinary_user(env: dict[str, str]) -> str:
    """A Python that somebody else than root can run, and that finds cos."""
    for python in (COS[0], "/usr/bin/python3"):
        with contextlib.suppress(OSError):
            if _as_ordinary_user([python, "-c", "import cos.cli.compose"], env).returncode == 0:
                return python
    pytest.skip("no Python here that the user nobody can run with cos")


def _as_ordinary_user(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    nobody = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
    groups: list[int] | None = None if nobody is None else []
    return subprocess.run(
        command,
        env=env,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        user=nobody,
        group=nobody,
        extra_groups=groups,
    )


def test_bad_setting_closes_the_app_with_the_sentence(program: Program) -> None:
    program.setting("plugins = 3\n")
    chat = program.chat()
    assert chat.until_end() == 2
    assert "plugins" in chat.text
    assert "Traceback" not in chat.text
    assert chat.is_line_wise
