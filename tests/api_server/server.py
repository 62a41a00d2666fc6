"""The server itself: its own thread and loop, so that it serves tests in this process and whole programs alike."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.api_server.http import Connection, HttpRequest, PeerClosed, read_request
from tests.api_server.playing import Player
from tests.api_server.script import Reply, http_error
from tests.api_server.signatures import Signatures, without_cache_marks
from tests.api_server.validation import PREFILL, request_problem

Json = dict[str, Any]
Answer = Callable[["RecordedRequest"], Reply]

MODELS = frozenset(
    {
        "claude-fable-5-2", "claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5",
        "claude-opus-5", "claude-opus-4-8", "claude-sonnet-5", "claude-sonnet-4-6", "claude-haiku-4-5",
    }
)  # fmt: skip
BINDS_THINKING = re.compile(r"claude-(fable|mythos)-5-[12]|claude-(opus|sonnet|haiku)-5-5")
KEY = "sk-ant-test-0123456789"


@dataclass(slots=True, eq=False)
class RecordedRequest:
    """One request as it came, and what became of it."""

    number: int
    """From 0, in order of arrival."""
    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Json
    """Parsed; empty when the body is no JSON object."""
    arrived_at: float = 0.0
    """See `HttpRequest`."""
    refusal: str | None = None
    """The words of the error that validation answered with."""
    usage: Json | None = None
    """The figures that the client was told, in the API's own form; None when it was told none."""
    is_final_usage: bool = False
    """False: the answer broke before its closing figures."""
    ended: threading.Event = field(default_factory=threading.Event)
    """Set when the answer is over, whoever ended it."""
    client_left: bool = False
    """The client closed the connection before the answer was over."""

    @property
    def messages(self) -> list[Json]:
        """The messages without cache marks."""
        found = without_cache_marks(self.body.get("messages", []))
        assert isinstance(found, list)
        return found


class ApiServer:
    """Answers `POST /v1/messages` with the queued replies in order, after checking the request as the real API does.

    A refused request takes no reply from the queue. Set `answer` to make replies up as requests come. Settings may be
    changed at any time.
    """

    def __init__(self, *, port: int = 0, key: str | None = KEY, answer: Answer | None = None) -> None:
        self.key = key
        """The accepted key; None = any."""
        self.auth = frozenset({"bearer", "x-api-key"})
        """The accepted ways to send it."""
        self.models: frozenset[str] | None = MODELS
        """The known models; None = any."""
        self.binds_thinking: re.Pattern[str] = BINDS_THINKING
        """Models whose thinking is bound to the exact prefix."""
        self.is_strict = True
        """False: like a local server that checks nothing."""
        self.answer = answer
        self.watch: Callable[[RecordedRequest, int], None] = lambda request, sent: None
        """Told of each request (sent = 0) and of each event of its answer, on the server's own thread."""
        self.requests: list[RecordedRequest] = []
        self.connections = 0
        self._queue: deque[Reply] = deque()
        self._is_paused = False
        self._signatures = Signatures()
        self._arrived = threading.Condition()
        self._port = port
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="api-server", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def unused(self) -> int:
        """How many queued replies nobody asked for yet."""
        return len(self._queue)

    def forget(self) -> None:
        """Take back what is queued."""
        self._queue.clear()

    def push(self, *replies: Reply) -> None:
        """Queue replies, one for each request to come."""
        self._queue.extend(replies)

    def wait_for(self, count: int, *, seconds: float = 20) -> RecordedRequest:
        """Block until `count` requests have come; the last of them. From a coroutine: `await api.arrived(count)`."""
        with self._arrived:
            done = self._arrived.wait_for(lambda: len(self.requests) >= count, seconds)
        assert done, f"{len(self.requests)} of {count} requests came within {seconds} s"
        return self.requests[count - 1]

    async def arrived(self, count: int) -> RecordedRequest:
        return await asyncio.to_thread(self.wait_for, count)

    async def over(self, number: int) -> RecordedRequest:
        """Wait until the answer to request `number` (from 0) is over."""
        request = await self.arrived(number + 1)
        assert await asyncio.to_thread(request.ended.wait, 20), f"the answer to request {number} is not over"
        return request

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(20), "the API server did not start"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        open_tasks: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._talk(reader, writer))
            open_tasks.add(task)
            task.add_done_callback(open_tasks.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", self._port)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(open_tasks):
            task.cancel()
        await asyncio.gather(*open_tasks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (request := await read_request(reader)) is not None:
                if not await self._exchange(request, Connection(reader, writer)):
                    break
        finally:
            writer.close()

    async def _exchange(self, request: HttpRequest, connection: Connection) -> bool:
        """Answer one request. Whether the connection can be used again."""
        recorded = self._record(request)
        self.watch(recorded, 0)
        try:
            player = Player(connection, self._signatures, recorded, lambda sent: self.watch(recorded, sent))
            return await player.play(self._reply(request, recorded))
        except PeerClosed:
            recorded.client_left = True
            return False
        finally:
            recorded.ended.set()

    def _record(self, request: HttpRequest) -> RecordedRequest:
        try:
            body = json.loads(request.body)
        except ValueError:
            body = None
        with self._arrived:
            recorded = RecordedRequest(
                number=len(self.requests),
                path=request.path,
                headers=request.headers,
                raw=request.body,
                body=body if isinstance(body, dict) else {},
                arrived_at=request.arrived_at,
            )
            self.requests.append(recorded)
            self._arrived.notify_all()
        return recorded

    def _reply(self, request: HttpRequest, recorded: RecordedRequest) -> Reply:
        refusal = self._refusal(request, recorded.body)
        if refusal is not None:
            status, kind, recorded.refusal = refusal
            return http_error(status, kind, recorded.refusal)
        if self._queue or self.answer is not None:
            chosen = self._queue.popleft() if self._queue or self.answer is None else self.answer(recorded)
            self._is_paused = chosen.stop == "pause_turn" or (self._is_paused and chosen.stop is None)
            return chosen
        recorded.refusal = f"api_server: no reply is queued for request {recorded.number}"
        return http_error(400, "invalid_request_error", recorded.refusal)

    def _refusal(self, request: HttpRequest, body: Json) -> tuple[int, str, str] | None:
        if (request.method, request.path) != ("POST", "/v1/messages"):
            return 404, "not_found_error", "Not found"
        wrong_key = self._key_problem(request.headers)
        if wrong_key is not None:
            return 401, "authentication_error", wrong_key
        if not self.is_strict:
            return None
        if "anthropic-version" not in request.headers:
            return 400, "invalid_request_error", "anthropic-version: header is required"
        problem = request_problem(body)
        if problem == PREFILL and self._is_paused:
            problem = None
        if problem is None and self.models is not None and body["model"] not in self.models:
            return 404, "not_found_error", f"model: {body['model']}"
        if problem is None:
            is_bound = bool(self.binds_thinking.match(body["model"]))
            problem = self._signatures.problem(body, is_prefix_checked=is_bound)
        return None if problem is None else (400, "invalid_request_error", problem)

    def _key_problem(self, headers: Mapping[str, str]) -> str | None:
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        given = [
            key for way, key in (("bearer", bearer), ("x-api-key", headers.get("x-api-key", ""))) if way in self.auth
        ]
        if self.key is None or self.key in given:
            return None
        return "invalid x-api-key" if any(given) else "Authentication is required."
