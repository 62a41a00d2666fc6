"""SQL lives in `sql/`: a statement in a Python string is one that nobody can grep, highlight or prepare in a test."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATEMENT = re.compile(r"^\s*(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE|ALTER TABLE)\s", re.IGNORECASE)


@pytest.mark.parametrize("path", sorted(ROOT.glob("cos/**/*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_statement_is_written_inline(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not STATEMENT.match(node.value), f"{path}:{node.lineno} holds SQL: move it to sql/"
