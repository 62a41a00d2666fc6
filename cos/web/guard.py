"""The outermost layer: nothing of a request is looked at, and no WebSocket accepted, before Host, Origin and log-in.

It is plain ASGI, so that it stands before HTTP requests and WebSocket upgrades alike.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse
from starlette.websockets import WebSocketClose

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from cos.web.access import Access

OPEN_PATHS: Final = frozenset({"/healthz", "/metrics"})
"""Without log-in: they tell no content."""
LOGIN_PATH: Final = "/"
_METHODS: Final = frozenset({"GET", "HEAD"})
_FOREIGN_SITES: Final = frozenset({"cross-site", "same-site"})
"""What browsers say of requests that other pages cause. Another port is the same site, and sends the cookie."""
_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")


class Guard:
    """Wraps the whole application."""

    def __init__(self, app: ASGIApp, access: Access, port: int) -> None:
        self._app = app
        self._access = access
        self._hosts = frozenset(f"{name}:{port}" for name in _NAMES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] in {"http", "websocket"}, "the server sends nothing else"
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, _with_headers(send, _policy(_header(scope, b"host")[0])))
        elif scope["type"] == "websocket":
            await WebSocketClose(code=1008)(scope, receive, send)  # Before accept: the client sees 403.
        else:
            status, sentence = refusal
            await PlainTextResponse(sentence + "\n", status)(scope, receive, _with_headers(send, _policy("")))

    def _refusal(self, scope: Scope) -> tuple[HTTPStatus, str] | None:
        hosts, origins = _header(scope, b"host"), _header(scope, b"origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return HTTPStatus.FORBIDDEN, "cos: this server does not go by that name"
        if len(origins) > 1 or any(not self._is_own(origin) for origin in origins):
            return HTTPStatus.FORBIDDEN, "cos: pages of other origins may not use this server"
        if scope["type"] == "http":
            return self._refusal_of_http(scope)
        headers = _joined(scope)
        if self._access.has_token(headers) or (origins and self._access.has_cookie(headers)):
            return None
        return HTTPStatus.FORBIDDEN, "cos: not logged in"

    def _refusal_of_http(self, scope: Scope) -> tuple[HTTPStatus, str] | None:
        if scope["method"] not in _METHODS:
            return HTTPStatus.METHOD_NOT_ALLOWED, "cos: over HTTP everything is only read; see PROTOCOL.md"
        headers, path = _joined(scope), scope["path"]
        if path != LOGIN_PATH and _FOREIGN_SITES.intersection(_header(scope, b"sec-fetch-site")):
            return HTTPStatus.FORBIDDEN, "cos: pages of other origins may not use this server"
        if path in OPEN_PATHS or self._access.has_token(headers) or self._access.has_cookie(headers):
            return None
        if path == LOGIN_PATH and "token" in parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True):
            return None  # The page that logs in looks at the token itself.
        return HTTPStatus.UNAUTHORIZED, "cos: not logged in. Open the address that `cos serve` has printed."

    def _is_own(self, origin: str) -> bool:
        scheme, _, host = origin.lower().partition("://")
        return scheme == "http" and host in self._hosts


def _header(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for key, value in scope["headers"] if key.lower() == name]


def _joined(scope: Scope) -> dict[str, str]:
    return {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}


def _policy(host: str) -> str:
    """`host` was compared with this server's own names before. Some browsers do not count ws: to 'self'."""
    connect = f"'self' ws://{host}" if host else "'none'"
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"connect-src {connect}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )


def _with_headers(send: Send, policy: str) -> Send:
    headers = [
        (b"content-security-policy", policy.encode("latin-1")),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"cross-origin-opener-policy", b"same-origin"),
    ]

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *headers]}
        await send(message)

    return send_with_headers
