"""Looks for planted instructions in what is to be remembered, because every later session would read them.

The text is compared in a plain form (compatibility and look-alike letters made Latin, accents and hidden characters
gone, small letters), so that spelling does not hide words. A pattern names what the text would have a model do; a
mere mention of a file or a rule is no hit.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

LONGEST: Final = 10_000
"""Characters that are looked at. A longer text is refused as it is."""

_ALIKE: Final = str.maketrans(
    "абвгеёзиіїјкмнорстухѕԁԛԝһցոսαβγεηικνορτυχωᴀᴄᴅᴇɡɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢıℓ",
    "abbreeeuiijkmhopctyxsdqwhgnuabyenikvoptuxwacdegghijklmnoprstuvwyzil",
)
"""Letters of other scripts that look like Latin ones, after they were made small."""
_HIDDEN_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_JOINERS: Final = frozenset("\u200c\u200d")
_GAP: Final = r"\W+"
_WORDS: Final = rf"(?:{_GAP}\w+){{0,%d}}?{_GAP}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threat:
    """What was found."""

    name: str
    """Of the pattern, such as `instruction_override`."""
    excerpt: str
    """Where: the words in plain form, or the code point."""


def _pattern(text: str) -> re.Pattern[str]:
    """A blank in `text` stands for any blanks and line breaks."""
    return re.compile(text.replace(" ", r"\s+"), re.MULTILINE)


_OVERRIDE: Final = (
    r"\b(?:ignore|disregard|forget|override|bypass|neglect|violate|circumvent"
    r"|(?:do not|don'?t|never|stop|no longer) (?:follow(?:ing)?|obey(?:ing)?))"
)
_RULES: Final = (
    r"(?:instructions?|rules?|prompts?|guidelines?|directives?|polic(?:y|ies)|orders?|restrictions?|limits)\b"
)
_BEFORE: Final = (
    r"(?:previous|prior|earlier|above|preceding|former|existing|your|system|safety|original|initial|developer)"
)
_ALL: Final = r"(?:all|any|each|every|these|those)"
_LINK: Final = rf"(?:{_GAP}(?:and|or|of|the|other|single|last|my|{_ALL[3:-1]}|{_BEFORE[3:-1]}))*"
_SECRET: Final = r"(?:api[ _-]?keys?|access[ _-]?tokens?|tokens|passwords?|secrets|credentials?|private[ _-]?keys?)"
_SEND: Final = r"(?:send|post|upload|forward|e?mail|exfiltrate|leak|transmit|copy)"
_SHOW_FILE: Final = r"\b(?:cat|less|more|head|tail|base64|xxd|curl|wget|scp|rsync|nc|type)\b[^\n]{0,80}?"
_TAGS: Final = r"(?:system|assistant|user|human|memory|instructions?|tool_result|tool_use|function_calls)"

_PATTERNS: Final[dict[str, tuple[re.Pattern[str], ...]]] = {
    "instruction_override": (
        _pattern(rf"{_OVERRIDE}{_WORDS % 3}{_ALL}{_LINK}{_GAP}{_RULES}"),
        _pattern(rf"{_OVERRIDE}{_WORDS % 5}{_BEFORE}{_WORDS % 3}{_RULES}"),
        _pattern(r"\b(?:new|updated|real) (?:system )?(?:instructions|prompt|directive)s?\s*:"),
    ),
    "role_hijack": (
        _pattern(r"\byou are (?:now|no longer|from now on)\b"),
        _pattern(r"\bfrom now on,? (?:you|act as|behave as)\b"),
        _pattern(r"\b(?:act|behave|respond) as (?:an? )?(?:unrestricted|unfiltered|uncensored|jailbroken|evil|dan)\b"),
        _pattern(r"\bpretend (?:that )?you\b"),
        _pattern(r"\b(?:enable|enter|switch to|activate) (?:developer|jailbreak|dan|god|unrestricted) mode\b"),
    ),
    "prompt_leak": (
        _pattern(rf"\b(?:reveal|print|show|output|repeat|leak|disclose){_WORDS % 4}system prompt\b"),
    ),
    "hide_from_user": (
        _pattern(r"\b(?:do not|don'?t|never|without) (?:tell(?:ing)?|inform(?:ing)?|alert(?:ing)?|notify(?:ing)?)"
                 r" (?:the |your )?(?:user|owner|human)\b"),
    ),
    "exfiltration": (
        _pattern(r"\b(?:curl|wget|nc|ncat|netcat|scp|rsync|invoke-webrequest)\b[^\n]*?"
                 r"(?:\$\{?\w*(?:key|token|secret|passw|credential)|\.env\b|id_(?:rsa|ed25519|ecdsa)|/etc/(?:passwd|shadow)"
                 r"|\.ssh/|\.aws/credentials|\.netrc)"),
        _pattern(rf"\b{_SEND}\b{_WORDS % 6}{_SECRET}{_WORDS % 6}(?:to|at){_GAP}"),
        _pattern(rf"\b{_SEND}\b[^\n]{{0,80}}?{_SECRET}[^\n]{{0,80}}?(?:https?://|\w@\w)"),
    ),
    "key_access": (
        _pattern(r"(?:>>?|\b(?:append|add|write|copy|echo|tee|insert|put)\b)[^\n]{0,120}?\bauthorized_keys\b"),
        _pattern(rf"{_SHOW_FILE}(?:\.ssh/|\bid_(?:rsa|ed25519|ecdsa)\b(?!\.pub))"),
        _pattern(rf"{_SHOW_FILE}\.env\b(?!\.(?:example|sample|template))"),
    ),
    "agent_files": (
        _pattern(rf"\b(?:edit|modify|append|write|overwrite|add|insert|inject|put|change|replace)\b{_WORDS % 8}"
                 r"(?:soul\.md|agents\.md|claude\.md|skill\.md|commonos\.toml|\.cursorrules)"),
        _pattern(r">>?\s*\S*(?:soul\.md|agents\.md|claude\.md|skill\.md|commonos\.toml|\.cursorrules)"),
    ),
    "secret": (
        _pattern(r"\bsk-(?:ant-|proj-)?[a-z0-9_-]{20,}"),
        _pattern(r"\bgh[pousr]_[a-z0-9]{30,}|\bgithub_pat_[a-z0-9_]{30,}|\bglpat-[a-z0-9_-]{20,}"),
        _pattern(r"\bakia[0-9a-z]{16}\b|\bxox[abprs]-[a-z0-9-]{10,}|\baiza[0-9a-z_-]{35}"),
        _pattern(r"-----begin (?:[a-z]+ )*private key-----"),
        _pattern(r"\b(?:api[ _-]?key|secret(?:[ _-]?key)?|access[ _-]?token|token|passw(?:or)?d)\b"
                 r"\s*(?:[:=]|is)\s*['\"`]?(?=[a-z0-9+/_.-]*[0-9])[a-z0-9+/_.-]{16,}"),
    ),
    "markup": (
        _pattern(rf"</\s*{_TAGS}\b[^>\n]*>|<\s*(?:system|assistant|instructions?)\b[^>\n]*>"),
        _pattern(r"<\|[a-z_]+\|>|\[/?inst\]|<<\s*/?sys\s*>>"),
        _pattern(r"^\s*(?:assistant|human)\s*:|\n\s*system\s*:"),
        _pattern(r"═{4,}|\bmemory \(your personal notes\)|\buser profile \(who the user is\)"),
    ),
}  # fmt: skip


def find_threat(text: str) -> Threat | None:
    """The first reason not to put `text` into a prompt; None when there is none."""
    if len(text) > LONGEST:
        return Threat(name="too_long", excerpt=f"{len(text):,} characters")
    hidden = _hidden_character(text)
    if hidden is not None:
        name = unicodedata.name(hidden, "a control character").lower()
        return Threat(name="invisible_character", excerpt=f"U+{ord(hidden):04X} ({name})")
    plain = plain_form(text)
    for name, patterns in _PATTERNS.items():
        for pattern in patterns:
            found = pattern.search(plain)
            if found is not None:
                return Threat(name=name, excerpt=" ".join(found.group().split())[:80])
    return None


def plain_form(text: str) -> str:
    """`text` as patterns see it."""
    decomposed = unicodedata.normalize("NFKD", text)
    kept = "".join(character for character in decomposed if not _vanishes(character))
    small = unicodedata.normalize("NFKC", kept).casefold().translate(_ALIKE)
    return re.sub(r"[^\S\n]+", " ", small.replace("’", "'"))


def _vanishes(character: str) -> bool:
    return unicodedata.category(character) in {"Mn", "Me", "Cf"} or character in _HIDDEN_LETTERS


def _hidden_character(text: str) -> str | None:
    """The first character that nobody sees; line breaks, tabs, emoji and joining scripts keep theirs."""
    for index, character in enumerate(text):
        if character in _JOINERS:
            around = (text[index - 1 : index], text[index + 1 : index + 2])
            if all(it and not it.isascii() for it in around):
                continue
            return character
        if character in "\ufe0e\ufe0f\n\t":
            continue
        is_variation = "\ufe00" <= character <= "\ufe0d" or "\U000e0100" <= character <= "\U000e01ef"
        if unicodedata.category(character) in {"Cf", "Cc"} or character in _HIDDEN_LETTERS or is_variation:
            return character
    return None
