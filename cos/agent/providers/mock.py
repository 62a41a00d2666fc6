"""The provider of the `demo` profile: scripted, without a network, and open about being no model.

It shows what cos does around a model: streamed Markdown, thinking, a tool call with its approval, a question to the
user, child agents, usage figures.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

from cos.agent.events import Usage
from cos.agent.messages import AssistantMessage, Message, ToolResultMessage, UserMessage, reply_text
from cos.agent.provider import (
    ModelChunk,
    ModelReply,
    ModelRequest,
    OtherProgress,
    ProposedCall,
    StreamStarted,
    TextChunk,
    ThinkingChunk,
)
from cos.agent.tokens import estimated_tokens

MODEL = "mock-1"
WINDOW = 200_000

_TOOL = "terminal"
# It writes: what only reads would run unasked.
_COMMAND = "echo 'Hello from the demo' > hello.txt && cat hello.txt"
_WANTS_TOOL = re.compile(r"\b(run|runs|tool|tools|list files|command|terminal|shell|approval|approve)\b", re.IGNORECASE)
_ASK_TOOL = "clarify"
_QUESTION = "What shall the demo show you next?"
_CHOICES = ["A tool call with its approval", "Thinking", "Nothing more"]
_WANTS_QUESTION = re.compile(r"\b(ask me|ask something|question|clarify)\b", re.IGNORECASE)
_DELEGATE_TOOL = "delegate_task"
_TASKS = [
    {"goal": "Run a command that writes a small file, and report what came back.", "context": "It is a demo."},
    {"goal": "Say what a child agent is.", "context": "It is a demo."},
]
_WANTS_CHILDREN = re.compile(r"\b(delegate|delegation|child agents?|subagents?)\b", re.IGNORECASE)
_WORDS = re.compile(r"\S+\s*|\s+")
_SHOWN_CHARACTERS = 2_000

_GREETING = """## Welcome to cos

I am `mock-1`, a **scripted demo**: no model is asked, nothing leaves this machine, and nothing costs money. \
What you see around me is real, though:

- this text arrives in pieces, as a model's would
- every message is a row in *your* database
- a tool call waits until you allow it
- my words are counted as tokens; what they would cost is made up and marked *demo*

Say **run a command** to see a tool call that needs your approval, **ask me something** to be asked a question, \
**delegate something** to see child agents, or **think** to see thinking.
"""
_ANSWER = """You said: *{said}*

I am a scripted demo and cannot answer that; a real model would. To use one, choose a profile whose provider is \
`anthropic`. Here, say **run a command** to see a tool call and its approval, **ask me something** to be asked, \
**delegate something** to see child agents, or **think** to see thinking.
"""
_THINKING = """The demo has no thoughts of its own. It shows where those of a model would appear. \
The user can fold them away."""
_PROPOSAL = "I propose a command that writes a small file. cos asks you first, unless your profile already allows it.\n"
_NO_TOOL = """This session has no tool named `{tool}`, so the demo cannot show it. \
Add `{tool}` to the profile's `tools`.
"""
_ASKS = "I ask you a question. You answer it where approvals are answered, too.\n"
_ANSWERED = "You answered: *{answer}*\n\nA model would now go on with that. The demo only shows that it arrived.\n"
_DELEGATES = "I give two tasks to child agents. Each has a session of its own; only their summaries come back.\n"
_CHILD = """I am a child agent of the demo: a session of my own, tools of my own, and no view of the conversation that \
I came from. These words are all that goes back to it.
"""
_DELEGATED = "The child agents have ended. This is what came back:\n\n{ends}\n\nTheir tokens are counted with them.\n"
_NOT_ANSWERED = """I have no answer. cos told me:

> {output}

So I take nothing for granted.
"""
_SUMMARY = "The demo was asked for a summary of {count} messages. A model would write here what matters of them.\n"
_NO_CALLS = "The demo was asked to stop calling tools. What happened so far stands above.\n"
_RAN = "The command ran. This is what came back:\n\n```\n{output}\n```\n\nThat was the whole demo of a tool call.\n"
_DID_NOT_RUN = """The command brought no result. cos told me:

> {output}

I have not tried it again, and I do not claim that it ran.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    text: str
    thinking: str = ""
    call: tuple[str, dict[str, object]] | None = None
    """Name and arguments."""


def _plan(request: ModelRequest) -> _Plan:
    last = request.messages[-1] if request.messages else None
    if not request.allow_tools:
        return _Plan(text=_NO_CALLS)
    if isinstance(last, ToolResultMessage):
        return _Plan(text=_reaction(last, request.messages))
    if isinstance(last, UserMessage) and last.origin == "compaction" and not _is_summary(last):
        return _Plan(text=_SUMMARY.format(count=len(request.messages) - 1))
    said = " ".join(_asked(last).split()) if isinstance(last, UserMessage) else ""
    if _WANTS_QUESTION.search(said):
        return _calling(request, _ASKS, _ASK_TOOL, {"question": _QUESTION, "choices": _CHOICES})
    is_task = isinstance(last, UserMessage) and last.origin == "delegation"
    if not is_task and _WANTS_CHILDREN.search(said):
        return _calling(request, _DELEGATES, _DELEGATE_TOOL, {"tasks": _TASKS})
    if _WANTS_TOOL.search(said):
        return _calling(request, _PROPOSAL, _TOOL, {"command": _COMMAND})
    if is_task:
        return _Plan(text=_CHILD)
    thinking = _THINKING if "think" in said.lower() else ""
    is_first = not any(isinstance(it, AssistantMessage) or _is_summary(it) for it in request.messages)
    return _Plan(text=_GREETING if is_first else _ANSWER.format(said=said), thinking=thinking)


def _is_summary(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.compaction is not None


def _asked(message: UserMessage) -> str:
    """A summary in the middle of a turn ends with what the user asked for."""
    return message.text.rsplit("\n\n", 1)[-1] if _is_summary(message) else message.text


def _calling(request: ModelRequest, text: str, name: str, args: dict[str, object]) -> _Plan:
    if all(tool.name != name for tool in request.prompt.tools):
        return _Plan(text=_NO_TOOL.format(tool=name))
    return _Plan(text=text, thinking=_THINKING, call=(name, args))


def _reaction(result: ToolResultMessage, messages: Sequence[Message]) -> str:
    """What the demo says to the result of its call."""
    calls = [call for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls]
    name = next((call.name for call in calls if call.id == result.call_id), "")
    if name == _DELEGATE_TOOL:
        return _delegated(result)
    if name != _ASK_TOOL:
        return _summary(result)
    if result.is_error:
        return _NOT_ANSWERED.format(output=result.content.replace("\n", "\n> "))
    return _ANSWERED.format(answer=" ".join(str(json.loads(result.content)["user_response"]).split()))


def _delegated(result: ToolResultMessage) -> str:
    try:
        ends = json.loads(result.content)["results"]
    except (ValueError, KeyError):
        return _NOT_ANSWERED.format(output=result.content.replace("\n", "\n> "))
    words = [(end["status"], " ".join((end.get("summary") or end.get("error") or "").split())) for end in ends]
    return _DELEGATED.format(ends="\n".join(f"- **{status}**: {said}" for status, said in words))


def _summary(result: ToolResultMessage) -> str:
    output = result.content.strip() or "(no output)"
    if len(output) > _SHOWN_CHARACTERS:
        output = output[:_SHOWN_CHARACTERS] + "\n(cut by the demo)"
    if result.is_error:
        return _DID_NOT_RUN.format(output=output.replace("\n", "\n> "))
    return _RAN.format(output=output)


def _prompt_usage(prompt: str, messages: Sequence[Message]) -> Usage:
    """As texts are estimated everywhere; all but the newest message counts as read from the cache."""
    counts = [estimated_tokens(text) for text in (prompt, *map(reply_text, messages))]
    return Usage(input_tokens=counts[-1], output_tokens=0, cache_read_tokens=sum(counts[:-1]))


class MockStream:
    """A ModelStream that says its plan word by word."""

    def __init__(self, request: ModelRequest, delay_seconds: float) -> None:
        self._plan = _plan(request)
        self._usage = _prompt_usage(request.prompt.system, request.messages)
        self._delay_seconds = delay_seconds
        self._thought: list[str] = []
        self._said: list[str] = []
        self._calls: tuple[ProposedCall, ...] = ()
        self._is_complete = False

    def reply(self) -> ModelReply:
        stop = ("tool_use" if self._calls else "end_turn") if self._is_complete else None
        thought, said = "".join(self._thought), "".join(self._said)
        produced = (thought, said, *(call.raw_args for call in self._calls))
        blocks = [{"type": "thinking", "thinking": thought}] if thought else []
        if blocks and said:
            blocks.append({"type": "text", "text": said})
        return ModelReply(
            text=said,
            calls=self._calls,
            blocks=tuple(blocks),
            stop_reason=stop,
            usage=self._usage + Usage(output_tokens=sum(map(estimated_tokens, produced))),
            model=MODEL,
            is_complete=self._is_complete,
        )

    async def __aiter__(self) -> AsyncIterator[ModelChunk]:
        yield StreamStarted(MODEL)
        for word in _WORDS.findall(self._plan.thinking):
            await self._tick()
            self._thought.append(word)
            yield ThinkingChunk(word)
        for word in _WORDS.findall(self._plan.text):
            await self._tick()
            self._said.append(word)
            yield TextChunk(word)
        if self._plan.call is not None:
            await self._tick()
            name, args = self._plan.call
            # Never the same twice, as from a real provider: the same words may be sent again after /undo.
            self._calls = (ProposedCall(id=f"mock_{uuid4().hex}", name=name, args=args, raw_args=json.dumps(args)),)
            yield OtherProgress()
        self._is_complete = True

    async def _tick(self) -> None:
        await asyncio.sleep(self._delay_seconds)


class MockProvider:
    """`Provider` without a network. `delay_seconds` passes before each word."""

    name = "mock"

    def __init__(self, *, delay_seconds: float = 0.02) -> None:
        self._delay_seconds = delay_seconds

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[MockStream]:
        """See `Provider.stream`. Never fails."""
        yield MockStream(request, self._delay_seconds)

    def context_window(self, model: str) -> int | None:
        return WINDOW

    def known_models(self) -> tuple[str, ...]:
        return ()

    def takes_images(self, model: str) -> bool:
        return True

    def missing(self) -> str:
        return ""

    async def prepare(self) -> None:
        """Nothing to prepare."""

    async def close(self) -> None:
        pass
