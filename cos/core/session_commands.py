"""The slash commands of the core: what a user does with a session on every surface, by Hermes' names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cos.agent.events import Usage
from cos.agent.tags import Tag, merge_tags
from cos.core.agent_lines import agent_lines
from cos.core.commands import Command, CommandAnswer, CommandCall
from cos.core.errors import CommandError
from cos.core.export import Format
from cos.core.export_file import export_to_file
from cos.core.inbound import Accepted, Inbound
from cos.core.session_edits import where_undone
from cos.core.whole_file import FileIsThereError

if TYPE_CHECKING:
    from cos.agent.provider import Provider
    from cos.agent.steering import DeliveryMode
    from cos.core.dispatcher import Dispatcher, ProfileAgent
    from cos.core.plugin_api import UsageLines
    from cos.core.plugins import LoadedPlugins
    from cos.core.postgres.exports import Exports
    from cos.core.postgres.session_options import SessionOptions
    from cos.core.postgres.sessions import Sessions
    from cos.core.session_edits import SessionEdits

Run = Callable[[CommandCall], Awaitable[CommandAnswer]]
_DATED: Final = re.compile(r"-(?:\d{8}|latest)$")
"""How a name fixes one version of a model."""
_EXPORT: Final = "write the session to a file; without FILE to one where cos was started"
_SUFFIXES: Final = {"markdown": "md", "json": "json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionServices:
    """What the commands work with."""

    dispatcher: Dispatcher
    sessions: Sessions
    edits: SessionEdits
    options: SessionOptions
    exports: Exports
    plugins: LoadedPlugins
    agents: Mapping[str, ProfileAgent]
    providers: Mapping[str, Provider]


class SessionCommands:
    """Their list is `all`."""

    def __init__(self, services: SessionServices) -> None:
        self._core = services

    def all(self) -> Iterable[Command]:
        rows: list[tuple[str, str, str, Run]] = [
            ("title", "[TITLE]", "show or change the title", self._title),
            ("tag", "[KEY:VALUE …] [-KEY:VALUE …]", "show the tags, add some, take some away", self._tag),
            ("model", "[NAME]", "the model of the next turns; - is the profile's", self._model),
            ("compact", "[INSTRUCTIONS]", "let the model read a summary of the history", self._compact),
            ("undo", "[TURNS]", "take back the last turn; its prompt returns to you", self._undo),
            ("retry", "", "run the last prompt again", self._retry),
            ("fork", "", "go on in a copy", self._fork),
            ("archive", "", "put the session away", self._archive),
            ("unarchive", "", "take the session back", self._unarchive),
            ("queue", "TEXT", "send after the running turn", self._queue),
            (
                "steer",
                "TEXT",
                "say it into the running turn",
                lambda call: self._send(call, "steer"),
            ),
            ("stop", "", "stop the running turn", self._stop),
            ("usage", "", "tokens of this session", self._usage),
            ("tools", "", "what the agent can do", self._tools),
            ("export", "[markdown|json] [FILE]", _EXPORT, self._export),
        ]
        of_session = [
            Command(name=name, arguments=args, summary=text, run=run, only_open=name in {"undo", "fork"})
            for name, args, text, run in rows
        ]
        plugins = Command(name="plugins", summary="the enabled plugins", run=self._list_plugins, needs_session=False)
        what_runs = "every turn that runs here, with its child agents"
        agents = Command(name="agents", summary=what_runs, run=self._agents, needs_session=False)
        return [*of_session, plugins, agents]

    async def _title(self, call: CommandCall) -> CommandAnswer:
        if not call.argument:
            return CommandAnswer(text=f"Title: {call.open_session.title or 'none'}")
        return CommandAnswer(text=f"Title: {await self._core.edits.rename(call.open_session.id, call.argument)}")

    async def _tag(self, call: CommandCall) -> CommandAnswer:
        tags: Iterable[str] = call.open_session.tags
        if call.argument:
            tags = await self._core.edits.set_tags(call.open_session.id, changed_tags(tags, call.argument))
        return CommandAnswer(text=f"Tags of this session: {' '.join(tags) or 'none'}. The next turn takes them.")

    async def _model(self, call: CommandCall) -> CommandAnswer:
        if not call.argument:
            profile = self._core.dispatcher.profiles[call.profile_id]
            now = call.open_session.model or profile.settings.model or f"that of {profile.settings.provider}"
            return CommandAnswer(text=f"Model: {now}. /model NAME changes it for this session's next turns.")
        model = None if call.argument == "-" else call.argument
        await self._core.options.set_model(call.open_session.id, model)
        doubt = unknown_model(model, self._core.providers[call.profile_id]) if model else ""
        return CommandAnswer(text=f"{doubt}The next turns are answered by {model or 'the model of the profile'}.")

    async def _compact(self, call: CommandCall) -> CommandAnswer:
        turn_id = await self._core.dispatcher.compact(call.open_session.id, call.argument or None)
        return CommandAnswer(turn_id=turn_id)

    async def _undo(self, call: CommandCall) -> CommandAnswer:
        turns = call.argument or "1"
        if not re.fullmatch("[0-9]{1,6}", turns) or int(turns) < 1:
            raise CommandError(f"/undo takes a number of turns, not {call.argument[:40]!r}")
        undone = await self._core.edits.undo(call.open_session.id, int(turns))
        what = "the last turn" if undone.turns == 1 else f"the last {undone.turns} turns"
        return CommandAnswer(text=f"Took back {what}. {where_undone(undone.turns)}", draft=undone.prompts)

    async def _retry(self, call: CommandCall) -> CommandAnswer:
        accepted = await self._core.dispatcher.retry(call.open_session.id)
        return CommandAnswer(turn_id=accepted.turn_id, text=accepted.trouble)

    async def _fork(self, call: CommandCall) -> CommandAnswer:
        fork = await self._core.edits.fork(call.open_session.id)
        return CommandAnswer(text="This is a copy; the other session stays as it is.", session_id=fork)

    async def _archive(self, call: CommandCall) -> CommandAnswer:
        await self._core.edits.archive(call.open_session.id)
        return CommandAnswer(text="The session is archived. /unarchive brings it back, and so does your next message.")

    async def _unarchive(self, call: CommandCall) -> CommandAnswer:
        await self._core.edits.archive(call.open_session.id, False)
        return CommandAnswer(text="The session is in the lists.")

    async def _queue(self, call: CommandCall) -> CommandAnswer:
        return await self._send(call, "queue")

    async def _steer(self, call: CommandCall) -> CommandAnswer:
        return await self._send(call, "steer")

    async def _send(self, call: CommandCall, mode: DeliveryMode) -> CommandAnswer:
        if not call.argument:
            raise CommandError("there is no text behind the command")
        accepted: Accepted = await self._core.dispatcher.dispatch(
            Inbound(
                text=call.argument,
                profile_id=call.profile_id,
                source=call.source,
                session_id=call.open_session.id,
                mode=mode,
                pictures=call.pictures,
                is_verbatim=True,
            )
        )
        return CommandAnswer(turn_id=accepted.turn_id, text=accepted.trouble)

    async def _stop(self, call: CommandCall) -> CommandAnswer:
        if not self._core.dispatcher.cancel(call.open_session.id):
            raise CommandError("no turn of this session runs here")
        return CommandAnswer()

    async def _usage(self, call: CommandCall) -> CommandAnswer:
        session_id = call.open_session.id
        tokens = usage_lines(await self._core.sessions.usage(session_id))
        usage: UsageLines | None = self._core.plugins.offered("usage")
        more = await usage(session_id) if usage else []
        return CommandAnswer(text="\n".join([*tokens, *more]))

    async def _tools(self, call: CommandCall) -> CommandAnswer:
        tools = self._core.agents[call.profile_id].tools
        lines = [f"{tool.name:<16} {tool.origin:<12} {tool.title}" for _, tool in sorted(tools.tools.items())]
        return CommandAnswer(text="\n".join(lines) or "This profile has no tools.")

    async def _export(self, call: CommandCall) -> CommandAnswer:
        words = call.argument.split(maxsplit=1)
        kind: Format = "json" if words and (words[0] == "json" or words[-1].endswith(".json")) else "markdown"
        if "\x00" in call.argument:
            raise CommandError("a file's name cannot hold the character U+0000")
        if words and words[0] in _SUFFIXES:
            words.pop(0)
        session = call.open_session
        target = _target(words[0] if words else f"cos-{session.id}.{_SUFFIXES[kind]}")
        try:
            count = await export_to_file(self._core.exports, session.id, kind, target)
        except FileIsThereError:
            raise CommandError(f"{target} exists and stays; give another name: /export {kind} FILE") from None
        return CommandAnswer(text=f"{count} messages are in {target}")

    async def _list_plugins(self, call: CommandCall) -> CommandAnswer:
        lines = [
            f"{name:<16} {', '.join(tool.name for tool in registered.tools) or 'no tools'}"
            for name, registered in self._core.plugins.registrations.items()
        ]
        return CommandAnswer(text="\n".join(lines) or "No plugin is enabled.")

    async def _agents(self, call: CommandCall) -> CommandAnswer:
        running = self._core.dispatcher.turns.all
        ids = [it.turn.session_id for it in running]
        lines = agent_lines(running, {session_id: await self._core.sessions.get(session_id) for session_id in ids})
        return CommandAnswer(text="\n".join(lines) or "No turn runs here.")


def _target(named: str) -> Path:
    """Relative to where cos was started.

    Raises:
        CommandError: it is no path.
    """
    try:
        return Path.cwd() / Path(named).expanduser()
    except RuntimeError as error:
        raise CommandError(f"{named!r}: there is no such home folder") from error


def unknown_model(model: str, provider: Provider) -> str:
    """What to say about a model that its provider is not known to have, with a line break; empty when it is, or when
    nothing is known."""
    known = provider.known_models()
    if not known or _DATED.sub("", model) in known:
        return ""
    near = difflib.get_close_matches(model, known, n=3)
    meant = f"Did you mean {' or '.join(near)}? " if near else f"Known are {', '.join(known[:6])} and others. "
    return (
        f"Warning: {provider.name} is not known to have a model {model}. {meant}"
        "If there is none, the next turn says so and ends; /model - goes back.\n"
    )


def changed_tags(tags: Iterable[str], argument: str) -> tuple[Tag, ...]:
    """`tags` after `key:value …` was added and `-key:value …` taken away.

    Raises:
        TagError: one is no tag.
    """
    words = argument.split()
    gone = merge_tags(word[1:] for word in words if word.startswith("-"))
    kept = merge_tags(tags, (word for word in words if not word.startswith("-")))
    return tuple(tag for tag in kept if tag not in gone)


def usage_lines(usage: Usage) -> list[str]:
    """Every count of a usage on its own line; what nobody reported is a question mark."""
    named = [
        ("input", usage.input_tokens),
        ("cache read", usage.cache_read_tokens),
        ("cache write, 5 min", usage.cache_write_5m_tokens),
        ("cache write, 1 h", usage.cache_write_1h_tokens),
        ("output", usage.output_tokens),
    ]
    return [f"{name:<20} {'?' if count is None else f'{count:,}'}" for name, count in named]
