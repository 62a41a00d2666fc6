"""The crash matrix itself: start cos, talk to it, kill, start again, audit; several times in each conversation."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import psycopg

from tests.api_server import ApiServer
from tests.crash import points, requests
from tests.crash.audit import Audit
from tests.crash.model import FINISH, CrashModel
from tests.crash.plans import Plan, plans
from tests.crash.process import CosProcess, Shown, forks
from tests.crash.server_kills import kill_server
from tests.crash.talks import Talk
from tests.crash.world import PROFILES, Answerer, World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.api_server import RecordedRequest

KILLS_PER_TALK = 8
KEPT_SECONDS = 0.0
"""What was shown longer ago than this is there after a kill."""
_REST_SECONDS = 25.0
_GOING_ON = """
SELECT id FROM turns WHERE completed_at IS NULL
UNION SELECT id FROM approvals WHERE status = 'pending'
UNION SELECT q.id FROM queued_messages q JOIN sessions s ON s.id = q.session_id WHERE %s AND NOT s.queue_paused
"""


@dataclass(slots=True)
class Figures:
    kills: Counter[str] = field(default_factory=Counter)
    """By victim."""
    reached: set[str] = field(default_factory=set)
    """Named write points at which something was killed."""
    losses: list[str] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    """Seconds until cos was ready."""
    talks: int = 0
    messages: int = 0
    requests: int = 0
    turns: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    model_calls: Counter[str] = field(default_factory=Counter)
    lost_characters: int = 0

    @property
    def count(self) -> int:
        return self.kills.total()


class CrashRun:
    """`with CrashRun(folder, seed) as run: run.kill(1000)`."""

    def __init__(self, folder: Path, seed: int, say: Callable[[str], None] = lambda line: None) -> None:
        self.figures = Figures()
        self._seed = seed
        self._say = say
        self._chance = random.Random(seed)
        self._plans = plans(seed)
        self._api = ApiServer(answer=CrashModel(seed))
        self._folder = folder
        self._context = forks()
        self._cos: CosProcess | None = None
        self._struck = threading.Event()
        self._killed_at: float | None = None
        self._instant = "before the first kill"
        self._ids = count(1)
        self._missed: list[Plan] = []

    def __enter__(self) -> CrashRun:
        self._api.__enter__()
        self.world = World(self._folder, self._api)
        self._audit = Audit(self.world.conninfo, self._api.requests.__getitem__, KEPT_SECONDS)
        self._start()  # Makes the schema.
        with self.world.connect() as connection:
            points.set_up(connection)
        self._answerer = Answerer(self.world.conninfo, self._seed)
        return self

    def __exit__(self, *_: object) -> None:
        self._api.watch = lambda request, sent: None
        self._answerer.close()
        if self._cos is not None and self._cos.is_alive and not self._cos.leave():
            self._lose("cos did not leave")
        self.world.server.leave()
        self._api.__exit__(None, None, None)

    def kill(self, kills: int, seconds: float = float("inf")) -> Figures:
        """Go on until so many kills are done, or so much time has passed."""
        end = time.monotonic() + seconds
        while self.figures.count < kills and time.monotonic() < end:
            talk = Talk(
                self._chance.choice(list(PROFILES)), f"[talk {self._seed}-{next(self._ids)}]", self._find_session
            )
            self._audit.begin_conversation()
            for _ in range(min(KILLS_PER_TALK, kills - self.figures.count)):
                self._cycle(talk, self._next_plan())
                if time.monotonic() > end:
                    break
            self._finish(talk)
        self._close_books()
        return self.figures

    def _next_plan(self) -> Plan:
        """Write points that were not reached are tried again in another moment."""
        again = self._missed and self._chance.random() < 0.4
        return self._missed.pop(0) if again else next(self._plans)

    def _lose(self, sentence: str) -> None:
        loss = f"seed {self._seed}, kill {self.figures.count} ({self._instant}): {sentence}"
        self.figures.losses.append(loss)
        self._say(f"LOSS {loss}"[:400])

    def _start(self) -> CosProcess:
        if self._cos is None or not self._cos.is_alive:
            began = time.monotonic()
            self._cos = CosProcess(self._context, self.world.env)
            self._cos.wait_ready()
            self.figures.starts.append(time.monotonic() - began)
        return self._cos

    def _cycle(self, talk: Talk, plan: Plan) -> None:
        cos = self._start()
        self._struck.clear()
        armed = self._arm(plan)
        began = time.monotonic()
        self._talk(cos, talk)
        delay = 20.0 if plan.delay is None else plan.delay - (time.monotonic() - began)
        cos.until(lambda: self._struck.is_set() or (plan.delay is None and talk.rests(cos)), delay)
        was_reached = self._struck.is_set()
        self._api.watch = lambda request, sent: None
        self._strike(plan)
        if armed is not None:
            armed.close()
            if not was_reached:
                self._missed.append(plan)
            else:
                self.figures.reached.add(f"{plan.phase} {plan.point}")
        self.figures.kills[plan.victim] += 1
        self._instant = str(plan) + ("" if was_reached or plan.delay is not None else ", not reached")
        self._after(cos, talk)

    def _after(self, cos: CosProcess, talk: Talk) -> None:
        """cos runs again, or still, and comes to rest; then nothing may be missing."""
        if not cos.was_killed:
            self._rest(cos, talk)
            talk.note(cos.shown)
            shown, cos.shown = cos.shown, Shown()
            self._check(shown, None, talk)
            return
        cos.buried()
        talk.note(cos.shown)
        self._let_go()
        self._rest(self._start(), talk, is_new=True)
        self._check(cos.shown, self._killed_at, talk)

    def _let_go(self) -> None:
        """Postgres notices the death of a client within milliseconds. Nobody starts cos faster than that but this."""
        query = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'cos%'"
        deadline = time.monotonic() + 5
        with suppress(psycopg.Error):
            while self._audit.rows(query) and time.monotonic() < deadline:
                time.sleep(0.005)

    def _arm(self, plan: Plan) -> points.ArmedPoint | None:
        if plan.point is not None:
            return points.ArmedPoint(self.world.conninfo, plan.point, plan.phase, plan.nth, lambda: self._strike(plan))
        if plan.request is not None:
            first = len(self._api.requests)
            wanted = first + plan.request - 1

            def watch(request: RecordedRequest, sent: int) -> None:
                if request.number > wanted or (request.number == wanted and sent >= plan.events):
                    self._strike(plan)

            self._api.watch = watch
        return None

    def _strike(self, plan: Plan) -> None:
        """From whatever thread is at the right instant; once."""
        if self._struck.is_set():
            return
        self._struck.set()
        cos = self._cos
        assert cos is not None
        if plan.victim in {"cos", "both"}:
            cos.kill()
            self._killed_at = time.monotonic()
        if plan.victim != "cos":
            kill_server(self.world.server, "all" if plan.victim == "both" else plan.victim)

    def _talk(self, cos: CosProcess, talk: Talk) -> None:
        talk.send_again(cos)
        for number in range(self._chance.choice([1, 1, 2, 3])):
            if number:
                time.sleep(self._chance.random() * 0.08)
            mode = self._chance.choice(["queue", "queue", "steer", "steer", "now"]) if talk.session else "queue"
            if not self._struck.is_set():
                self._say_in(cos, talk, mode, "message")
            if talk.session is None:
                # The rest of a conversation goes into the session that its first message begins.
                cos.until(lambda: self._struck.is_set() or cos.shown.accepted.keys() & talk.sent.keys(), 10)
                talk.note(cos.shown)

    def _say_in(self, cos: CosProcess, talk: Talk, mode: str, words: str) -> str:
        key = f"m{next(self._ids)}"
        self.figures.messages += 1
        talk.say(cos, key, mode, words)
        return key

    def _find_session(self, marker: str) -> str | None:
        try:
            rows = self._audit.rows("SELECT id FROM sessions WHERE title LIKE %s", f"{marker}%")
        except psycopg.Error:
            return None
        return str(rows[0]["id"]) if rows else None

    def _rest(self, cos: CosProcess, talk: Talk, *, is_new: bool = False) -> None:
        """Wait until no turn is open in the database, no queue will go on by itself, and cos says the same."""
        deadline = time.monotonic() + _REST_SECONDS
        left: list[Any] = ["?"]
        while left and time.monotonic() < deadline:
            cos.until(lambda: talk.rests(cos), 1)
            try:
                left = self._audit.rows(_GOING_ON, not is_new)
            except psycopg.Error:
                time.sleep(0.05)
            if left:
                time.sleep(0.02)
        if left:
            cos.log_tasks()
            self._lose(f"not at rest after {_REST_SECONDS:g} s: {left}")

    def _check(self, shown: Shown, killed_at: float | None, talk: Talk) -> None:
        if talk.look_for_session() is None:
            return
        assert talk.session is not None
        workspace = self.world.workspace(talk.profile)
        for problem in self._audit.problems(talk.session, shown, killed_at, workspace):
            self._lose(problem)
        there = self._audit.texts(talk.session)
        for key, text in talk.sent.items():
            if there[text] > 1 or (key in talk.accepted and not there[text]):
                self._lose(f"{text!r} ({talk.modes[key]}) is there {there[text]} times")

    def _finish(self, talk: Talk) -> None:
        """Without a kill: what waits goes on, the conversation is answered, and everything has come."""
        cos = self._start()
        talk.send_again(cos)
        last = self._say_in(cos, talk, "queue", FINISH)
        answered = cos.until(lambda: talk.sent.keys() <= cos.shown.accepted.keys() | talk.accepted, 20)
        talk.note(cos.shown)
        if not answered:
            self._lose(f"not accepted in the end: {cos.shown.refused}")
        deadline = time.monotonic() + _REST_SECONDS
        waiting: list[Any] = ["?"]
        while waiting and time.monotonic() < deadline:
            self._rest(cos, talk)
            waiting = self._audit.rows("SELECT body::text FROM queued_messages WHERE session_id = %s", talk.session)
        if waiting:
            self._lose(f"the queue does not go on: {waiting}")
        shown, cos.shown = cos.shown, Shown()
        self._check(shown, None, talk)
        if self._audit.texts(str(talk.session))[talk.sent[last]] != 1 or not any(
            "Finished" in "".join(part for _, part in parts) for parts in shown.texts.values()
        ):
            self._lose("the conversation does not go on")
        self.figures.talks += 1

    def _close_books(self) -> None:
        for problem in requests.problems(self._api.requests):
            self._lose(problem)
        cos = self._start()
        if not cos.leave():
            self._lose("cos did not leave")
        time.sleep(0.3)
        if strays := self.world.strays():
            self._lose(f"processes were left behind: {strays}")
        self.figures.requests = len(self._api.requests)
        self.figures.lost_characters = self._audit.lost_characters
        for name, table in (("turns", "turns"), ("calls", "tool_calls"), ("model_calls", "model_calls")):
            rows = self._audit.rows(f"SELECT status, count(*)::int AS n FROM {table} GROUP BY 1")
            getattr(self.figures, name).update({row["status"]: row["n"] for row in rows})
