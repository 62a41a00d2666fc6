"""The arguments of `cos memory`. Imports nothing but argparse, as all of the command line's shape."""

from __future__ import annotations

import argparse


def memory_arguments(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the actions of `cos memory`."""
    parser.description = (
        "What the agent of a profile remembers. Sessions keep the memory of their beginning. "
        "Without an action: the list."
    )
    parser.set_defaults(profile=None, session=None, json=False)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    listing = actions.add_parser("list", help="every entry with its number, and how full the memory is")
    listing.add_argument(
        "--session", metavar="ID", help="also what the prompt of this session lacks, or still holds; its first "
        "characters are enough",
    )  # fmt: skip
    listing.add_argument("--json", action="store_true", help="print it as one JSON object")
    add = actions.add_parser("add", help="remember something")
    add.add_argument("--user", action="store_true", help="as what is known about you, not among the agent's notes")
    edit = actions.add_parser("edit", help="give an entry other words")
    remove = actions.add_parser("remove", help="forget an entry")
    for action in (edit, remove):
        action.add_argument("number", metavar="NUMBER", type=_number, help="the entry's number in the list")
    for action in (add, edit):
        action.add_argument("text", metavar="TEXT", help="the whole entry")
    for action in (listing, add, edit, remove):
        action.add_argument("--profile", metavar="ID", help="whose memory (else COS_PROFILE, else default_profile)")


def _number(text: str) -> int:
    digits = text.removeprefix("#")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of an entry; `cos memory list` shows them")
    return int(digits)
