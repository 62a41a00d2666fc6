"""`/context`: what the model gets before and with the next message, with its sources, sizes and what is stale."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cos.agent.messages import AssistantMessage, ToolResultMessage, UserMessage, json_text
from cos.agent.text import visible
from cos.agent.tokens import estimated_tokens
from cos.core.commands import Command, CommandAnswer, CommandCall
from cos.core.errors import CommandError
from cos.core.frozen import PLACE, WHOLE, PromptPart, build_prompt, parts_from_json, prompt_from_json
from cos.core.profiles import open_workspace

if TYPE_CHECKING:
    from cos.agent.journal import Journal
    from cos.agent.messages import Message
    from cos.agent.provider import Provider, SessionPrompt, ToolSpec
    from cos.agent.records import ContextMeter
    from cos.core.dispatcher import ProfileAgent
    from cos.core.session_contexts import SessionContexts

_NAME_COLUMNS: Final = 18
_CHANGED: Final = "changed since"
_GONE: Final = "gone since"
_NEW: Final = "new since"
_LINE_COLUMNS: Final = 41
_MORE: Final = "~: tokens, estimated from the length. /context NAME shows a part or a tool word for word."


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that a model gets."""

    parts: Sequence[PromptPart]
    prompt: SessionPrompt
    now: Sequence[PromptPart]
    """What a session that begins now would get."""
    history: Sequence[Message]
    is_frozen: bool
    """False: the session has not begun; `parts` are what it would get."""
    stale_tools: Sequence[str] = ()
    """Tools that differ from those of a session that begins now."""
    meter: ContextMeter | None = None
    window: int | None = None


class ContextCommand:
    """`command` is its command."""

    def __init__(
        self,
        contexts: SessionContexts,
        journal: Journal,
        agents: Mapping[str, ProfileAgent],
        providers: Mapping[str, Provider],
    ) -> None:
        self._contexts = contexts
        self._journal = journal
        self._agents = agents
        self._providers = providers

    def command(self) -> Command:
        return Command(
            name="context",
            arguments="[NAME]",
            summary="what the model gets: system prompt, tools and history, with sizes and what is stale",
            run=self._run,
            needs_session=False,
        )

    async def _run(self, call: CommandCall) -> CommandAnswer:
        seen = await self._look(call)
        return CommandAnswer(text=visible(_part(seen, call.argument) if call.argument else "\n".join(_lines(seen))))

    async def _look(self, call: CommandCall) -> Seen:
        agent, session = self._agents[call.profile_id], call.session
        here = session.cwd if session else None
        workspace = Path(here) if here else await asyncio.to_thread(open_workspace, agent.profile)
        now = await self._contexts.parts(agent.profile, agent.tools, workspace)
        prompt = build_prompt(agent.profile, agent.tools, now)
        window = self._providers[call.profile_id].context_window
        if session is None or session.frozen_prompt is None:
            return Seen(parts=now, prompt=prompt, now=now, history=(), is_frozen=False, window=window(prompt.model))
        frozen, parts = prompt_from_json(session.frozen_prompt), parts_from_json(session.frozen_prompt)
        if session.is_child:
            now, prompt = parts, frozen  # It was made for one task: no other session would begin like it.
        return Seen(
            parts=parts,
            prompt=frozen,
            now=now,
            history=await self._journal.load_history(session.id),
            is_frozen=True,
            stale_tools=_changed_tools(frozen.tools, prompt.tools),
            meter=session.context,
            window=window(session.model or frozen.model),
        )


def _lines(seen: Seen) -> list[str]:
    began = "frozen" if seen.is_frozen else "not frozen yet"
    stale = _stale(seen)
    system = sum(estimated_tokens(part.text) for part in seen.parts)
    tools = {tool.name: _tool_tokens(tool) for tool in seen.prompt.tools}
    lines = [_row("System prompt", system, began)]
    lines += [_row(f"  {part.source}", estimated_tokens(part.text), stale.get(part.source, "")) for part in seen.parts]
    lines += [_row(f"  {name}", 0, note) for name, note in stale.items() if note == _NEW]
    lines += [_row(f"Tools, {len(tools)}", sum(tools.values()), _CHANGED if seen.stale_tools else "")]
    lines += _wrapped([f"{name} ~{size:,}" for name, size in tools.items()])
    lines += _wrapped(
        [f"changed, new or gone: {seen.stale_tools[0]}", *seen.stale_tools[1:]] if seen.stale_tools else []
    )
    history = list(_history(seen.history))
    total = sum(size for _, size in history)
    lines += [_row("History", total, f"{len(seen.history):,} messages")]
    lines += [_row(f"  {name}", size, "") for name, size in history]
    lines += ["", _total(seen, system + sum(tools.values()) + total)]
    if stale or seen.stale_tools:
        lines.append("Stale: what changed since reaches new sessions only; /new begins one.")
    return [*lines, _MORE]


def _row(name: str, tokens: int, note: str) -> str:
    return f"{name:<{_NAME_COLUMNS}} {f'~{tokens:,}':>8}  {note}".rstrip()


def _stale(seen: Seen) -> dict[str, str]:
    """Source -> how it differs from what a session that begins now would get. The date differs every day."""
    mine, now = _texts(seen.parts), _texts(seen.now)
    if not seen.is_frozen or WHOLE in mine:
        return {}
    notes = {source: _GONE if source not in now else _CHANGED for source in mine if mine[source] != now.get(source)}
    notes |= {source: _NEW for source in now if source not in mine}
    notes.pop(PLACE, None)
    return notes


def _texts(parts: Iterable[PromptPart]) -> dict[str, str]:
    """By source; a plugin may have several."""
    texts: dict[str, str] = {}
    for part in parts:
        texts[part.source] = f"{texts[part.source]}\n\n{part.text}" if part.source in texts else part.text
    return texts


def _changed_tools(mine: Sequence[ToolSpec], now: Sequence[ToolSpec]) -> list[str]:
    old, new = {tool.name: tool for tool in mine}, {tool.name: tool for tool in now}
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def _tool_text(tool: ToolSpec) -> str:
    return json_text({"name": tool.name, "description": tool.description, "input_schema": tool.schema})


def _tool_tokens(tool: ToolSpec) -> int:
    return estimated_tokens(_tool_text(tool))


def _wrapped(items: Iterable[str]) -> list[str]:
    """The items in lines that fit between the side panes of a terminal of 120 columns."""
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(item) <= _LINE_COLUMNS:
            lines[-1] += f", {item}"
            continue
        if lines:
            lines[-1] += ","
        lines.append(f"  {item}")
    return lines


def _history(history: Sequence[Message]) -> Iterable[tuple[str, int]]:
    """Kinds of messages with their tokens."""
    sizes: dict[str, int] = {}
    for message in history:
        kind, text = _sent(message)
        sizes[kind] = sizes.get(kind, 0) + estimated_tokens(text)
    return sizes.items()


def _sent(message: Message) -> tuple[str, str]:
    """What kind of message it is, and the text of it that is sent."""
    if isinstance(message, UserMessage):
        kind = "your messages" if message.compaction is None else "summary"
        return kind, "\n".join(filter(None, [message.text, message.context]))
    if isinstance(message, ToolResultMessage):
        return "tool results", message.content
    assert isinstance(message, AssistantMessage)
    if message.blocks:
        return "replies", json_text(message.blocks)
    return "replies", "\n".join([message.text or "", *(json_text(call.args) for call in message.tool_calls)])


def _total(seen: Seen, estimate: int) -> str:
    window = f" of the {seen.window:,} that {seen.prompt.model} takes" if seen.window else ""
    said = f"Together ~{estimate:,} tokens{window}."
    if seen.meter is None:
        return f"{said} No model has counted them yet."
    share = "" if seen.meter.percent is None else f" ({seen.meter.percent}%)"
    return f"{said} The last model call counted {seen.meter.used:,}{share}, pictures and its reply included."


def _part(seen: Seen, name: str) -> str:
    """The exact text of a part, a tool or the whole system prompt."""
    texts = _texts(seen.parts) | {tool.name: _tool_text(tool) for tool in seen.prompt.tools}
    texts |= {WHOLE: seen.prompt.system}
    short = {source.removeprefix("plugin "): text for source, text in texts.items()}
    wanted = name.casefold()
    for known, text in [*texts.items(), *short.items()]:
        if known.casefold() == wanted:
            return text
    raise CommandError(f"the context has no part {name[:40]!r}; there are {', '.join(texts)}")
