"""The line scanner agrees with tomllib about which keys exist, and with the eye about where they stand."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cos.core.config_errors import ConfigError
from cos.core.toml_lines import KeyPath, key_lines
from cos.core.toml_source import read_toml

TRICKY = '''# [comment] a = 1
plugins = [
  "a", # ] "x"
  'b\\',
  [1, { deep = 2, "q.r" = [3] }],
]
text = """
[not.a.table]
key = "no" \\""" ""
"""
more = """ends in two quotes"""""
raw = \'\'\'
c:\\\'\'\'
when = 1979-05-27 07:32:00
dotted . "quoted \\u0065" . 'lit' = true
inline = { a = 1, b.c = "}" }

[ database ]
url = "x" # = [

[[approvals.rules]]
tool = "a"
[approvals.rules.match]
text = "x"

[[approvals.rules]]
tool = "b"
  [[approvals.rules.args]]
  name = "n"
'''


def paths_of(data: Any, above: KeyPath = ()) -> set[KeyPath]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    found: set[KeyPath] = set()
    for key, value in items:
        found |= {(*above, key)} | paths_of(value, (*above, key))
    return found


def test_scanner_finds_exactly_the_keys_of_tomllib() -> None:
    assert set(key_lines(TRICKY)) == paths_of(tomllib.loads(TRICKY))


@pytest.mark.parametrize(
    ("path", "start"),
    [
        (("plugins",), "plugins = ["),
        (("plugins", 1), "'b\\'"),
        (("plugins", 2, 1, "q.r", 0), "[1, {"),
        (("when",), "when ="),
        (("dotted", "quoted e", "lit"), "dotted ."),
        (("inline", "b", "c"), "inline ="),
        (("database",), "[ database ]"),
        (("database", "url"), "url ="),
        (("approvals",), "[[approvals.rules]]"),
        (("approvals", "rules", 0, "match", "text"), 'text = "x"'),
        (("approvals", "rules", 1, "tool"), 'tool = "b"'),
        (("approvals", "rules", 1, "args", 0), "[[approvals.rules.args]]"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_is_where_the_key_stands(path: KeyPath, start: str, newline: str) -> None:
    line = key_lines(TRICKY.replace("\n", newline))[path]
    assert TRICKY.split("\n")[line - 1].strip().startswith(start)


strings = st.text(st.sampled_from("a\"'\\#=[]{},. é🙂"), max_size=6)
multiline = st.text(st.sampled_from('a"#=[]\n'), max_size=8)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def multiline_quoted(text: str) -> str:
    return '"""\n' + text.replace('"""', '""\\"') + '"""'


values = st.recursive(
    st.one_of(
        strings.map(quoted),
        multiline.map(multiline_quoted),
        st.sampled_from(["1", "true", "-1.5e3", "1979-05-27 07:32:00Z", "'\\'", "''", '""', "'''\n'a''b'''", "inf"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[ # [\n" + ",\n".join(items) + "\n]"),
        st.lists(inner, max_size=3).map(
            lambda items: "{" + ", ".join(f'k{i}."x y" = {item}' for i, item in enumerate(items)) + "}"
        ),
    ),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.sampled_from(["", "[{}]", "[[a]]", "[a.t{}]", "[[a.u]]"]), strings, values), max_size=6))
def test_scanner_agrees_with_tomllib_on_generated_texts(parts: list[tuple[str, str, str]]) -> None:
    text = "".join(
        f"{header.format(f'h{i}')}\n{quoted(key + str(i))}.k{i} = {value} # end\n"
        for i, (header, key, value) in enumerate(parts)
    )
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(key_lines(text)) == paths_of(data)


@pytest.mark.parametrize("text", ["a = 1\nb = }", "a = 1\n[b", "a = 1\nb", "a = 1\nb = [1, #", "a = 1\n]"])
def test_scanner_keeps_what_it_found_when_it_is_lost(text: str) -> None:
    assert key_lines(text)[("a",)] == 1


def error_of(file: Path, data: bytes) -> ConfigError:
    file.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        read_toml(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("data", "line", "problem"),
    [
        (b"a = 1\nb = \n", 2, "not valid TOML"),
        (b"a = 1\na = 2\n", 2, "not valid TOML"),
        (b'a = 1\nb = """\nopen', 3, "not valid TOML"),
        (b"a = 1\nb = '\xff'\n", 2, "UTF-8"),
        (b"\xef\xbb\xbfa = 1\n", 1, "byte order mark"),
        (b"\xff\xfea\x00", 1, "UTF-8"),
        (b"a = " + b"9" * 5000, None, "not valid TOML"),
        (b"a = " + b"[" * 50_000, None, "nested too deeply"),
    ],
)
def test_broken_file_is_one_sentence_with_the_line(tmp_path: Path, data: bytes, line: int | None, problem: str) -> None:
    error = error_of(tmp_path / "x.toml", data)
    assert error.line == line
    assert problem in str(error)


def test_folder_in_place_of_the_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_toml(tmp_path)


def test_dangling_link_is_not_taken_for_a_missing_file(tmp_path: Path) -> None:
    link = tmp_path / "commonos.toml"
    link.symlink_to(tmp_path / "gone")
    with pytest.raises(ConfigError, match="link to a file that is not there"):
        read_toml(link)
