"""Size limits that fail the build: a long file or a large class hides a second concept that wants its own name."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE_LINES, TEST_FILE_LINES, FUNCTION_LINES, CLASS_METHODS = 400, 800, 60, 20
SOURCES = sorted([*ROOT.glob("cos/**/*.py"), *ROOT.glob("tests/**/*.py")])

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sizes_stay_within_the_house_limits(path: Path) -> None:
    text = path.read_text()
    limit = TEST_FILE_LINES if path.is_relative_to(ROOT / "tests") else FILE_LINES
    assert text.count("\n") <= limit, f"{path} has {text.count(chr(10))} lines, limit {limit}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, FUNCTION) and node.end_lineno is not None:
            length = node.end_lineno - node.lineno + 1
            assert length <= FUNCTION_LINES, f"{path}:{node.lineno} {node.name} has {length} lines"
        if isinstance(node, ast.ClassDef):
            methods = [item for item in node.body if isinstance(item, FUNCTION)]
            assert len(methods) <= CLASS_METHODS, f"{path}:{node.lineno} {node.name} has {len(methods)} methods"
