"""`cos serve --headless` as a service's manager runs it: a real process, its output, its signals, its end."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import urllib.error
import urllib.request
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from tests.web.fix_dashboard import client_of
from tests.web.test_sessions_live import ended

if TYPE_CHECKING:
    import subprocess

    from tests.program.fix_program import Program
    from tests.web.fix_dashboard import WebClient

READY = re.compile(r"cos: dashboard at (http://127\.0\.0\.1:(\d+)/\?token=([A-Za-z0-9_-]{20,}))\n")


def serving(program: Program, *arguments: str, port: int = 0, **env: str) -> tuple[subprocess.Popen[str], str]:
    """The process and its address, when it is ready."""
    process = program.start("serve", "--headless", "--port", str(port), "--profile", "demo", *arguments, **env)
    assert process.stdout is not None
    found = READY.fullmatch(process.stdout.readline())
    assert found is not None, process.stderr.read() if process.stderr else ""
    return process, found[1]


def got(url: str, path: str, **headers: str) -> tuple[int, str]:
    base, token = url.split("/?token=")
    request = urllib.request.Request(base + path, headers={"Authorization": f"Bearer {token}"} | headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status, answer.read().decode()


async def began(client: WebClient, text: str) -> str:
    """The session of a message that was sent to the demo."""
    answer = await client.ask("message.send", text=text, profile_id="demo")
    session_id: str = answer["payload"]["session_id"]
    return session_id


async def test_one_line_says_that_it_is_ready_and_a_stop_is_clean(program: Program) -> None:
    process, url = serving(program)
    async with client_of(url) as client:
        session_id = await began(client, "run a command")
        await client.told("approval.requested")
        seen = await client.subscribed(session_id)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            await client.socket.wait_closed()
        assert client.socket.close_code == 1001
        assert seen.active
    out, err = await asyncio.to_thread(process.communicate, timeout=30)
    assert (process.returncode, out) == (0, "")
    assert "Traceback" not in err
    assert program.rows("SELECT status FROM turns") == [("cancelled",)]
    assert program.rows("SELECT status FROM approvals") == [("cancelled",)]
    process, url = serving(program)
    async with client_of(url) as client:
        await client.subscribed(session_id)
        answer = await client.ask("message.send", text="think", session_id=session_id)
        assert answer["payload"]["turn_id"] is not None, "the session goes on"
        seen = client.reader.sessions[session_id]
        await client.when(lambda: len(seen.turns) == 2 and not seen.active)
        assert [turn["status"] for turn in seen.turns.values()] == ["cancelled", "completed"]
    process.send_signal(signal.SIGINT)
    await asyncio.to_thread(process.communicate, timeout=30)
    assert process.returncode == 0


def test_the_cookie_holds_across_a_restart_and_the_token_does_not(program: Program) -> None:
    process, url = serving(program)
    port = int(url.split(":")[2].partition("/")[0])
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", url.removeprefix(f"http://127.0.0.1:{port}"))
    cookie = str(connection.getresponse().getheader("set-cookie")).partition(";")[0]
    connection.close()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    process, again = serving(program, port=port)
    assert again.partition("token=")[2] != url.partition("token=")[2]
    wrong = again.partition("token=")[0] + "token=wrong"
    assert got(wrong, "/api/sessions", Cookie=cookie)[0] == 200
    with pytest.raises(urllib.error.HTTPError):
        got(url, "/api/sessions")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)


def test_h_114_only_loopback_is_listened_on(program: Program) -> None:
    process, url = serving(program, HOST="0.0.0.0", UVICORN_HOST="0.0.0.0")
    port = int(url.split(":")[2].partition("/")[0])
    with open("/proc/net/tcp") as tcp, open("/proc/net/tcp6") as tcp6:
        addresses = [line.split()[1] for line in [*tcp, *tcp6] if line.split()[3] == "0A"]
    assert [address for address in addresses if address.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]
    second = program.run("serve", "--headless", "--port", str(port))
    assert second.returncode == 2
    assert f"port {port} of 127.0.0.1 cannot be used (Address already in use)" in second.stderr
    assert "--port" in second.stderr
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.2", "example.org"])
def test_h_114_another_address_is_refused(program: Program, host: str) -> None:
    refused = program.run("serve", "--headless", "--port", "0", "--host", host)
    assert refused.returncode == 2
    assert "listens on 127.0.0.1 only" in refused.stderr


def test_h_114_the_settings_name_no_address(program: Program) -> None:
    program.setting('[web]\nhost = "0.0.0.0"\n')
    refused = program.run("serve", "--headless", "--port", "0")
    assert refused.returncode == 2
    assert "web" in refused.stderr


@pytest.mark.parametrize("port", ["-1", "65536", "x", "80 80"])
def test_a_port_is_a_number(program: Program, port: str) -> None:
    refused = program.run("serve", "--headless", f"--port={port}")
    assert (refused.returncode, "is no port from 0 to 65535" in refused.stderr) == (2, True)


def test_without_a_terminal_the_app_is_not_opened(program: Program) -> None:
    refused = program.run("serve", "--port", "0")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "cos serve --headless" in refused.stderr


async def test_log_lines_are_json_and_tell_neither_content_nor_token(program: Program) -> None:
    process, url = serving(program, "--log-format", "json")
    await asyncio.to_thread(got, url, "/api/sessions?token=secret-in-query")
    async with client_of(url) as client:
        session_id = await began(client, "my secret words")
        await client.subscribed(session_id)
        await ended(client, session_id)
    health = json.loads((await asyncio.to_thread(got, url, "/healthz"))[1])
    assert health["status"] == "ok"
    metrics = (await asyncio.to_thread(got, url, "/metrics"))[1]
    for line in ("cos_database_up 1", "cos_sessions 1", 'cos_turns{status="completed"} 1', "cos_running_turns 0"):
        assert line in metrics.splitlines()
    assert re.search(r"^cos_web_sent_total [1-9]", metrics, re.M)
    process.send_signal(signal.SIGTERM)
    out, err = await asyncio.to_thread(process.communicate, timeout=30)
    assert out == ""
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    told = [line["message"] for line in lines if line["logger"] == "cos.web"]
    assert [message.rsplit(" ", 1)[1] for message in told if session_id in message] == ["started", "completed"]
    for secret in ("secret", url.partition("token=")[2]):
        assert secret not in err + metrics
    assert len(UUID(session_id).hex) == 32


async def test_two_servers_on_one_database_work_for_each_other(program: Program) -> None:
    """A session that one runs is watched, approved and stopped through the other."""
    (first, url), (second, other_url) = serving(program), serving(program)
    async with client_of(url) as here, client_of(other_url) as there:
        session_id = await began(here, "run a command")
        seen = await there.subscribed(session_id)
        asked = await there.told("approval.requested")
        answer = await there.ask(
            "approval.respond", approval_id=asked["id"], choice="once", content_hash=asked["content_hash"]
        )
        assert answer["payload"]["status"] == "allowed"
        mine = await here.subscribed(session_id)
        for client in (here, there):
            await ended(client, session_id)
        (turn,) = mine.turns.values()
        assert [it["status"] for it in seen.turns.values()] == [turn["status"]] == ["completed"]
        assert list(seen.messages) == list(mine.messages)
        assert seen.texts == mine.texts
        stopped = await began(here, "run a command")
        await here.subscribed(stopped)
        await here.told("approval.requested")
        assert (await there.ask("turn.cancel", session_id=stopped))["payload"] == {"cancelled": True}
        assert [it["status"] for it in (await ended(here, stopped)).turns.values()] == ["cancelled"]
    for process in (first, second):
        process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(process.communicate, timeout=30)
        assert process.returncode == 0


async def test_h_117_when_the_process_is_killed_the_request_ends_with_its_turn(program: Program) -> None:
    process, url = serving(program)
    async with client_of(url) as client:
        session_id = await began(client, "run a command")
        await client.told("approval.requested")
        process.kill()
        process.wait()
    process, url = serving(program)
    async with client_of(url) as client:
        seen = await client.subscribed(session_id)
        assert [turn["status"] for turn in seen.turns.values()] == ["interrupted"]
    assert json.loads((await asyncio.to_thread(got, url, "/api/approvals"))[1])["approvals"] == []


def test_no_message_is_without_a_turn(program: Program) -> None:
    """Row 69 of the reference: the column was NOT NULL from the first schema on, so there is nothing to fill in."""
    process, _ = serving(program)
    assert program.rows(
        "SELECT is_nullable FROM information_schema.columns WHERE table_name = 'messages' AND column_name = 'turn_id'"
    ) == [("NO",)]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
