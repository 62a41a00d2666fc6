"""Writes approval rules into a profile's config.toml: comments and order stay, and a failure leaves the file as it was.

The file is replaced whole, so a lock on itself would be a lock on the old one: a side file is locked instead.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Table
from tomlkit.toml_document import TOMLDocument

from cos.core.config_errors import ConfigError, FolderError
from cos.core.profiles import load_settings
from cos.core.rule_json import rule_words
from cos.core.rules import Rule
from cos.core.toml_source import read_text

_KEYS = ("tool", "match", "path", "risk", "origin", "tag", "expires_at", "decision")


def toml_text(rule: Rule) -> str:
    """The lines that `add_rule` would write."""
    document = tomlkit.document()
    document["approvals"] = tomlkit.table(is_super_table=True)
    rules = tomlkit.aot()
    rules.append(_table(rule))
    document["approvals"]["rules"] = rules
    return tomlkit.dumps(document).strip() + "\n"


def kept_words(rules: Sequence[Rule], scope: Literal["session", "always"], file: Path) -> str:
    """What would be kept for the session, or written into the profile's config.toml, as a person reads it."""
    if scope == "session":
        return "\n".join(["Until the session ends:", *(rule_words(rule) for rule in rules)])
    lines = "\n".join(toml_text(rule) for rule in rules)
    return f"Will be written into {file}:\n\n{lines}"


def add_rule(config_file: Path, rule: Rule, *, before: Rule | None = None) -> None:
    """Adds `rule` behind the others, or in front of the one that it is to win over.

    Nothing changes when the same rule is there already.

    Raises:
        ConfigError: the file is missing, wrong or cannot be written, or the rule is refused. It is left as it was.
    """
    _change(config_file, lambda document: _add(document, rule, before, config_file))


def remove_rule(config_file: Path, rule: Rule) -> bool:
    """Removes every rule that says the same as `rule`; whether there was one.

    Raises:
        ConfigError: the file is missing, wrong or cannot be written. It is left as it was.
    """
    return _change(config_file, lambda document: _remove(document, rule))


def _add(document: TOMLDocument, rule: Rule, before: Rule | None, config_file: Path) -> bool:
    listed = _listed(document)
    if _values(rule) in listed:
        return False
    approvals = document.setdefault("approvals", tomlkit.table(is_super_table=True))
    rules = approvals.get("rules")
    if rules is None:
        approvals["rules"] = rules = tomlkit.aot()
    elif not isinstance(rules, AoT):
        raise ConfigError(
            "the rules are written as one list: write each as a [[approvals.rules]] table, then a rule can be added",
            file=config_file,
            key="approvals.rules",
        )
    place = listed.index(_values(before)) if before is not None and _values(before) in listed else len(rules)
    rules.insert(place, _table(rule))
    return True


def _remove(document: TOMLDocument, rule: Rule) -> bool:
    wanted = _values(rule)
    places = [index for index, values in enumerate(_listed(document)) if values == wanted]
    for index in reversed(places):
        del document["approvals"]["rules"][index]
    return bool(places)


def _listed(document: TOMLDocument) -> list[dict[str, Any]]:
    rules = document.unwrap().get("approvals", {}).get("rules", [])
    return [dict(item) for item in rules]


def _values(rule: Rule) -> dict[str, Any]:
    values = {key: getattr(rule, key) for key in _KEYS}
    return {key: str(value) if isinstance(value, str) else value for key, value in values.items() if value is not None}


def _table(rule: Rule) -> Table:
    table = tomlkit.table()
    for key, value in _values(rule).items():
        table.add(key, value)
    return table


def _change(config_file: Path, edit: Callable[[TOMLDocument], bool]) -> bool:
    """Reads, edits, checks and replaces the file under the lock; whether `edit` changed anything."""
    try:
        target = config_file.resolve(strict=True)
        with _locked(target):
            load_settings(config_file)
            document = tomlkit.parse(read_text(target))
            if not edit(document):
                return False
            _replace(target, tomlkit.dumps(document))
    except FileNotFoundError as error:
        raise FolderError("is not there any more, so the rule was not written", file=config_file) from error
    except OSError as error:
        raise FolderError(f"cannot be written, so the rule was not: {error.strerror}", file=config_file) from error
    except TOMLKitError as error:
        raise ConfigError(f"cannot be changed, so the rule was not written: {error}", file=config_file) from error
    return True


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    handle = os.open(file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(target: Path, text: str) -> None:
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "it is read-only")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fchmod(file.fileno(), target.stat().st_mode & 0o7777)
            os.fsync(file.fileno())
        _check(temporary, target)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _check(temporary: Path, target: Path) -> None:
    """What is written must be read again without an error; the error names the real file."""
    try:
        load_settings(temporary)
    except ConfigError as error:
        raise ConfigError(
            f"the new rule was refused: {error.problem}", file=target, key=error.key, value=error.value
        ) from error
