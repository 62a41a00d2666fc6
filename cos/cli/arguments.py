"""The command line's shape. Imports nothing but argparse: `cos --help` must answer at once."""

from __future__ import annotations

import argparse
from datetime import date
from typing import Any

from cos import __version__
from cos.cli.db_arguments import db_arguments
from cos.cli.memory_arguments import memory_arguments
from cos.cli.session_arguments import sessions_arguments

DEFAULT_PORT = 4267
"""Of the dashboard."""
COMMANDS = {
    "chat": "cos.cli.chat",
    "serve": "cos.cli.serve",
    "ask": "cos.cli.ask",
    "sessions": "cos.cli.sessions",
    "approvals": "cos.cli.approvals",
    "cost": "cos.cli.plugin_command",
    "skills": "cos.cli.skills",
    "memory": "cos.cli.plugin_command",
    "profiles": "cos.cli.profiles",
    "plugins": "cos.cli.plugins",
    "export": "cos.cli.export",
    "config": "cos.cli.config",
    "db": "cos.cli.db",
    "doctor": "cos.cli.doctor",
}
"""Command -> the module that runs it, imported only then."""


class Parser(argparse.ArgumentParser):
    """Each command answers for what it does not know itself, with its own usage."""

    def parse_known_args(self, *given: Any, **named: Any) -> tuple[Any, list[str]]:
        options, unknown = super().parse_known_args(*given, **named)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="cos",
        description="CommonOS: several agents, one terminal. Start with `cos chat`.",
        epilog="Settings live in commonos.toml and profiles/<id>/; `cos doctor` tells where. "
        "Exit codes of `cos ask`: 0 completed, 1 failed, 2 usage or configuration, 3 refused or denied, 4 cancelled, "
        "5 stopped by a budget.",
    )
    parser.add_argument("--version", action="version", version=f"cos {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _chat(commands.add_parser("chat", help="open the terminal app"))
    _serve(commands.add_parser("serve", help="the dashboard in a browser, with or without the app"))
    _ask(commands.add_parser("ask", help="run one turn and print the reply"))
    sessions_arguments(commands.add_parser("sessions", help="list, show, change and delete sessions"))
    _approvals(commands.add_parser("approvals", help="list and answer what waits for an answer"))
    _cost(commands.add_parser("cost", help="what clients, projects and models cost, and budgets"))
    _skills(commands.add_parser("skills", help="list and check the skills of the profiles"))
    memory_arguments(commands.add_parser("memory", help="what agents remember: list, add, edit, remove"))
    _listing(commands.add_parser("profiles", help="the agents: model, key, tags, folder"), "profiles")
    _listing(commands.add_parser("plugins", help="what is enabled, what each brings, what could be"), "plugins")
    _export(commands.add_parser("export", help="write a session as Markdown or JSON"))
    db_arguments(commands.add_parser("db", help="the database: address, server, psql, backup, restore, check"))
    _config(commands.add_parser("config", help="every setting with who set it, and the paths"))
    _doctor(commands.add_parser("doctor", help="check everything and say what to do"))
    return parser


def _chat(parser: argparse.ArgumentParser) -> None:
    parser.description = "Open the full-screen app: sessions, conversation, approvals."
    _profile(parser)
    parser.add_argument("--session", metavar="ID", help="open this session; the first characters of its id are enough")
    parser.add_argument("--continue", dest="resume", action="store_true", help="open the newest session")
    _tags(parser)


def _tags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tag", dest="tags", action="append", default=[], metavar="KEY:VALUE", help="tag of the new session"
    )


def _ask(parser: argparse.ArgumentParser) -> None:
    parser.description = "Run one turn without the app. The reply is streamed to standard output."
    parser.add_argument("text", metavar="TEXT", help="the message; - reads it from standard input")
    _profile(parser)
    session = parser.add_mutually_exclusive_group()
    session.add_argument("--session", metavar="ID", help="go on in this session")
    session.add_argument("--continue", dest="resume", action="store_true", help="go on in the newest session")
    _tags(parser)
    parser.add_argument("--json", action="store_true", help="print every event as one JSON object a line")
    parser.add_argument(
        "--approve",
        choices=["ask", "deny"],
        help="ask: wait for an answer (here, when this is a terminal); deny: refuse what needs approval. "
        "Default: ask on a terminal, else deny",
    )
    parser.add_argument(
        "--timeout-seconds", type=_seconds, metavar="N", help="cancel the turn when it takes longer than this"
    )


def _approvals(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Requests for approval of every session and every running cos on the database. Without an action: list."
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    parser.set_defaults(action="list", json=False)
    listing = actions.add_parser("list", help="what waits, with the exact text of what would run")
    listing.add_argument("--json", action="store_true", help="print the requests as JSON")
    approve = actions.add_parser("approve", help="allow one call")
    deny = actions.add_parser("deny", help="refuse one call, or decline to answer a question")
    answer = actions.add_parser("answer", help="answer a question of an agent")
    approve.add_argument(
        "--scope",
        choices=["once", "session", "always"],
        default="once",
        help="session: also the same call in this session; always: also in later sessions, by a rule in the profile",
    )
    grants = actions.add_parser("grants", help="what was allowed for whole sessions and still holds")
    grants.add_argument("--json", action="store_true", help="print the grants as JSON")
    revoke = actions.add_parser("revoke", help="end a grant")
    for action in (approve, deny, answer, revoke):
        action.add_argument("id", metavar="ID", help="the id from the list; its beginning or end is enough")
    answer.add_argument("text", metavar="TEXT|NUMBER", help="the answer in your words, or the number of a choice")
    deny.add_argument("--reason", metavar="TEXT", help="what the model is told, word for word")


def _cost(parser: argparse.ArgumentParser) -> None:
    parser.description = "What model calls cost, from the database. Without an action: a report."
    parser.add_argument(
        "--by",
        metavar="KEY|tag|profile|model|session|day|week|month",
        help="the key of a tag (client groups by client:...), or one of the words; default: bill.tag_key",
    )
    parser.add_argument("--with-children", action="store_true", help="by session: child sessions count for their root")
    parser.add_argument("--since", type=_day, metavar="DAY", help="from this day on, such as 2026-11-01")
    parser.add_argument("--until", type=_day, metavar="DAY", help="up to this day, which is included")
    parser.add_argument("--tz", metavar="ZONE", help="the time zone of the days, such as Europe/Berlin")
    parser.add_argument("--format", choices=["table", "csv", "json"], default="table", help="csv and json are exact")
    parser.add_argument("--speed", action="store_true", help="time to the first token and tokens per second by model")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    budgets = actions.add_parser("budgets", help="every budget and what is spent of it")
    override = actions.add_parser("override", help="let a budget spend more, once, in its present period")
    override.add_argument("budget", metavar="BUDGET", help="its name, such as client:acme/month")
    override.add_argument("amount", metavar="AMOUNT", help="US dollars")
    for action in (budgets, override):
        action.add_argument("--session", metavar="ID", help="the session, for a budget per session")
    reprice = actions.add_parser("reprice", help="price the calls that had no price; priced ones never change")
    reprice.add_argument("--dry-run", action="store_true", help="only say what would be priced")


def _skills(parser: argparse.ArgumentParser) -> None:
    parser.description = "List the skills of every profile. Exit code 1 when one of them is broken."
    parser.add_argument("--profile", metavar="ID", help="only the skills of this profile")
    parser.add_argument("--json", action="store_true", help="print the skills as JSON")


def _export(parser: argparse.ArgumentParser) -> None:
    parser.description = "Write the whole history of a session, also what was undone or compacted."
    parser.add_argument("id", metavar="ID", help="the session; the first characters of its id are enough")
    parser.add_argument("--format", choices=["markdown", "json"], default="markdown", help="default: markdown")
    parser.add_argument("--output", metavar="FILE", help="write into this file instead of standard output")
    parser.add_argument("--force", action="store_true", help="replace the file when it exists")
    parser.add_argument(
        "--thinking", action="store_true", help="show in Markdown what the model thought; JSON always holds it"
    )


def _config(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Every setting as it takes effect, with its source. A flag wins over the environment, that over the profile, "
        "that over commonos.toml, that over the default. Files in the working folder are never read."
    )
    parser.add_argument("key", metavar="KEY", nargs="?", help="only this setting, or this table, such as database")
    _profile(parser)
    parser.add_argument("--json", action="store_true", help="print them as JSON")


def _serve(parser: argparse.ArgumentParser) -> None:
    parser.description = "Serve the dashboard on this machine (127.0.0.1), and open the app unless --headless."
    parser.add_argument("--headless", action="store_true", help="only the dashboard: for a server or a service")
    parser.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, metavar="N", help=f"default: {DEFAULT_PORT}; 0 = any that is free"
    )
    parser.add_argument("--host", type=_loopback, metavar="ADDRESS", help="only 127.0.0.1 and localhost are accepted")
    parser.add_argument(
        "--log-format", choices=["text", "json"], default="text", help="of the log lines on standard error (headless)"
    )
    _profile(parser)


def _listing(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--json", action="store_true", help=f"print the {what} as JSON")


def _doctor(parser: argparse.ArgumentParser) -> None:
    parser.description = "Check folders, settings, profiles, keys, the database and the terminal."
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")


def _profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", metavar="ID", help="the profile to use (else COS_PROFILE, else default_profile)")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day such as 2026-11-01") from None


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65_535):
        raise argparse.ArgumentTypeError(f"{text!r} is no port from 0 to 65535")
    return int(text)


def _loopback(text: str) -> str:
    if text not in {"127.0.0.1", "localhost"}:
        raise argparse.ArgumentTypeError(
            f"the dashboard listens on 127.0.0.1 only, not on {text!r}; from another machine, use an ssh tunnel"
        )
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 31_536_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds
