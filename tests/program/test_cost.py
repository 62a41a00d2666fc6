"""`cos cost` and budgets as people use them, against the local API server; and what a kill leaves."""

from __future__ import annotations

import csv
import io
import json
import time

import pytest

from tests.api_server import ApiServer, open_text, reply, silence, text, usage
from tests.api_server.server import KEY
from tests.program.fix_program import Program

MILLION = usage(1_000_000, 100_000)
"""Of claude-sonnet-5-5: 2 + 1 dollars."""


@pytest.fixture
def cos(program: Program, api: ApiServer) -> Program:
    program.use_api(api, KEY)
    program.setting(
        f'plugins = ["bill", "workspace"]\n[bill]\ntimezone = "UTC"\n[bill.servers]\n"{api.url}" = "anthropic"\n'
    )
    return program


def test_what_was_asked_is_reported_by_client(cos: Program, api: ApiServer) -> None:
    api.push(reply(text("One."), usage=MILLION), reply(text("Two."), usage=MILLION), reply(text("Three.")))
    asked = cos.run("ask", "first", "--tag", "client:acme", "--json")
    last = json.loads(asked.stdout.splitlines()[-1])
    assert (last["type"], last["cost_usd"]) == ("turn.completed", 3.0)
    kinds = [json.loads(line)["type"] for line in asked.stdout.splitlines()]
    assert kinds.index("bill.call_recorded") < kinds.index("turn.completed")
    assert cos.run("ask", "second").stderr.rstrip().endswith("$3.0000")
    printed = cos.run("cost", "--by", "client")
    assert (printed.returncode, printed.stderr) == (0, "")
    lines = [line.split() for line in printed.stdout.splitlines()]
    assert ["acme", "$3.0000", "████████████████████", "1", "1,000,000", "100,000", "0%"] in lines
    assert ["total", "$6.0000", "2", "2,000,000", "200,000", "0%"] in lines
    table = list(csv.DictReader(io.StringIO(cos.run("cost", "--by", "tag", "--format", "csv").stdout)))
    assert [(row["group"], row["cost_usd"]) for row in table] == [
        ("area:home", "6"), ("client:acme", "3"), ("total", "6"),
    ]  # fmt: skip
    api.push()
    cos.run("ask", "third")
    assert "claude-sonnet-5-5" in cos.run("cost", "--speed").stdout


def test_a_spent_budget_stops_with_exit_code_5_until_it_is_overridden(cos: Program, api: ApiServer) -> None:
    settings = cos.home / "commonos.toml"
    settings.write_text(
        settings.read_text() + '[[bill.budgets]]\ntag = "client:acme"\nperiod = "month"\nlimit_usd = 2\n'
    )
    api.push(reply(text("One."), usage=MILLION), reply(text("Two."), usage=MILLION))
    first = cos.run("ask", "first", "--tag", "client:acme")
    assert first.returncode == 0
    assert "The budget client:acme/month is spent; no further model call is made unless you allow more" in first.stderr
    stopped = cos.run("ask", "second", "--tag", "client:acme")
    assert (stopped.returncode, stopped.stdout) == (5, "")
    assert "cos cost override client:acme/month AMOUNT" in stopped.stderr
    assert len(api.requests) == 1
    assert "client:acme/month  $3.0000  of $2.0000" in cos.run("cost", "budgets").stdout
    assert "$9.0000 are left of $12.0000" in cos.run("cost", "override", "client:acme/month", "10").stdout
    assert cos.run("ask", "third", "--tag", "client:acme").stdout == "Two.\n"


def test_an_answer_that_is_no_amount_is_refused_and_the_question_stays(cos: Program, api: ApiServer) -> None:
    settings = cos.home / "commonos.toml"
    settings.write_text(settings.read_text() + '[[bill.budgets]]\nperiod = "month"\nlimit_usd = 2\n')
    api.push(reply(text("One."), usage=MILLION), reply(text("Two."), usage=MILLION))
    cos.run("ask", "first")
    second = cos.start("ask", "second", "--approve", "ask")
    while not (found := json.loads(cos.run("approvals", "list", "--json").stdout)):
        assert second.poll() is None, second.communicate()
    short = found[0]["id"][-8:]
    refused = cos.run("approvals", "answer", short, "zzz")
    assert refused.returncode == 2 and "the question still waits" in refused.stderr
    assert [one["id"] for one in json.loads(cos.run("approvals", "list", "--json").stdout)] == [found[0]["id"]]
    assert cos.run("approvals", "answer", short, "5").returncode == 0
    output, _ = second.communicate(timeout=60)
    assert output == "Two.\n"


def test_a_call_under_way_when_the_program_is_killed_is_there_and_marked(cos: Program, api: ApiServer) -> None:
    api.push(reply(open_text("It was a dark"), silence(), usage=MILLION), reply(text("Fine."), usage=MILLION))
    asking = cos.start("ask", "tell a story")
    api.wait_for(1)
    assert cos.rows("SELECT status, model FROM model_calls") == [("running", "claude-sonnet-5-5")]
    asking.kill()
    asking.wait()
    deadline = time.monotonic() + 20
    # The server may take a moment to see that the connection that held the lock is gone.
    while "1 lost" not in cos.run("cost").stdout:
        assert time.monotonic() < deadline
    assert cos.run("ask", "go on").returncode == 0
    assert cos.rows("SELECT status, cost_usd FROM model_calls ORDER BY started_at") == [
        ("lost", None), ("ok", 3),
    ]  # fmt: skip
    assert "1 lost calls are in no sum" in cos.run("cost").stdout


def test_cost_without_the_plugin_says_how_to_enable_it(cos: Program) -> None:
    file = cos.setting('plugins = ["workspace"]\n')
    done = cos.run("cost")
    assert done.returncode == 2
    assert f"the plugin bill is not enabled: add 'bill' to `plugins` in {file}" in done.stderr


def test_a_wrong_day_is_a_usage_error(cos: Program) -> None:
    done = cos.run("cost", "--since", "yesterday")
    assert done.returncode == 2
    assert "'yesterday' is no day such as 2026-11-01" in done.stderr
