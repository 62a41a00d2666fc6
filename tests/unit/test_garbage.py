"""When Python looks for garbage: never while something is imported, and by hand in an app that waits for keys."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from cos.agent import garbage


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    gc.enable()


def looks() -> int:
    """Looks at all objects so far."""
    return int(gc.get_stats()[2]["collections"])


def test_nothing_is_collected_while_something_is_imported_and_what_it_made_stays() -> None:
    frozen = gc.get_freeze_count()
    with garbage.importing():
        assert not gc.isenabled()
        made = [[number] for number in range(1_000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= frozen + len(made)


def test_a_failing_import_leaves_collecting_on() -> None:
    with pytest.raises(ImportError), garbage.importing():
        raise ImportError("no such module")
    assert gc.isenabled()


def test_by_hand_all_objects_are_looked_at_when_it_is_due_only() -> None:
    garbage.collect_by_hand()
    gc.collect()
    before = looks()
    garbage.collect_if_due(somebody_types=False)
    assert looks() == before
    # Made, kept and dropped: enough for Python to look at all of them by itself many times.
    for _ in range(30):
        assert [[number] for number in range(20_000)]
    garbage.collect_if_due(somebody_types=True)
    assert looks() == before
    garbage.collect_if_due(somebody_types=False)
    assert looks() == before + 1
    # Somebody who never rests has to wait for it once a while, or all that was dropped would stay.
    for _ in range(90):
        assert [[number] for number in range(20_000)]
    assert looks() == before + 1
    garbage.collect_if_due(somebody_types=True)
    assert looks() == before + 2
