"""How amounts are written for people. Exact figures stand in csv and json."""

from __future__ import annotations

import re
from decimal import Decimal

from cos.agent.errors import CosError

_SMALLEST = Decimal("0.0001")
MOST = Decimal(1_000_000)
"""Nobody means to allow more at once; above it stand slips of the keyboard."""
_CURRENCY = re.compile(r"^\$\s*|\s*(?:\$|usd|dollars?)$", re.IGNORECASE)
_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
"""As `usd` writes it."""
_DECIMAL_COMMA = re.compile(r"[0-9]+,[0-9]{1,2}")


class AmountError(CosError):
    """What somebody wrote is no amount."""


def usd(amount: Decimal) -> str:
    """`$1,234.5678`, with four digits because single calls cost fractions of a cent; `<$0.0001` for less than that."""
    if 0 < amount < _SMALLEST / 2:
        return "<$0.0001"
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    return f"{sign}${amount:,.4f}" if amount < 1000 else f"{sign}${amount:,.2f}"


def amount_of(text: str) -> Decimal:
    """The dollars above 0 that a person wrote, as `amount_in` reads them.

    Raises:
        AmountError: it is no such amount.
    """
    amount = amount_in(text)
    if not amount:
        raise AmountError(f"{text!r} is no amount of US dollars above 0 and up to a million, such as 5 or 2.50")
    return amount


def amount_in(text: str) -> Decimal | None:
    """The dollars that a person wrote: `5`, `$1,000`, `2.50 USD`, `20,00`; None when it is no amount up to `MOST`."""
    digits = _CURRENCY.sub("", text.strip())
    if _DECIMAL_COMMA.fullmatch(digits):
        digits = digits.replace(",", ".")
    elif _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    elif not _PLAIN.fullmatch(digits):
        return None
    amount = Decimal(digits)
    return amount if amount == 0 or _SMALLEST <= amount <= MOST else None
