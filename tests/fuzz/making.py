"""What is thrown at the program: texts, JSON and bytes that have broken other programs, and how much of it.

COS_FUZZ_EXAMPLES makes every test try so many inputs: `COS_FUZZ_EXAMPLES=10000 pytest tests/fuzz --timeout 0`.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("COS_FUZZ_EXAMPLES", "0"))

NASTY = (
    "", " ", "\x00", "\ud800", "\u202e", "\x1b]0;title\x07", "\x1b[2J", "\r\n", "../../etc/passwd", "/etc/passwd", "~",
    "$(touch ran)", "`touch ran`", "; touch ran", "[b]x[/b]", "[/]", "<script>x</script>", "javascript:x", "%s%n",
    "{0}", "{x!r}", "'; DROP TABLE sessions; --", "%(id)s", "NaN", "-1", "1e999", "9" * 400,
    "👩‍👩‍👧", "\ufeff", "\u2028", "#tag", "cost:>1", "state:", "since:", "-", "--", "*", '"', "OR", "/undo", "/x", "@x",
)  # fmt: skip
texts = st.one_of(
    st.sampled_from(NASTY),
    st.text(max_size=40),
    st.lists(st.sampled_from(NASTY), max_size=3).map("".join),
    st.tuples(st.sampled_from("aé\x00漢"), st.sampled_from([300, 9_000, 70_000])).map(lambda it: it[0] * it[1]),
)
numbers = st.one_of(
    st.integers(), st.sampled_from([-1, 0, 1, 2**31, 2**63, 2**64, 10**30, True]), st.floats(), st.floats(-10, 10)
)
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=8,
)


def tries(examples: int) -> settings:
    """So many inputs in the suite; COS_FUZZ_EXAMPLES wins."""
    return settings(
        max_examples=EXAMPLES or examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        print_blob=True,
    )


@st.composite
def fitting(draw: st.DrawFn, schema: dict[str, Any]) -> Any:
    """A value for a JSON schema: mostly of the right type, often with nasty content, sometimes anything."""
    if draw(st.integers(0, 11)) == 0:
        return draw(values)
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    match schema.get("type"):
        case "object":
            wanted = {
                name: fitting(part)
                for name, part in schema.get("properties", {}).items()
                if name in schema.get("required", ()) or draw(st.booleans())
            }
            return {name: draw(part) for name, part in wanted.items()}
        case "array":
            return draw(st.lists(fitting(schema.get("items", {})), max_size=4))
        case "string":
            return draw(texts)
        case "integer":
            return draw(st.one_of(st.integers(schema.get("minimum", -5), 100), st.integers()))
        case "boolean":
            return draw(st.booleans())
        case _:
            return draw(values)


@st.composite
def spoiled(draw: st.DrawFn, good: bytes) -> bytes:
    """A good file with some of its bytes replaced, doubled, cut out or nasty."""
    data = bytearray(good)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 12))
        new = draw(st.one_of(st.binary(max_size=6), texts.map(lambda text: text.encode("utf-8", "replace")[:2_000])))
        data[at : at + length] = new
    return bytes(data)
