"""Backups that were damaged on their way: refused in one sentence, and the database as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from cos.core.errors import DatabaseError
from cos.core.postgres.backup import back_up
from cos.core.postgres.restore import prepare_restore
from tests.fuzz.making import spoiled, tries

if TYPE_CHECKING:
    from pathlib import Path

    from cos.core.postgres.database import Database


@tries(12)
@given(data=st.data())
async def test_any_damaged_backup_is_refused(database: Database, tmp_path: Path, data: st.DataObject) -> None:
    good = tmp_path / "good.dump"
    if not good.exists():
        await back_up(database, good)
    content = good.read_bytes()
    bad = data.draw(
        st.one_of(spoiled(content), st.binary(max_size=300), st.integers(0, len(content)).map(lambda n: content[:n]))
    )
    file = tmp_path / "bad.dump"
    file.write_bytes(bad)
    try:
        await prepare_restore(database, file)
    except DatabaseError as error:
        assert str(error).isprintable(), error
        assert "Traceback" not in str(error)
    else:
        # Without its seal it is a backup of pg_dump, which has no check sum of its own.
        assert bad == content or b"cos sha256" not in bad[-80:]
