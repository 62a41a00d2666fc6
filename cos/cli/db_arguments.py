"""The arguments of `cos db`. Imports nothing but argparse, as all of the command line's shape."""

from __future__ import annotations

import argparse


def db_arguments(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the actions of `cos db`."""
    parser.description = "The database of cos: its own, or the one that database.url or COS_DATABASE_URL names."
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    url = actions.add_parser("url", help="print the address, for psql and other tools")
    url.add_argument("--show-password", action="store_true", help="with the password of a given server")
    status = actions.add_parser("status", help="where it is, how large, and who uses it; starts nothing")
    status.add_argument("--json", action="store_true", help="print it as one JSON object")
    actions.add_parser("start", help="start cos' own server and keep it running")
    stop = actions.add_parser("stop", help="stop cos' own server")
    stop.add_argument("--force", action="store_true", help="also while other cos processes use it")
    # No argument begins with a NUL: all of them, `--help` too, are for psql.
    psql = actions.add_parser(
        "psql", help="open psql on it, with arguments such as -c SQL", prefix_chars="\0", add_help=False
    )
    psql.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER)
    backup = actions.add_parser("backup", help="write everything into one file (pg_dump's custom format)")
    backup.add_argument("file", metavar="FILE", help="the file to write; only you may read it")
    backup.add_argument("--force", action="store_true", help="replace the file when it exists")
    restore = actions.add_parser("restore", help="bring a backup back, whole or not at all")
    restore.description = (
        "Bring a backup back, whole or not at all. Bring back only what you trust: a backup holds statements of any "
        "kind, and they run with all rights of the database's account, on cos' own server also programs as you. The "
        "check sum shows damage on the way, not who made the file."
    )
    restore.add_argument("file", metavar="FILE", help="what `cos db backup` wrote")
    restore.add_argument("--force", action="store_true", help="replace what is there, after a backup of it")
    check = actions.add_parser("check", help="check the whole journal; exit code 1 when something is wrong")
    check.add_argument("--repair", action="store_true", help="repair what is safe, and say what was done")
    check.add_argument("--json", action="store_true", help="print what was found as JSON")
