"""`cos config`: what takes effect and who set it, in one order; no secret is shown, no file from outside is read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.program.fix_program import Program

SECRET = "sk-ant-secret-0123456789abcdef"
WATCHED = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from cos.cli.main import main
code = main(sys.argv[2:])
print("\\n".join(name for name in opened if name.startswith(sys.argv[1]) or "/" not in name), file=sys.stderr)
sys.exit(code)
"""


def values(program: Program, *arguments: str, **env: str) -> dict[str, tuple[str, str]]:
    done = program.run("config", "--json", *arguments, **env)
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr
    return {item["key"]: (item["value"], item["source"]) for item in json.loads(done.stdout)}


def five_levels(program: Program) -> tuple[Path, Path]:
    common = program.setting('default_profile = "home"\n[agent]\ncompact_at = 0.5\nmax_steps = 7\n')
    text = 'provider = "anthropic"\nmodel = "{0}-model"\napi_key_env = "{1}_KEY"\n{2}'
    program.profile("home", text.format("home", "HOME", ""))
    program.profile(
        "work", text.format("work", "WORK", 'base_url = "http://127.0.0.1:1"\n[agent]\ncompact_at = 0.25\n')
    )
    return common, program.home / "profiles" / "work" / "config.toml"


def test_h_099_each_value_comes_from_the_highest_level_that_sets_it(program: Program) -> None:
    common, work = five_levels(program)
    env = {"COS_PROFILE": "home", "ANTHROPIC_BASE_URL": "https://environment.example", "WORK_KEY": SECRET}
    default = values(program, WORK_KEY=SECRET)
    assert default["profile"] == ("home", str(common))
    assert default["model"] == ("home-model", str(program.home / "profiles" / "home" / "config.toml"))
    assert default["api_key"] == ("", "missing from environment HOME_KEY")
    assert default["base_url"] == ("", "default")
    assert default["agent.compact_at"] == ("0.5", str(common))
    assert default["agent.max_steps"] == ("7", str(common))
    assert values(program, **env)["base_url"] == ("https://environment.example", "environment ANTHROPIC_BASE_URL")
    flag = values(program, "--profile", "work", **env)
    assert flag["profile"] == ("work", "flag --profile")
    assert flag["model"] == ("work-model", str(work))
    assert flag["base_url"] == ("http://127.0.0.1:1", str(work))
    assert flag["agent.compact_at"] == ("0.25", str(work))
    assert flag["api_key"] == ("set (from WORK_KEY)", "environment WORK_KEY")
    assert flag["approvals.timeout_seconds"] == ("300", "default")


@pytest.mark.parametrize("command", [["config", "--json"], ["ask", "hello", "--json"]])
def test_h_099_no_file_of_the_working_folder_is_read(program: Program, tmp_path: Path, command: list[str]) -> None:
    program.setting('default_profile = "home"\n')
    program.profile("home", 'provider = "mock"\n')
    evil = 'provider = "anthropic"\nmodel = "evil"\nbase_url = "http://evil.example"\napi_key_env = "EVIL_KEY"\n'
    for name in ("commonos.toml", "config.toml", ".cos/config.toml", "profiles/home/config.toml", ".commonos.toml"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(evil)
    (tmp_path / ".env").write_text(
        f"ANTHROPIC_BASE_URL=http://evil.example\nANTHROPIC_API_KEY={SECRET}\nCOS_PROFILE=evil\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(tmp_path), *command],
        cwd=tmp_path, env=program.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "evil" not in done.stdout
    assert str(tmp_path) not in done.stderr
    opened = {line for line in done.stderr.splitlines() if line and not line.startswith("cos: ")}
    assert opened & {"commonos.toml", "config.toml", ".env"} == set()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('api_key_evn = "HOME_KEY"', "Did you mean api_key_env?"),
        ('api_key_env = "sk-ant-secret-0123456789abcdef"', "the name of an environment variable in capital letters"),
    ],
)
def test_h_099_a_misspelt_key_variable_is_a_loud_error(program: Program, line: str, words: str) -> None:
    file = program.profile("home", f'provider = "anthropic"\nmodel = "m"\n{line}\n')
    for command in (["config"], ["ask", "hello"]):
        done = program.run(*command)
        assert done.returncode == 2
        assert f"{file}, line 3" in done.stderr
        assert words in done.stderr
        assert SECRET not in done.stdout + done.stderr


def test_one_setting_one_table_and_a_near_match(program: Program) -> None:
    program.profile("home", 'provider = "mock"\n')
    program.database_url = "postgresql://me:hunter22@db.example/cos"
    assert program.run("config", "database.url").stdout.splitlines()[1].split()[:2] == [
        "database.url",
        "postgresql://me:(hidden)@db.example/cos",
    ]
    assert set(values(program, "database")) == {f"database.{key}" for key in ("url", "data_dir", "bin_dir", "run_as")}
    wrong = program.run("config", "databse.url")
    assert wrong.returncode == 2
    assert "Did you mean database.url?" in wrong.stderr
    shown = program.run("config").stdout
    assert "hunter22" not in shown
    assert str(program.home / "commonos.toml") in shown
