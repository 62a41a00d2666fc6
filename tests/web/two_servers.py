"""Two real servers on one database, a client at each, and chance: what is done, what must hold, what must be seen."""

from __future__ import annotations

import asyncio
import random
import re
import subprocess
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.rows import dict_row

from tests.api_server.script import Reply, error_event, open_text, reply, text, thinking, tool
from tests.fix_home import ASK_ABOUT_COMMANDS
from tests.postgres.whole_session import NEVER
from tests.program.fix_program import COS
from tests.web.page_client import PageClient, UnansweredError
from tests.web.stored_state import differing, seen_of, stored_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api_server.server import RecordedRequest
    from tests.program.fix_program import Program
    from tests.web.reader import Json

READY = re.compile(r"cos: dashboard at (\S+)\n")
PROFILE = f'provider = "anthropic"\nmodel = "claude-sonnet-5-5"\n{ASK_ABOUT_COMMANDS}'
COST = ("cost_usd", "unpriced", "lost", "made_up_usd")
SAME_SECONDS = 20.0
QUIET_SECONDS = 30.0
WHAT = (
    *("queue", "steer", "now", "queue", "start", "cancel", "allow", "allow", "deny", "resume", "reconnect"),
    *("undo", "reconnect", "crash"),
)


class Improvising:
    """An `answer` for ApiServer: says, thinks, streams slowly, calls a tool that has to be allowed, or breaks."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def __call__(self, request: RecordedRequest) -> Reply:
        words = f"reply {request.number} " + "word " * self._chance.randrange(40)
        match self._chance.randrange(8):
            case 0:
                return reply(text(words * 4, pieces=60, seconds_per_piece=0.03))
            case 1 | 2 | 3:
                call = tool("terminal", {"command": f"echo {request.number}"})
                return reply(thinking("hm " * 5), text(words), *[call] * self._chance.choice((1, 1, 2)))
            case 4:
                return reply(open_text(words), error_event())
            case _:
                return reply(text(words, pieces=9))


class Server:
    """One process; killed and started again on the same port."""

    def __init__(self, program: Program, log: Path) -> None:
        self._program = program
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    async def start(self) -> None:
        port = self.url.split(":")[2].partition("/")[0] if self.url else "0"
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [*COS, "serve", "--headless", "--port", port, "--profile", "home"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
                env=self._program.environment(), cwd=self._program.home,
            )  # fmt: skip
        assert self._process.stdout is not None
        found = READY.fullmatch(await asyncio.to_thread(self._process.stdout.readline))
        assert found is not None, self._log.read_text()
        self.url = found[1]

    def address(self) -> str:
        return self.url

    def kill(self) -> None:
        if self._process is not None:
            with self._process as process:
                process.kill()
            self._process = None


@dataclass(slots=True)
class Round:
    """Some sessions under both."""

    sessions: list[str] = field(default_factory=list)
    accepted: set[str] = field(default_factory=set)
    """Texts of messages that the server took."""
    undone: bool = False
    closed: dict[Any, Any] = field(default_factory=dict)


class Trial:
    """What happens by `seed`; every part of it waits on real processes, so it never comes quite the same again."""

    def __init__(self, program: Program, folder: Path, seed: int, *, drop_every: int) -> None:
        self.servers = [Server(program, folder / f"server{number}.log") for number in (1, 2)]
        self.clients = [PageClient(server.address, drop_every=drop_every) for server in self.servers]
        self.did: list[str] = []
        self.crashes = 0
        self.rounds = 0
        self._chance = random.Random(seed)
        self._program = program
        self._drop_every = drop_every
        self._sent = 0
        self._round = Round()
        self._connection: psycopg.Connection[dict[str, Any]]
        self._tasks: list[asyncio.Task[None]] = []
        self._ups: set[asyncio.Task[None]] = set()

    async def run(self, seconds: float) -> None:
        """Round after round; no new one begins later than that."""
        until = time.monotonic() + seconds
        async with AsyncExitStack() as stack:
            for server in self.servers:
                stack.callback(server.kill)
                await server.start()
            assert self._program.database_url is not None
            self._connection = stack.enter_context(
                psycopg.connect(self._program.database_url, autocommit=True, row_factory=dict_row)
            )
            self._tasks = [asyncio.create_task(client.run()) for client in self.clients]
            stack.push_async_callback(self._leave)
            while time.monotonic() < until:
                await self._one_round()
                self.rounds += 1

    async def _leave(self) -> None:
        for task in (*self._tasks, *self._ups):
            task.cancel()
        await asyncio.wait({*self._tasks, *self._ups})

    async def _one_round(self) -> None:
        self._round = Round()
        self.did = []
        for who in (0, 1):
            await self._try("start", who)
        for _ in range(self._chance.randrange(4, 12)):
            count = self._chance.randrange(1, 5)
            drawn = [(self._chance.choice(WHAT), self._chance.randrange(2)) for _ in range(count)]
            steps = [step for place, step in enumerate(drawn) if step[0] != "crash" or step not in drawn[:place]]
            self.did += [f"{what}{who}" for what, who in steps] + ["|"]
            await asyncio.gather(*(self._try(what, who) for what, who in steps))
            await asyncio.sleep(self._chance.random() * self._chance.choice((0.05, 0.3, 0.8)))
            self.check()
        for client in self.clients:
            client.drop_every = 0
        await self._settle(is_all_ended=self._chance.random() < 0.5)
        self.check()
        self._check_nothing_lost()
        await self._check_seen()
        for client in self.clients:
            for session_id in self._round.sessions:
                with suppress(UnansweredError):
                    await client.ask("turn.cancel", session_id=session_id)
                await client.unfollow(session_id)
            client.drop_every = self._drop_every

    async def _try(self, what: str, who: int) -> None:
        """Nobody knows what became of it when its connection ended."""
        for task in self._tasks:
            if task.done():
                task.result()
        with suppress(UnansweredError):
            await self._do(what, who)

    async def _do(self, what: str, who: int) -> None:
        client = self.clients[who]
        match what:
            case "crash":
                self.crashes += 1
                self.servers[who].kill()
                await self.servers[who].start()
            case "reconnect":
                await client.reconnect()
            case "start":
                if len(self._round.sessions) < 4:
                    await self._start(client)
            case "allow" | "deny":
                await self._respond(client, "once" if what == "allow" else "deny")
            case _ if self._round.sessions:
                await self._in_session(client, what, self._chance.choice(self._round.sessions))

    async def _start(self, client: PageClient) -> None:
        answer = await self._send(client, profile_id="home")
        if answer["type"] == "response":
            session_id = answer["payload"]["session_id"]
            self._round.sessions.append(session_id)
            for each in self.clients:
                await each.follow(session_id)

    async def _in_session(self, client: PageClient, what: str, session_id: str) -> None:
        match what:
            case "queue" | "steer" | "now":
                await self._send(client, session_id=session_id, mode=what)
            case "cancel":
                await client.ask("turn.cancel", session_id=session_id)
            case "resume":
                await client.ask("queue.resume", session_id=session_id)
            case "undo":
                self._round.undone = True
                await client.ask("message.send", session_id=session_id, text="/undo")

    async def _send(self, client: PageClient, **place: Any) -> Json:
        """Again with the same id until it is answered, as the page does."""
        self._sent += 1
        text = f"m{self._sent}"
        while True:
            try:
                answer = await client.ask("message.send", text=text, client_message_id=text, **place)
                if self._chance.random() < 0.2:
                    answer = await client.ask("message.send", text=text, client_message_id=text, **place)
            except UnansweredError:
                await asyncio.sleep(0.1)
                continue
            if answer["type"] == "response":
                self._round.accepted.add(text)
            return answer

    async def _respond(self, client: PageClient, choice: str) -> None:
        waiting = [one for one in client.pending if one["session_id"] in self._round.sessions]
        if waiting:
            one = self._chance.choice(waiting)
            await client.ask("approval.respond", approval_id=one["id"], choice=choice, content_hash=one["content_hash"])

    async def _settle(self, *, is_all_ended: bool) -> None:
        """Until nothing moves by itself: what is open waits for an answer, what is queued for its turn."""
        began = since = time.monotonic()
        before = None
        while before is None or time.monotonic() - since < 1.0:
            if is_all_ended:
                for session_id in self._round.sessions:
                    await self._try_quietly("turn.cancel", session_id)
            now = self._rows(_MOVING, ids=self._round.sessions)
            is_moving = any(row["moves"] for row in now)
            if now != before or is_moving or (is_all_ended and any(row["running"] for row in now)):
                before, since = now, time.monotonic()
            assert since - began < QUIET_SECONDS, f"it never comes to rest: {now}"
            await asyncio.sleep(0.1)

    async def _try_quietly(self, action: str, session_id: str) -> None:
        with suppress(UnansweredError):
            await self.clients[self._chance.randrange(2)].ask(action, session_id=session_id)

    def check(self) -> None:
        """What holds at every moment."""
        for session_id in self._round.sessions:
            for wrong, why in NEVER.items():
                found = self._rows(wrong, id=session_id)
                assert not found, (why, session_id, found)
        rows = self._rows(_CLOSED, ids=self._round.sessions)
        closed = {row["id"]: row for row in rows}
        assert {turn_id: closed[turn_id] for turn_id in self._round.closed} == self._round.closed, "it had ended"
        self._round.closed = closed

    def _check_nothing_lost(self) -> None:
        texts = [row["text"] for row in self._rows(_TEXTS, ids=self._round.sessions)]
        assert sorted(set(texts)) == sorted(texts), "nothing is there twice"
        assert self._round.accepted <= set(texts), "nothing that was taken is lost"
        twice = self._rows("SELECT title FROM sessions GROUP BY title HAVING count(*) > 1")
        assert not twice, "a message begins one session"

    async def _check_seen(self) -> None:
        """Each client comes to see what is stored."""
        until = time.monotonic() + SAME_SECONDS
        looked = time.monotonic()
        while wrong := await self._differences():
            assert time.monotonic() < until, "\n".join(wrong)
            if time.monotonic() - looked > 1:
                looked = time.monotonic()
                for client in self.clients:
                    await client.look_for_lost()
            await asyncio.sleep(0.05)
        assert all(followed.watched.holes == 0 for client in self.clients for followed in client.sessions.values())

    async def _differences(self) -> list[str]:
        wrong = []
        pending = {str(row["id"]) for row in self._rows("SELECT id FROM approvals WHERE status = 'pending'")}
        for name, client in zip("AB", self.clients, strict=True):
            told = {one["id"] for one in client.pending}
            if told != pending:
                wrong.append(f"{name} approvals: shows {told - pending}, lacks {pending - told}")
            for session_id in self._round.sessions:
                stored = await stored_of(client, session_id, self._rows)
                seen = seen_of(client.sessions[session_id])
                _leave_out_late_cost(stored, seen)
                wrong += [f"{name} {session_id} {line}" for line in differing(stored, seen)]
        return wrong

    def _rows(self, query: str, **values: Any) -> list[dict[str, Any]]:
        return self._connection.execute(query.encode(), values).fetchall()


def _leave_out_late_cost(stored: dict[str, Any], seen: dict[str, Any]) -> None:
    """That a call was lost is found when its process starts again: no notification says it."""
    late = {turn_id for turn_id, turn in stored["turns"].items() if turn["lost"]}
    for found in (stored, seen):
        found["turns"] = {
            turn_id: {name: value for name, value in turn.items() if turn_id not in late or name not in COST}
            for turn_id, turn in found["turns"].items()
        }


_MOVING = """
SELECT s.id, t.id AS running, s.queue_paused, t.cancel_requested_at IS NOT NULL AS is_cancelled,
    (SELECT count(*) FROM messages m WHERE m.session_id = s.id) AS messages,
    (SELECT count(*) FROM queued_messages q WHERE q.session_id = s.id) AS waiting,
    CASE WHEN t.id IS NULL
         THEN NOT s.queue_paused AND EXISTS (SELECT FROM queued_messages q WHERE q.session_id = s.id)
         ELSE NOT EXISTS (SELECT FROM approvals a WHERE a.turn_id = t.id AND a.status = 'pending') END AS moves
FROM sessions s LEFT JOIN turns t ON t.session_id = s.id AND t.completed_at IS NULL
WHERE s.id = ANY(%(ids)s::uuid[]) ORDER BY s.id"""
_CLOSED = """SELECT id, status, completed_at, error, usage::text, stop_reason FROM turns
    WHERE session_id = ANY(%(ids)s::uuid[]) AND completed_at IS NOT NULL"""
_TEXTS = """SELECT body->>'text' AS text FROM messages
    WHERE session_id = ANY(%(ids)s::uuid[]) AND role = 'user' AND body->>'text' ~ '^m[0-9]+$'
    UNION ALL SELECT body->>'text' FROM queued_messages WHERE session_id = ANY(%(ids)s::uuid[])"""
