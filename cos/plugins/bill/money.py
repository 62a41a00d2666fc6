"""How amounts are written for people. Exact figures stand in csv and json."""

from __future__ import annotations

from decimal import Decimal

_SMALLEST = Decimal("0.0001")


def usd(amount: Decimal) -> str:
    """`$1,234.5678`, with four digits because single calls cost fractions of a cent; `<$0.0001` for less than that."""
    if 0 < amount < _SMALLEST / 2:
        return "<$0.0001"
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    return f"{sign}${amount:,.4f}" if amount < 1000 else f"{sign}${amount:,.2f}"
