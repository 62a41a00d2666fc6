"""The arguments of `cos sessions`. Imports nothing but argparse, as all of the command line's shape."""

from __future__ import annotations

import argparse


def sessions_arguments(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the actions of `cos sessions`."""
    parser.description = (
        "Sessions of every profile. An ID may be given by its first characters. Without an action: list."
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    listing = actions.add_parser("list", help="the newest sessions")
    _list(listing)
    parser.set_defaults(action="list", **vars(listing.parse_args([])))
    _search(actions.add_parser("search", help="find what was said in any session"))
    show = _on_one(actions, "show", "print a conversation as plain text")
    show.add_argument("--json", action="store_true", help="print it as one JSON object")
    rename = _on_one(actions, "rename", "give a session another title")
    rename.add_argument("title", metavar="TITLE", help="one line; longer titles are cut")
    _tag(_on_one(actions, "tag", "add and remove a session's own tags; the next turn takes them"))
    for name, words in (("archive", "take sessions out of the lists"), ("unarchive", "bring sessions back")):
        actions.add_parser(name, help=words).add_argument("ids", metavar="ID", nargs="+", help="the session")
    _fork(_on_one(actions, "fork", "begin a new session with a copy of this one's history"))
    undo = _on_one(actions, "undo", "rewind a session to before its last turns")
    undo.add_argument("--turns", type=_count, default=1, metavar="N", help="how many turns (default: 1)")
    delete = actions.add_parser("delete", help="delete sessions with all that belongs to them")
    delete.add_argument("ids", metavar="ID", nargs="+", help="the session")
    delete.add_argument("--yes", action="store_true", help="do not ask")


def _on_one(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, words: str
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=words)
    parser.add_argument("id", metavar="ID", help="the session")
    return parser


def _list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", metavar="P", help="only sessions of this profile")
    parser.add_argument("--archived", action="store_true", help="the archived sessions instead")
    parser.add_argument("--limit", type=_count, default=50, metavar="N", help="at most this many (default: 50)")
    parser.add_argument("--json", action="store_true", help="print the sessions as JSON")


def _search(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        'Sessions in which all words were said, best first. OR between words: either; "a phrase": in this order; '
        "-word: not there (write -- before a TEXT that begins so); word*: its beginning."
    )
    parser.add_argument("text", metavar="TEXT", nargs="+", help="what to look for")
    parser.add_argument("--profile", metavar="P", help="only sessions of this profile")
    parser.add_argument(
        "--role", dest="roles", action="append", choices=["user", "assistant", "tool"], metavar="user|assistant|tool",
        help="whose messages to look through; may be repeated (default: user and assistant)",
    )  # fmt: skip
    parser.add_argument("--sort", choices=["best", "newest", "oldest"], default="best", help="default: best")
    parser.add_argument("--limit", type=_count, default=20, metavar="N", help="at most this many (default: 20)")
    parser.add_argument("--json", action="store_true", help="print the hits as JSON")


def _tag(parser: argparse.ArgumentParser) -> None:
    for option, words in (("--add", "a tag to add"), ("--remove", "a tag to remove")):
        parser.add_argument(option, action="append", default=[], metavar="KEY:VALUE", help=f"{words}; may be repeated")


def _fork(parser: argparse.ArgumentParser) -> None:
    cut = parser.add_mutually_exclusive_group()
    cut.add_argument(
        "--before", type=_count, metavar="N", help="copy the history up to before turn N, as `show` counts"
    )
    cut.add_argument("--through", type=_count, metavar="N", help="copy the history up to the end of turn N")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:10]) < 2**31 and len(text) <= 10):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)
