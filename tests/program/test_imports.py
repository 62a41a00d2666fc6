"""What is imported when: the command line answers at once, and the lower layers know nothing of the upper ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = "anthropic", "psycopg", "textual", "pydantic", "starlette", "uvicorn", "websockets"


def _loaded_by(code: str) -> set[str]:
    """The top-level modules that are loaded after `code` ran in a fresh interpreter."""
    program = f"import sys\ntry:\n    {code}\nexcept SystemExit: pass\nprint('LOADED', *sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    line = next(line for line in output.splitlines() if line.startswith("LOADED"))
    return {name.partition(".")[0] for name in line.split()[1:]}


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_version_and_help_load_nothing_heavy(flag: str) -> None:
    assert not _loaded_by(f"import cos.cli.main; cos.cli.main.main([{flag!r}])") & set(HEAVY)


def test_first_paint_of_chat_needs_no_database_driver_and_no_model_library() -> None:
    loaded = _loaded_by("import cos.cli.chat_app")
    assert "textual" in loaded
    assert not loaded & {"anthropic", "psycopg", "psycopg_pool", "pydantic", "tomlkit", "httpx", "starlette"}


def test_the_database_of_a_first_start_begins_before_the_app_is_imported() -> None:
    assert not _loaded_by("import cos.cli.chat, cos.cli.starting_server") & {"textual", "asyncio", *HEAVY}


def test_the_service_loads_nothing_of_the_app() -> None:
    loaded = _loaded_by("import cos.cli.serve")
    assert "starlette" in loaded
    assert "textual" not in loaded


@pytest.mark.parametrize("command", ["chat", "serve"])
def test_garbage_is_not_looked_for_while_a_command_is_imported_and_is_afterwards(command: str, tmp_path: Path) -> None:
    heavy = {"chat": "textual", "serve": "starlette"}[command]
    program = f"""if True:
        import builtins, gc, cos.cli.main
        seen, real = set(), builtins.__import__
        def watched(name, *rest):
            if name.startswith({heavy!r}):
                seen.add(gc.isenabled())
            return real(name, *rest)
        builtins.__import__ = watched
        cos.cli.main.main([{command!r}, *{["--tag", "no tag"] if command == "chat" else []}])
        print(seen, gc.isenabled())
    """
    (tmp_path / "commonos.toml").touch()
    mine, its = os.openpty()
    subprocess.run(
        [sys.executable, "-c", program],
        stdin=its if command == "chat" else subprocess.DEVNULL,
        stdout=its,
        stderr=its,
        env=os.environ | {"COS_HOME": str(tmp_path)},
    )
    os.close(its)
    assert os.read(mine, 10_000).decode().splitlines()[-1] == "{False} True"
    os.close(mine)


@pytest.mark.parametrize("package", ["cos.agent", "cos.core"])
def test_lower_layers_load_no_surface(package: str) -> None:
    """Every module of the package, not only its `__init__`."""
    walk = (
        f"import importlib, pkgutil, {package} as top; "
        f"[importlib.import_module(m.name) for m in pkgutil.walk_packages(top.__path__, '{package}.')]"
    )
    loaded = _loaded_by(walk)
    assert not loaded & {"textual", "starlette", "uvicorn"}
    if package == "cos.agent":
        assert not loaded & {"psycopg", "psycopg_pool", "tomlkit"}
