"""The time zone of this machine is one that days can be counted in."""

from __future__ import annotations

import pytest

from cos.plugins.bill.zones import local_timezone


@pytest.mark.parametrize("name", ["Asia/Kathmandu", ":Europe/Berlin"])
def test_tz_names_the_zone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("TZ", name)
    assert local_timezone() == name.removeprefix(":")


@pytest.mark.parametrize("name", ["", "Nowhere/City", "CET-1CEST,M3.5.0,M10.5.0/3", "../../etc/passwd"])
def test_what_names_no_zone_is_passed_over(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("TZ", raising=False)
    usual = local_timezone()
    monkeypatch.setenv("TZ", name)
    assert local_timezone() == usual
