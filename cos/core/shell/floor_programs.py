"""The floor for one command: which program with which words is a catastrophe."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from cos.core.shell.places import absolute, is_disk, operands, wiped_place

_FILTERS = re.compile(
    r"-(?:i?name|i?path|i?wholename|i?regex|i?lname|[acm]time|[acm]min|newer\w*|size|empty|user|group|nouser|nogroup"
    r"|perm|inum|links|samefile|uid|gid|used)"
)
_DELETERS = frozenset({"rm", "shred", "unlink", "rmdir"})
_POWER = frozenset({"poweroff", "reboot", "halt", "kexec", "shutdown", "soft-reboot", "runlevel0", "runlevel6"})
_UNIT = re.compile(r"\.(?:target|service)$")
TRIGGER = "/proc/sysrq-trigger"
_SIGNAL_VALUE = frozenset({"-s", "--signal", "-n", "-q", "--queue"})
_ASKING = frozenset({"--help", "-h", "--version", "-V", "-?"})


@dataclass(frozen=True, slots=True)
class Look:
    """One command with its words resolved, the folder it starts in, and the home folder."""

    texts: list[str]
    folder: str
    home: PurePath

    @property
    def name(self) -> str:
        return self.texts[0].rpartition("/")[2]

    @property
    def arguments(self) -> list[str]:
        return self.texts[1:]

    def wiped(self, path: str) -> str | None:
        return wiped_place(path, self.folder, self.home)

    def absolute(self, path: str) -> str:
        return absolute(path, self.folder, self.home)

    def has(self, letters: str, *long: str) -> bool:
        """Whether an option is given: one of the letters, or the beginning of a long name."""
        for text in self.arguments:
            if text == "--":
                return False
            if text.startswith("--"):
                name = text[2:].partition("=")[0]
                if name and any(option.startswith(name) for option in long):
                    return True
            elif text.startswith("-") and any(letter in text for letter in letters):
                return True
        return False


def refusal(look: Look) -> str | None:
    """Why this command must never run, or None."""
    if not look.texts:
        return None
    if look.name.startswith("mkfs"):
        return None if _only_asks(look) else f"it formats a disk ({look.name})"
    check = _CHECKS.get(look.name)
    return check(look) if check else None


def _only_asks(look: Look) -> bool:
    return not look.arguments or bool(_ASKING.intersection(look.arguments))


def _deletes(look: Look) -> str | None:
    if any(text.startswith("--no-pres") for text in look.arguments) and look.has("rR", "recursive"):
        return "it deletes with --no-preserve-root"
    if look.has("rR", "recursive"):
        for path in operands(look.arguments):
            if place := look.wiped(path):
                return f"it deletes {place} with all that is in it"
    return None


def _finds(look: Look) -> str | None:
    runs = {one.rpartition("/")[2] for one in look.arguments}
    runs_deleter = bool({"-exec", "-execdir"}.intersection(look.arguments) and runs & _DELETERS)
    deletes = "-delete" in look.arguments or runs_deleter
    if not deletes or is_filtered(look.arguments):
        return None
    for path in searched(look.arguments):
        if place := look.wiped(path):
            return f"it deletes all files in {place}"
    return None


def searched(arguments: list[str]) -> list[str]:
    """The places that `find` looks in."""
    places = []
    for one in arguments:
        if one.startswith(("-", "(", "!")) and one not in {"-L", "-H", "-P"}:
            break
        if not one.startswith("-"):
            places.append(one)
    return places or ["."]


def is_filtered(arguments: list[str]) -> bool:
    """Whether `find` leaves something out, by its name, age or the like."""
    return any(
        _FILTERS.fullmatch(one) and following not in {"*", ".*", "*.*", "/*"}
        for one, following in zip(arguments, [*arguments[1:], ""], strict=True)
    )


def _changes_rights(look: Look) -> str | None:
    if look.has("R", "recursive"):
        for path in operands(look.arguments):
            if place := look.wiped(path):
                return f"it changes the owner or the rights of everything in {place}"
    return None


def _writes_disk(look: Look) -> str | None:
    for text in look.arguments:
        target = text.partition("=")[2] if look.name == "dd" and text.startswith("of=") else text
        if (look.name != "dd" or text.startswith("of=")) and is_disk(target):
            return f"it writes over the disk {target} ({look.name})"
        if target == TRIGGER:
            return "it makes the kernel act at once (sysrq-trigger)"
    return None


def _copies_to_disk(look: Look) -> str | None:
    targets = list(operands(look.arguments))[-1:]
    targets += [text.partition("=")[2] for text in look.arguments if text.startswith("--target-directory=")]
    found = next((target for target in targets if is_disk(target)), None)
    return f"it writes over the disk {found} ({look.name})" if found else None


def _mirrors(look: Look) -> str | None:
    target = list(operands(look.arguments))[-1:]
    deletes = any(text.startswith("--del") for text in look.arguments) and not look.has("n", "dry-run")
    if deletes and target and (place := look.wiped(target[0])):
        return f"it deletes everything in {place} that is not in the source (rsync --delete)"
    return _copies_to_disk(look)


def _moves(look: Look) -> str | None:
    *sources, _ = list(operands(look.arguments)) or [""]
    place = next((place for source in sources if (place := look.wiped(source))), None)
    return f"it moves {place} away" if place else _copies_to_disk(look)


def _kills(look: Look) -> str | None:
    texts = look.arguments
    if texts[:1] and texts[0] in _SIGNAL_VALUE:
        texts = texts[2:]
    elif len(texts) > 1 and texts[0].startswith("-") and texts[0] != "--":
        texts = texts[1:]
    return "it kills every process that it can reach" if "-1" in texts else None


def _stops_machine(look: Look) -> str | None:
    asking = {"-c", "--show", "--help"} if look.name == "shutdown" else _ASKING
    if asking.intersection(look.arguments):
        return None
    return f"it shuts the machine down or restarts it ({look.name})"


def _runlevel(look: Look) -> str | None:
    level = next(operands(look.arguments), "")
    return f"it shuts the machine down or restarts it ({look.name} {level})" if level in {"0", "6"} else None


def _system_control(look: Look) -> str | None:
    found = next((word for word in operands(look.arguments) if _UNIT.sub("", word) in _POWER), None)
    verb = next(operands(look.arguments), "")
    if found and (verb == found or not re.fullmatch(r"(list|is-|show|status|cat|help|mask|unmask)\S*", verb)):
        return f"it shuts the machine down or restarts it ({look.name} {found})"
    return None


def _wipes_disk(look: Look) -> str | None:
    if any(is_disk(text) for text in look.arguments):
        return f"it wipes a disk ({look.name})"
    return None


def _partitions(look: Look) -> str | None:
    clears = {
        "sgdisk": look.has("Zzo", "zap", "zap-all", "clear"),
        "parted": bool({"mklabel", "mktable"}.intersection(look.arguments)),
        "cryptsetup": bool({"luksFormat", "luksErase", "erase", "reencrypt"}.intersection(look.arguments)),
    }
    return f"it wipes a disk ({look.name})" if clears[look.name] else None


def _kills_all(_: Look) -> str | None:
    return "it kills every process that it can reach"


_CHECKS: dict[str, Callable[[Look], str | None]] = {
    "rm": _deletes,
    "find": _finds,
    **dict.fromkeys(("chmod", "chown", "chgrp", "setfacl"), _changes_rights),
    **dict.fromkeys(("dd", "tee", "truncate"), _writes_disk),
    **dict.fromkeys(("cp", "install"), _copies_to_disk),
    "rsync": _mirrors,
    **dict.fromkeys(("sgdisk", "parted", "cryptsetup"), _partitions),
    "mv": _moves,
    **dict.fromkeys(("wipefs", "shred", "blkdiscard", "mke2fs", "mkswap", "mkntfs", "mkdosfs"), _wipes_disk),
    "kill": _kills,
    "killall5": _kills_all,
    **dict.fromkeys(("shutdown", "reboot", "halt", "poweroff"), _stops_machine),
    **dict.fromkeys(("init", "telinit"), _runlevel),
    **dict.fromkeys(("systemctl", "loginctl"), _system_control),
}
ANYWHERE = frozenset(
    {"rm", "find", "chmod", "chown", "chgrp", "dd", "tee", "wipefs", "shred", "blkdiscard", "mke2fs", "mkswap", "kill"}
)
"""Programs whose words alone tell a wipe, wherever they stand in a text that could not be parsed."""
