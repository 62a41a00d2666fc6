"""The web application: its routes, behind the guard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.staticfiles import StaticFiles

from cos.web.guard import Guard
from cos.web.reading import Reading, answering
from cos.web.requests import Requests
from cos.web.socket import Sockets

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from cos.web.access import Access
    from cos.web.core_port import WebCore
    from cos.web.hub import Hub
    from cos.web.metrics import Metrics

STATIC: Final = Path(__file__).parent / "static"


def routes(core: WebCore, hub: Hub, metrics: Metrics, access: Access) -> list[BaseRoute]:
    """Every path; whatever is not exactly one of them does not exist."""
    pages = _Pages(access)
    reading, sockets = Reading(core, hub), Sockets(hub, Requests(core, hub))
    session = "/api/sessions/{id}"
    return [
        Route("/", pages.index),
        Route("/static/{path:path}", pages.static),
        Route("/api/sessions", answering(reading.sessions)),
        Route(session, answering(reading.session)),
        Route(f"{session}/messages", answering(reading.messages)),
        Route(f"{session}/turns", answering(reading.turns)),
        Route("/api/approvals", answering(reading.approvals)),
        Route("/api/cost", answering(reading.cost)),
        Route("/api/profiles", answering(reading.profiles)),
        Route("/healthz", metrics.health),
        Route("/metrics", metrics.page),
        WebSocketRoute("/ws", sockets.serve),
    ]


def guarded(core: WebCore, hub: Hub, metrics: Metrics, access: Access, port: int) -> Guard:
    """The application that the server runs."""
    app = Starlette(routes=routes(core, hub, metrics, access))
    app.router.redirect_slashes = False
    return Guard(app, access, port)


class _Pages:
    """The files of the page. Only names that are there are served, from this folder and none above it."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._files = StaticFiles(directory=STATIC)

    async def index(self, request: Request) -> Response:
        """Log in with the token of the address, or show the page."""
        token = request.query_params.get("token")
        if token is None:
            return self._file("index.html")
        if not self._access.is_token(token):
            return PlainTextResponse("cos: this address is of an earlier start; take the one printed last\n", 401)
        return RedirectResponse("/", 303, {"set-cookie": self._access.new_cookie(), "cache-control": "no-store"})

    async def static(self, request: Request) -> Response:
        return self._file(request.path_params["path"])

    def _file(self, name: str) -> Response:
        path, _ = self._files.lookup_path(name)
        if not path or not Path(path).is_file():
            return PlainTextResponse("cos: there is no such file\n", 404)
        return FileResponse(path, headers={"cache-control": "no-cache"})
