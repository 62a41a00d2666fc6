"""When Python looks for objects that only name each other. A look at all of them stops the process for as long as a
tenth of a second, so it is kept small and put where nobody waits.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 300
"""Looks at the middle-aged objects before one at all of them comes by itself; Python's own figure is 10."""
_DUE, _OVERDUE = 10, 100


@contextmanager
def importing() -> Iterator[None]:
    """Import inside: that leaves no garbage, and what it makes stays for good and is not looked at again."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def collect_by_hand() -> None:
    """What is there by now stays for good. From now on all the rest is looked at by `collect_if_due`."""
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, SELDOM)


def collect_if_due(*, somebody_types: bool) -> None:
    """Does nothing as long as little was made since the last look, or not too much while somebody would feel it."""
    if gc.get_count()[2] >= (_OVERDUE if somebody_types else _DUE):
        gc.collect()
