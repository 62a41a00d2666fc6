"""The dashboard as its user has it: Chromium on a `cos serve --headless` of its own, with the demo or the local API."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Request

    from tests.program.fix_program import Program

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_MS = 20_000
OFFLINE_NOISE = ("ERR_CONNECTION_REFUSED", "WebSocket connection to", "status of 404")


@dataclass
class Dash:
    """One user's dashboard: its server, which may be started again, and pages on it."""

    program: Program
    browser: Browser
    server: subprocess.Popen[str] | None = None
    url: str = ""
    """With the token, as it was printed."""
    contexts: list[BrowserContext] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    """Dialogs, errors of scripts, refusals of the content policy, requests to anywhere else."""

    def serve(self, port: int = 0) -> None:
        self.server = self.program.start("serve", "--headless", "--port", str(port))
        assert self.server.stdout is not None
        for line in self.server.stdout:
            if line.startswith("cos: dashboard at "):
                self.url = line.split()[-1]
                return
        raise AssertionError(self.server.stderr and self.server.stderr.read())

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    def stop(self) -> None:
        assert self.server is not None
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(30)

    def page(self, *, width: int = 1280, height: int = 900, path: str = "", script: str = "") -> Page:
        """A logged-in page in a browser profile of its own. `script` runs before those of the page."""
        context = self.browser.new_context(viewport={"width": width, "height": height})
        context.set_default_timeout(PATIENCE_MS)
        self.contexts.append(context)
        if script:
            context.add_init_script(script)
        return self.tab(context, self.url + path)

    def tab(self, context: BrowserContext, address: str) -> Page:
        page = context.new_page()
        page.on("dialog", self._alerted)
        page.on("pageerror", lambda error: self.troubles.append(f"script: {error}"))
        page.on("console", self._said)
        page.on("request", self._asked)
        page.goto(address)
        expect(page.locator("#connection")).to_have_attribute("data-level", "up")
        return page

    def _alerted(self, dialog: Dialog) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(noise in message.text for noise in OFFLINE_NOISE):
            self.troubles.append(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        if urlsplit(request.url).hostname != "127.0.0.1":
            self.troubles.append(f"request to {request.url}")

    def close(self) -> None:
        for context in self.contexts:
            context.close()


def say(page: Page, text: str) -> None:
    """Write into the composer and send."""
    page.locator("#composer-text").fill(text)
    page.locator("#composer-text").press("Enter")


def begin(page: Page, text: str, profile: str = "demo") -> None:
    """Begin a session with its first message."""
    page.locator("#begin").click()
    page.locator("#new-profile").select_option(profile)
    say(page, text)
    expect(page.locator(".turn")).to_have_count(1)


def armed_card(page: Page) -> None:
    """Wait until the one request that waits takes a decision."""
    expect(page.locator(".card.armed")).to_have_count(1)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for one file of tests: while it is open, no test of this process can run an event loop of its own."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"there is no Chromium here: none of {', '.join(NAMES)} is in PATH")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        # Without its sandbox, which neither root nor most containers can have; all that it opens is our own page.
        browser = playwright.chromium.launch(executable_path=found, chromium_sandbox=False)
        yield browser
        browser.close()


@pytest.fixture
def dash(program: Program, chromium: Browser) -> Iterator[Dash]:
    """A server with the profile demo in front. Whatever a page must never do fails the test."""
    program.env["COS_PROFILE"] = "demo"
    made = Dash(program, chromium)
    made.serve()
    yield made
    made.close()
    assert not made.troubles, made.troubles
