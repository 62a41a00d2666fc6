"""Every way in which the Messages API can fail or end (`reference/anthropic.md`, sections 1, 4 and 7), and what must
come of it: the words on screen, whether it is tried again, and the row of the attempt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from tests.api_server import (
    Reply,
    break_stream,
    chunk,
    drop,
    end,
    error_event,
    event,
    fin,
    html_error,
    http_error,
    open_text,
    open_thinking,
    open_tool,
    pings_for_ever,
    plain_json,
    reply,
    silence,
    text,
    thinking,
    tool,
)
from tests.api_server.script import Step

MODEL: Final = "claude-sonnet-5-5"
SILENCE_SECONDS: Final = 1.0
TOOL: Final = ("terminal", {"command": "echo never >> never.log"})
"""In a reply that breaks, or that does not ask for tools: it must not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`reply` is made for a text with which it begins, if it has text at all."""

    name: str
    reply: Callable[[str], Reply]
    words: str
    """Part of the sentence that the user reads."""
    is_retried: bool = False
    row: str = "error"
    """Status in `model_calls`: `dropped` when the answer had begun."""
    is_slow: bool = False
    """It ends by a time limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A complete reply. `goes_on`: the model is called again."""

    name: str
    reply: Callable[[str], Reply]
    text: str
    """Of the reply, `{}` being the text that it was made for."""
    goes_on: bool = False
    notice: str = ""
    """Part of what the user is told besides."""


def _refused(name: str, made: Reply, words: str) -> Fault:
    return Fault(name=name, reply=lambda said: made, words=words)


def _busy(name: str, made: Reply, words: str) -> Fault:
    return Fault(name=name, reply=lambda said: made, words=words, is_retried=True)


def _broken(name: str, *steps: Step, words: str = "broke off in the middle", **more: bool) -> Fault:
    return Fault(
        name=name, reply=lambda said: reply(open_text(said), *steps), words=words, is_retried=True, row="dropped",
        is_slow=more.get("is_slow", False),
    )  # fmt: skip


def _early(name: str, step: Step, words: str) -> Fault:
    return _busy(f"{name} before anything", reply(step, has_start=False), words)


def _with_start(name: str, *steps: Step) -> Fault:
    return Fault(name=name, reply=lambda said: reply(*steps, drop()), words="broke off", is_retried=True, row="dropped")


FAULTS: Final = (
    _refused("400", http_error(400, "invalid_request_error", "no such field"), "refused by http"),
    _refused("401", http_error(401, "authentication_error"), "API key from ANTHROPIC_API_KEY was rejected"),
    _refused("402", http_error(402, "billing_error"), "wants payment"),
    _refused("403", http_error(403, "permission_error"), f"may not use {MODEL}"),
    _refused("404", http_error(404, "not_found_error"), f"the model {MODEL} is not known"),
    _refused("404 of a web server", html_error(404), "there is no Messages API"),
    _refused("413", http_error(413, "request_too_large"), "larger than the server takes"),
    _refused("spending limit", http_error(429, "x", error_code="enforced_spend_limit_reached"), "spending limit"),
    _refused("JSON instead of a stream", plain_json({"type": "message"}), "instead of a stream"),
    _refused("a web page", replace(html_error(200), status=200), "instead of a stream"),
    _busy("408", http_error(408, "timeout_error"), "HTTP 408"),
    _busy("409", http_error(409, "conflict"), "HTTP 409"),
    _busy("429", http_error(429, "rate_limit_error", headers={"retry-after-ms": "5"}), "limits the rate of requests"),
    _busy("429 without a wish", http_error(429, "rate_limit_error"), "limits the rate of requests"),
    _busy("500", http_error(500, "api_error"), "HTTP 500"),
    _busy("502 of a gateway", html_error(502), "HTTP 502"),
    _busy("503", http_error(503, "api_error"), "HTTP 503"),
    _busy("504", http_error(504, "timeout_error"), "HTTP 504"),
    _busy("529", http_error(529, "overloaded_error", "Overloaded"), "is overloaded"),
    _early("drop", drop(), "broke off"),
    _early("fin", fin(), "broke off"),
    _early("clean end", end(), "ended before it was complete"),
    Fault(
        name="silence before anything", reply=lambda said: reply(silence(), has_start=False), is_retried=True,
        words=f"sent nothing for {SILENCE_SECONDS:g} seconds", is_slow=True,
    ),
    _broken("drop", drop()),
    _broken("fin in mid-chunk", fin()),
    _broken("clean end", end(), words="ended before it was complete"),
    _broken("silence", silence(), words=f"sent nothing for {SILENCE_SECONDS:g} seconds", is_slow=True),
    _broken("pings for ever", pings_for_ever(0.05), words="the model sent nothing for", is_slow=True),
    _broken("bad JSON", chunk(b'{"type": "content_block_del')),
    _broken("bad UTF-8", chunk(b'{"x": "\xff"}')),
    _broken("an event that is no object", chunk(b"[]")),
    _broken("an event out of order", event("content_block_stop", index=7)),
    _broken("overloaded in mid-stream", error_event("overloaded_error"), words="is overloaded"),
    _broken("rate limit in mid-stream", error_event("rate_limit_error"), words="limits the rate"),
    _broken("an error of the future", error_event("of_the_future", "Oops"), words="Oops"),
    Fault(
        name="a refusal in mid-stream", row="dropped", words="refused by http",
        reply=lambda said: reply(open_text(said), error_event("invalid_request_error", "no")),
    ),
    Fault(
        name="a bad key in mid-stream", row="dropped", words="was rejected",
        reply=lambda said: reply(open_text(said), error_event("authentication_error", "no")),
    ),
    _with_start("drop after the start"),
    _with_start("drop in thinking", open_thinking("hm")),
    _with_start("drop in a call", open_tool(TOOL[0], '{"command": "echo never')),
    _with_start("drop after a call", tool(*TOOL)),
    Fault(
        name="break after thinking, text and a call", is_retried=True, row="dropped", words="ended before",
        reply=lambda said: reply(thinking("so"), text(said), tool(*TOOL), break_stream("end")),
    ),
)  # fmt: skip

ENDINGS: Final = (
    Ending(name="end_turn", reply=lambda said: reply(text(said)), text="{}"),
    Ending(name="with thinking", reply=lambda said: reply(thinking("I see"), text(said)), text="{}"),
    Ending(name="stop_sequence", reply=lambda said: reply(text(said), stop="stop_sequence"), text="{}"),
    Ending(name="an end of the future", reply=lambda said: reply(text(said), stop="of_the_future"), text="{}"),
    Ending(
        name="max_tokens", reply=lambda said: reply(text(said), stop="max_tokens"), text="{}",
        notice="reached the output limit",
    ),
    Ending(
        name="refusal", text="{}", notice="The model refused to answer",
        reply=lambda said: reply(text(said), stop="refusal", stop_details={"category": "x", "explanation": "no"}),
    ),
    Ending(
        name="refusal without words", text="", notice="The model refused to answer",
        reply=lambda said: reply(stop="refusal", stop_details=None),
    ),
    Ending(name="pause_turn", reply=lambda said: reply(text(said), stop="pause_turn"), text="{}", goes_on=True),
    Ending(
        name="max_tokens in a call", text="{}", goes_on=True,
        reply=lambda said: reply(text(said), open_tool(TOOL[0], '{"command": "echo ne'), stop="max_tokens"),
    ),
    Ending(
        name="a call and an end of the future", text="{}", goes_on=True,
        reply=lambda said: reply(text(said), tool(*TOOL), stop="of_the_future"),
    ),
    Ending(
        name="a call with broken arguments", text="{}", goes_on=True,
        reply=lambda said: reply(text(said), tool(TOOL[0], '{"command": ')),
    ),
    Ending(
        name="a call", text="{}", goes_on=True,
        reply=lambda said: reply(text(said), tool("read_file", {"path": "notes.txt"})),
    ),
)  # fmt: skip
