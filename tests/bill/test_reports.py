"""Reports: totals are the exact sum of the rows, whatever they are grouped by."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cos.agent.errors import CosError
from cos.agent.events import Usage
from cos.cli.arguments import build_parser
from cos.core.config_errors import ConfigError
from cos.plugins.bill.reports import Span
from cos.plugins.bill.tables import bar
from tests.bill_bench import BillBench, added, bill_bench, costs


async def spend(bill: BillBench) -> None:
    """H-037: 1.00 with three tags, 2.00 without, 4.00 with one tag twice."""
    await bill.dollars(bill.turn("project:x", "team:y", "prio:1"), 1)
    await bill.dollars(bill.turn(profile_id="work"), 2)
    await bill.dollars(bill.turn("project:x", "project:x"), 4)


async def cost(bill: BillBench, *arguments: str) -> str:
    """What `cos cost` prints."""
    options = build_parser().parse_args(["cost", *arguments])
    answer = await bill.plugins.registrations["bill"].cli["cost"](options)
    return answer.text


async def test_groups_of_a_tag_key_add_up_to_the_total_H_037(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        await spend(bill)
        report = await bill.reports.report("project")
        assert costs(report) == {"x": 5, None: 2}
        assert (report.total.cost_usd, report.total.calls, report.overlaps) == (Decimal(7), 3, False)


async def test_a_call_of_two_values_of_one_key_is_a_group_of_its_own(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        await bill.dollars(bill.turn("client:b", "client:a"), 1)
        await bill.dollars(bill.turn("client:a"), 2)
        report = await bill.reports.report("client")
        assert costs(report) == {"a": 2, "a + b": 1}
        assert added([group.figures for group in report.groups]) == report.total.cost_usd


async def test_groups_of_all_tags_overlap_and_say_so_with_the_true_total_H_037(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        await spend(bill)
        report = await bill.reports.report("tag")
        assert costs(report) == {"project:x": 5, "prio:1": 1, "team:y": 1, None: 2}
        assert (report.total.cost_usd, report.overlaps) == (Decimal(7), True)
        printed = await cost(bill, "--by", "tag")
        assert "The groups overlap" in printed
        assert "total      $7.0000" in printed


async def test_the_sessions_of_a_group_add_up_to_it(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        await spend(bill)
        today = await bill.reports.today_is()
        for by in ("project", "tag", "profile", "model", "session", "day", "prio"):
            for group in (await bill.reports.report(by)).groups:
                label = None if by == "day" else group.label
                sessions = await bill.reports.sessions_of(by, label, Span(since=today, until=today))
                assert added([session.figures for session in sessions]) == group.figures.cost_usd
                assert sum(session.figures.calls for session in sessions) == group.figures.calls
        assert await bill.reports.sessions_of("project", "nothing") == []
        assert len(await bill.reports.sessions_of("project", None)) == 1


@pytest.mark.parametrize("by", ["profile", "model", "session", "day", "week", "month", "project", "tag:profile"])
async def test_every_other_grouping_adds_up(core_url: str, tmp_path: Path, by: str) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        await spend(bill)
        await bill.call(bill.turn("project:x"), Usage(input_tokens=7, output_tokens=3, cache_read_tokens=11), model="a")
        report = await bill.reports.report(by)
        for name in ("cost_usd", "calls", "input_tokens", "output_tokens", "cache_read_tokens", "cache_saved_usd"):
            assert sum(getattr(group.figures, name) for group in report.groups) == getattr(report.total, name)
        assert report.total.cost_usd == Decimal("7.0000693")


async def test_a_session_is_shown_alone_and_with_its_children_H_031(core_url: str, tmp_path: Path) -> None:
    def cents(count: int) -> dict[str, Any]:
        return {"usage": Usage(input_tokens=count), "model": "cent"}

    price = "[bill.prices.cent]\ninput = 10_000\noutput = 0"
    async with bill_bench(core_url, tmp_path, price) as bill:
        parent = bill.turn("client:acme")
        child_a = bill.turn(parent=parent)
        child_b = bill.turn(parent=child_a)
        await bill.call(parent, **cents(10))
        await bill.call(child_a, parent=parent, **cents(40))
        await bill.call(child_b, parent=child_a, **cents(20))
        cut = bill.arguments(child_b, parent=child_a, model="cent")
        await bill.begin(cut)
        await bill.fail(cut, Usage(input_tokens=5, is_partial=True), reason="cancelled", first_token_seconds=0.1)
        seen = {turn: await bill.reports.session(turn.session_id) for turn in (parent, child_a, child_b)}
        assert [(it.own.cost_usd, it.with_children.cost_usd) for it in seen.values()] == [
            (Decimal("0.10"), Decimal("0.75")),
            (Decimal("0.40"), Decimal("0.65")),
            (Decimal("0.25"), Decimal("0.25")),
        ]
        assert costs(await bill.reports.report("client")) == {"acme": Decimal("0.75")}
        by_root = await bill.reports.report("session", with_children=True)
        assert costs(by_root) == {str(parent.session_id): Decimal("0.75")}
        assert by_root.total == (await bill.reports.report("session")).total
        calls = await bill.reports.calls(parent.session_id, with_children=True)
        assert [(call.status, call.cause) for call in calls] == [
            ("cancelled", "child"), ("ok", "child"), ("ok", "child"), ("ok", "turn"),
        ]  # fmt: skip


async def test_days_are_those_of_the_time_zone_asked_for(core_url: str, tmp_path: Path) -> None:
    moments = [datetime(2026, 11, 1, 22, 30, tzinfo=UTC), datetime(2026, 11, 1, 23, 30, tzinfo=UTC)]
    async with bill_bench(core_url, tmp_path, timezone="Europe/Berlin") as bill:
        for dollars, moment in enumerate(moments, 1):
            await bill.dollars(bill.turn(), dollars, started_at=moment)
        assert costs(await bill.reports.report("day")) == {"2026-11-01": 1, "2026-11-02": 2}
        assert costs(await bill.reports.report("day", Span(timezone="UTC"))) == {"2026-11-01": 3}
        until = Span(until=date(2026, 11, 1))
        assert (await bill.reports.total(until)).cost_usd == 1
        assert (await bill.reports.report("session", until)).total.cost_usd == 1
        assert costs(await bill.reports.report("week")) == {"2026-10-26": 1, "2026-11-02": 2}
        assert costs(await bill.reports.report("month")) == {"2026-11": 3}
    async with bill_bench(core_url, tmp_path, timezone="UTC") as bill:
        assert costs(await bill.reports.report("day")) == {"2026-11-01": 3}, "another zone counts its own days"
        await bill.assert_rollup_equals_rows()


SPANS = [(None, None), (1, None), (None, 1), (1, 1), (1, 2), (31, 35), (0, 40)]


@pytest.mark.parametrize("kept", ["UTC", "America/Havana", "Pacific/Kiritimati"])
async def test_sums_in_another_time_zone_are_exact_for_every_span(core_url: str, tmp_path: Path, kept: str) -> None:
    """Every half an hour of five weeks with a night in which clocks in Havana go from 1:00 back to 0:00."""
    begin = datetime(2026, 9, 28, tzinfo=UTC)
    async with bill_bench(core_url, tmp_path, timezone=kept) as bill:
        turn = bill.turn("client:acme")
        await bill.dollars(turn, 1, started_at=begin)
        await bill.rows(
            "INSERT INTO model_calls (turn_id, ordinal, session_id, session_path, profile_id, depth, tags, provider,"
            " model, cause, attempt, status, input_tokens, cost_usd, started_at, ended_at, owner_key)"
            " SELECT turn_id, n + 1, session_id, session_path, profile_id, depth, tags, provider, model, cause,"
            " attempt, status, input_tokens, cost_usd, at, at, owner_key FROM model_calls,"
            " generate_series(1, 40 * 48 - 1) n, LATERAL (SELECT started_at + n * interval '30 minutes') t (at)"
        )
        moments = [begin + timedelta(minutes=30) * number for number in range(40 * 48)]
        for asked in ("UTC", "Asia/Tokyo", "America/Havana", "Pacific/Pago_Pago"):
            local = [moment.astimezone(ZoneInfo(asked)).date() for moment in moments]
            for first, last in SPANS:
                since, until = (None if it is None else date(2026, 9, 28) + timedelta(days=it) for it in (first, last))
                expected = sum((since or day) <= day <= (until or day) for day in local)
                report = await bill.reports.report("client", Span(since=since, until=until, timezone=asked))
                assert report.total.calls == expected, (asked, since, until)
                assert costs(report) == {"acme": expected}


async def test_the_panes_get_today_the_last_days_and_what_caching_did(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        await bill.dollars(bill.turn("client:acme"), 3)
        await bill.dollars(bill.turn("client:old"), 9, started_at=datetime(2020, 1, 1, tzinfo=UTC))
        assert costs(await bill.reports.today()) == {"acme": 3}
        days = await bill.reports.last_days()
        assert [day.cost_usd for day in days] == [0] * 13 + [3]
        assert days[-1].day == await bill.reports.today_is()
        await bill.call(bill.turn(), Usage(input_tokens=100, cache_read_tokens=300, output_tokens=1), model="a")
        total = await bill.reports.total(Span(since=days[-1].day))
        assert (total.cache_hit_rate, total.cache_saved_usd) == (300 / 403, Decimal("0.00081"))


async def test_speed_is_that_of_calls_that_ended_well(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        turn = bill.turn()
        for first, tokens in ((0.5, 30), (1.5, 10)):
            given = bill.arguments(turn)
            await bill.begin(given)
            await bill.end(given, Usage(input_tokens=1, output_tokens=tokens), first_token_seconds=first)
        given = bill.arguments(turn)
        await bill.begin(given)
        await bill.fail(given, Usage(), first_token_seconds=9.0)
        (speed,) = await bill.reports.speed()
        assert (speed.model, speed.calls, speed.ttft_ms, speed.tokens_per_second) == ("a", 2, 1000, 20)
        assert "20.0" in await cost(bill, "--speed")


async def test_rows_outlive_their_session_and_its_title_goes(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        turn = bill.turn()
        columns = b"INSERT INTO sessions (id, profile_id, source, title, root_session_id) "
        values = b"VALUES (%(id)s, 'home', 'cli', 'Secret plans', %(id)s)"
        await bill.database.fetch(columns + values, {"id": turn.session_id})
        await bill.dollars(turn, 1)
        (group,) = (await bill.reports.report("session")).groups
        assert (group.label, group.title) == (str(turn.session_id), "Secret plans")
        await bill.rows("DELETE FROM sessions")
        (group,) = (await bill.reports.report("session")).groups
        assert (group.label, group.title, group.figures.cost_usd) == (str(turn.session_id), None, Decimal(1))


async def test_table_csv_and_json_show_the_same_figures(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        await spend(bill)
        await bill.call(bill.turn(), Usage(output_tokens=1), model="who-knows")
        printed = await cost(bill, "--by", "project")
        assert printed.splitlines()[0] == "Cost by project, all time (UTC)"
        assert "1 unpriced" in printed
        assert "1 unpriced calls are in no sum" in printed
        assert "apart" in printed.splitlines()[2]
        assert "\napart: calls that are counted, but whose cost is known to nobody" in printed
        lines = list(csv.DictReader(io.StringIO(await cost(bill, "--by", "project", "--format", "csv"))))
        assert [(line["group"], line["cost_usd"], line["is_total"]) for line in lines] == [
            ("x", "5", "0"), ("(none)", "2", "0"), ("total", "7", "1"),
        ]  # fmt: skip
        data = json.loads(await cost(bill, "--by", "project", "--format", "json", "--since", "2020-01-01"))
        assert [(group["group"], group["cost_usd"]) for group in data["groups"]] == [("x", 5), (None, 2)]
        assert (data["total"]["cost_usd"], data["total"]["unpriced"], data["since"]) == (7, 1, "2020-01-01")


async def test_a_cost_that_is_not_known_is_no_zero_in_csv_and_json(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        await bill.call(bill.turn(), Usage(output_tokens=1), model="who-knows")
        lines = list(csv.DictReader(io.StringIO(await cost(bill, "--by", "model", "--format", "csv"))))
        assert [(line["cost_usd"], line["unpriced"]) for line in lines] == [("", "1"), ("", "1")]
        data = json.loads(await cost(bill, "--by", "model", "--format", "json"))
        assert [group["cost_usd"] for group in (*data["groups"], data["total"])] == [None, None]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "Client"], "--by takes tag, profile"),
        (["--with-children"], "--with-children belongs to --by session"),
        (["--since", "2026-02-01", "--until", "2026-01-01"], "is later than"),
        (["--tz", "Europe/Berln"], "Did you mean Europe/Berlin?"),
        (["--speed", "--format", "csv"], "table or json"),
        (["override", "client:acme/month", "0"], "no amount of US dollars above 0"),
        (["override", "all/month", "5"], "there is no budget 'all/month'"),
        (["budgets", "--session", "abc"], "no whole session id"),
    ],
)
async def test_what_cannot_be_reported_is_one_sentence(
    core_url: str, tmp_path: Path, arguments: list[str], said: str
) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        with pytest.raises(CosError) as caught:
            await cost(bill, *arguments)
        assert said in str(caught.value)


async def test_a_key_that_no_call_has_is_said(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        await spend(bill)
        said = await cost(bill, "--by", "projct")
        assert said.endswith(
            "No call here has a tag with the key 'projct'. Did you mean project? Keys of recorded tags: prio, project, "
            "team. --by also takes tag, profile, model, session, day, week, month."
        )
        assert "Did you mean session? Keys" in await cost(bill, "--by", "sesion")
        assert "No call here" not in await cost(bill, "--by", "project")
    async with bill_bench(core_url, tmp_path) as bill:
        assert "apart" not in await cost(bill), "there is nothing to explain"


async def test_nothing_recorded_is_said(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        assert await cost(bill) == "Cost by client, all time (UTC): no model call is recorded."
        assert await cost(bill, "budgets") == "No budget holds now. Budgets are [[bill.budgets]] in commonos.toml."


@pytest.mark.parametrize(
    ("toml", "line", "said"),
    [
        ("timezon = 'UTC'", 4, "bill.timezon = \"UTC\": unknown key. Did you mean bill.timezone?"),
        ("[[bill.budgets]]\nperiod = 'month'\nlimit_usd = 0", 6, "bill.budgets.limit_usd = 0: must be greater than 0"),
        ("[[bill.budgets]]\nperiod = 'mnth'\nlimit_usd = 1", 5, "Did you mean month?"),
        ("[[bill.budgets]]\nperiod = 'day'", 4, "bill.budgets.limit_usd: this key is missing"),
        ("[[bill.budgets]]\ntag = 'Client:x'\nperiod = 'day'\nlimit_usd = 1", 5, "only lower-case letters"),
        ("[[bill.budgets]]\nprofile = 'wrk'\nperiod = 'day'\nlimit_usd = 1", 5, "no profile wrk. Did you mean work?"),
        ("[[bill.budgets]]\ntag = 'a:b'\nkey = 'a'\nperiod = 'day'\nlimit_usd = 1", 4, "this one has tag and key"),
        ('[bill.prices."my.model"]\ninput = -1\noutput = 2', 5, "my.model.input = -1: must be a finite number"),
        ('[bill.prices."m"]\ninput = 1', 4, "bill.prices.m.output: this key is missing"),
        ("tag_key = 'Client'", 4, "must be the key of a tag"),
    ],
)  # fmt: skip
async def test_a_wrong_setting_names_file_line_key_and_near_match(
    core_url: str, tmp_path: Path, toml: str, line: int, said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        async with bill_bench(core_url, tmp_path, toml):
            pass
    assert f"commonos.toml, line {line}: " in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("amount", "most", "drawn"),
    [("0", "1", ""), ("1", "1", "█" * 20), ("0.000001", "1", "▏"), ("0.5", "1", "█" * 10), ("1", "0", "")],
)
def test_bars_show_shares_and_anything_above_zero(amount: str, most: str, drawn: str) -> None:
    assert bar(Decimal(amount), Decimal(most)) == drawn
