"""Pictures in Postgres, by the hash of their bytes."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from cos.core.postgres.database import Database

_KEPT: Final = 8


class PostgresBlobs:
    """Implements `Blobs`. The newest few stay in memory: every step of a turn sends its pictures again."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("blobs")
        self._newest: OrderedDict[str, bytes] = OrderedDict()

    async def keep(self, profile_id: str, media_type: str, data: bytes) -> str:
        """Store bytes; the same ones twice are stored once. Answers their hash.

        Raises:
            DatabaseError: they could not be kept.
        """
        blob = sha256(data).hexdigest()
        row = {"hash": blob, "profile_id": profile_id, "media_type": media_type, "data": data}
        await self._database.fetch(self._sql["keep_blob"], row)
        self._remember(blob, data)
        return blob

    async def read(self, blob: str) -> bytes | None:
        if blob not in self._newest:
            rows = await self._database.fetch(self._sql["blob"], {"hash": blob})
            if not rows:
                return None
            self._remember(blob, bytes(rows[0]["data"]))
        return self._newest[blob]

    def _remember(self, blob: str, data: bytes) -> None:
        self._newest[blob] = data
        self._newest.move_to_end(blob)
        while len(self._newest) > _KEPT:
            self._newest.popitem(last=False)
