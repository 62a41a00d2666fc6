"""Nobody else comes in: Host, Origin and log-in stand before every route and every upgrade."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from starlette.routing import Route, WebSocketRoute
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from cos.web.access import Access, cookie_key
from cos.web.app import routes
from cos.web.guard import OPEN_PATHS
from cos.web.hub import Hub
from cos.web.metrics import Metrics

if TYPE_CHECKING:
    from pathlib import Path

    from tests.web.fix_dashboard import Served

FOREIGN = [
    "evil.example:PORT",
    "127.0.0.1.evil.test",
    "localhost.evil.test:PORT",
    "127.0.0.1",
    "localhost:1",
    "",
    "[::1]",
]
OWN = ["localhost:PORT", "127.0.0.1:PORT", "[::1]:PORT", "LOCALHOST:PORT"]
FOREIGN_ORIGINS = [
    "http://evil.example", "null", "http://127.0.0.1:PORT.evil.test", "https://127.0.0.1:PORT", "http://127.0.0.1",
    "http://evil.example:PORT", "file://", "http://localhost:PORT@evil.example",
]  # fmt: skip
UPGRADE = (
    "Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\nSec-WebSocket-Version: 13\n"
)


def paths(dashboard: Served) -> list[str]:
    """Every path of the route table."""
    hub = Hub(dashboard.core)
    table = routes(dashboard.core, hub, Metrics(dashboard.core, hub), Access(b"", 0))
    assert all(isinstance(route, Route | WebSocketRoute) for route in table), "a mount would have paths of its own"
    return [route.path.replace("{id}", str(uuid4())).replace("{path:path}", "app.js") for route in table]  # type: ignore[attr-defined]


def status(answer: bytes) -> int:
    return int(answer.split()[1])


async def ask(dashboard: Served, path: str, head: str, *, method: str = "GET", version: str = "1.1") -> bytes:
    port = str(dashboard.dashboard.port)
    closing = "" if "Upgrade" in head else "Connection: close\n"
    return await dashboard.raw(f"{method} {path} HTTP/{version}\n{head.replace('PORT', port)}{closing}\n")


async def test_h_105_a_request_to_another_name_gets_nothing_on_any_route(dashboard: Served) -> None:
    login = f"Authorization: Bearer {dashboard.token}\n"
    for path in paths(dashboard):
        for host in FOREIGN:
            answer = await ask(dashboard, path, f"Host: {host}\n{login}")
            assert status(answer) == 403, (path, host)
            assert b"does not go by that name" in answer
        assert status(await ask(dashboard, path, login, version="1.0")) == 403, "no Host at all"
        two = await ask(dashboard, path, f"Host: localhost:PORT\nHost: evil.example\n{login}")
        assert status(two) in {400, 403}, "two Host lines"


async def test_h_105_its_own_names_work(dashboard: Served) -> None:
    for host in OWN:
        head = f"Host: {host}\nAuthorization: Bearer {dashboard.token}\n"
        assert status(await ask(dashboard, "/api/sessions", head)) == 200, host
        assert status(await ask(dashboard, "/healthz", f"Host: {host}\n")) == 200, host


async def test_every_route_but_two_wants_a_log_in(dashboard: Served) -> None:
    for path in paths(dashboard):
        expected = {200} if path in OPEN_PATHS else {401}
        assert status(await ask(dashboard, path, "Host: localhost:PORT\n")) in expected, path
        wrong = await ask(dashboard, path, "Host: localhost:PORT\nAuthorization: Bearer wrong\n")
        assert status(wrong) in expected, path


async def test_h_106_a_page_of_another_origin_gets_no_answer_and_no_socket(dashboard: Served) -> None:
    login = f"Host: localhost:PORT\nAuthorization: Bearer {dashboard.token}\n"
    for origin in FOREIGN_ORIGINS:
        for path in paths(dashboard):
            assert status(await ask(dashboard, path, f"{login}Origin: {origin}\n")) == 403, (path, origin)
        answer = await ask(dashboard, "/ws", f"{login}{UPGRADE}Origin: {origin}\n")
        assert status(answer) == 403, origin
        assert b"hello" not in answer


async def test_h_106_a_cookie_opens_a_socket_only_with_an_origin_of_its_own(dashboard: Served) -> None:
    cookie = await logged_in(dashboard)
    head = f"Host: localhost:PORT\nCookie: {cookie}\n{UPGRADE}"
    assert status(await ask(dashboard, "/ws", head)) == 403
    url = f"ws://127.0.0.1:{dashboard.dashboard.port}/ws"
    origin = f"http://localhost:{dashboard.dashboard.port}"
    async with connect(url, additional_headers={"Cookie": cookie}, origin=origin) as socket:  # type: ignore[arg-type]
        assert '"hello"' in str(await socket.recv())
    with pytest.raises(InvalidStatus):
        async with connect(url, origin=origin):  # type: ignore[arg-type]
            pass


async def test_a_page_of_another_port_cannot_even_measure_an_answer(dashboard: Served) -> None:
    """It would be sent with the cookie: neither ports nor SameSite tell them apart, and an image has no Origin."""
    head = f"Host: localhost:PORT\nCookie: {await logged_in(dashboard)}\nSec-Fetch-Site: "
    for site in ("same-site", "cross-site"):
        for path in paths(dashboard):
            expected = {200} if path == "/" else {403}
            assert status(await ask(dashboard, path, f"{head}{site}\n")) in expected, (site, path)
    for site in ("same-origin", "none"):
        assert status(await ask(dashboard, "/api/sessions", f"{head}{site}\n")) == 200, site


async def test_only_a_token_is_taken_for_a_log_in(dashboard: Served) -> None:
    for query in ("xtoken=1", "x=token=", "token", "token=", "token=x&token=", "%74oken=x"):
        assert status(await ask(dashboard, f"/?{query}", "Host: localhost:PORT\n")) == 401, query


@pytest.mark.parametrize(
    "path", ["//ws", "/ws/", "/ws/../ws", "/./ws", "/%2e/ws", "/WS", "/ws/x", "/", "/api/sessions"]
)
async def test_h_108_an_upgrade_works_on_one_path_only(dashboard: Served, path: str) -> None:
    login = f"Authorization: Bearer {dashboard.token}\n"
    assert status(await ask(dashboard, path, f"Host: localhost:PORT\n{login}{UPGRADE}")) in {403, 404}
    for wanted in (path, "/ws"):
        answer = await ask(dashboard, wanted, f"Host: evil.example\n{login}{UPGRADE}")
        assert status(answer) == 403, "checked before accept, with a valid token too"


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd", "/static/"]
)
async def test_no_file_beside_those_of_the_page_is_served(dashboard: Served, path: str) -> None:
    answer = await ask(dashboard, path, f"Host: localhost:PORT\nAuthorization: Bearer {dashboard.token}\n")
    assert status(answer) == 404


async def test_nothing_is_changed_over_http(dashboard: Served) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        head = f"Host: localhost:PORT\nAuthorization: Bearer {dashboard.token}\nContent-Length: 0\n"
        for path in paths(dashboard):
            assert status(await ask(dashboard, path, head, method=method)) == 405, (method, path)


async def logged_in(dashboard: Served) -> str:
    """The cookie that the printed address is traded for."""
    answer = await ask(dashboard, f"/?token={dashboard.token}", "Host: localhost:PORT\n")
    found = re.search(rb"set-cookie: ([^;]+)(;[^\r]*)", answer)
    assert found is not None
    assert {part.strip() for part in found[2].decode().split(";")} >= {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert status(answer) == 303 and b"location: /\r\n" in answer
    return found[1].decode()


async def test_the_printed_address_is_traded_for_a_cookie(dashboard: Served) -> None:
    cookie = await logged_in(dashboard)
    head = "Host: localhost:PORT\nCookie: "
    assert status(await ask(dashboard, "/api/sessions", f"{head}{cookie}\n")) == 200
    assert status(await ask(dashboard, "/api/sessions", f"{head}other=1; {cookie}\n")) == 200
    name, _, value = cookie.partition("=")
    ends, _, signature = value.partition(".")
    for forged in (f"{int(ends) + 1}.{signature}", f"{ends}.", ends, f"{ends}.{signature[:-1]}", "", ".", "é.é"):
        assert status(await ask(dashboard, "/api/sessions", f"{head}{name}={forged}\n")) == 401, forged
    assert status(await ask(dashboard, "/?token=wrong", "Host: localhost:PORT\n")) == 401


async def test_every_answer_carries_the_policy(dashboard: Served) -> None:
    for path, login in (("/healthz", ""), ("/nowhere", f"Authorization: Bearer {dashboard.token}\n"), ("/", "")):
        answer = (await ask(dashboard, path, f"Host: localhost:PORT\n{login}")).decode()
        assert "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'" in answer
        for piece in ("frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "nosniff", "no-referrer"):
            assert piece in answer, (path, piece)
    answer = (await ask(dashboard, "/healthz", "Host: localhost:PORT\n")).decode()
    assert f"connect-src 'self' ws://localhost:{dashboard.dashboard.port};" in answer


def test_a_cookie_ends_and_belongs_to_one_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = cookie_key(tmp_path / "web.key")
    assert key == cookie_key(tmp_path / "web.key"), "it holds across restarts"
    assert (tmp_path / "web.key").stat().st_mode & 0o777 == 0o600
    cookie = Access(key, 1).new_cookie().partition(";")[0]
    assert Access(key, 1).has_cookie({"cookie": cookie})
    assert not Access(key, 2).has_cookie({"cookie": cookie.replace("cos_1", "cos_2")})
    monkeypatch.setattr("time.time", lambda: 10**10)
    assert not Access(key, 1).has_cookie({"cookie": cookie})


async def test_a_frame_above_a_megabyte_closes_the_socket(dashboard: Served) -> None:
    async with dashboard.client() as client:
        await client.socket.send("x" * (1024 * 1024 + 1))
        async with asyncio.timeout(30):
            await client.socket.wait_closed()
        assert client.socket.close_code == 1009
