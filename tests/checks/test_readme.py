"""README's two commands are promises: the first opens cos, the second runs the tests (and `.ci/run` runs that one)."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_readme_gives_one_command_to_start_and_one_to_test() -> None:
    commands = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("python3 -m venv ")]
    assert commands == [
        "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/cos chat",
        "python3 -m venv .venv && .venv/bin/pip install -q -e '.[dev]' && .venv/bin/python -m pytest -q -n auto",
    ]


def test_ci_takes_the_test_command_from_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert "README.md | sed -n 2p" in script
    assert 'bash -euo pipefail -c "$test_command"' in script


def test_readme_names_only_files_that_exist() -> None:
    text = (ROOT / "README.md").read_text()
    linked = [part.split(")")[0] for part in text.split("](")[1:]]
    assert [name for name in linked if "://" not in name and not (ROOT / name).exists()] == []
