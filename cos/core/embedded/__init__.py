"""The embedded Postgres: one server per user, started when first needed, stopped when its last user leaves.

Only for POSIX systems. No driver is imported here: `attach` says where to connect, the caller connects.
"""

from cos.core.embedded.connection import ConnectionTarget
from cos.core.embedded.errors import (
    DatabaseAccountError,
    DatabaseBinariesError,
    DatabaseFolderError,
    DatabaseInUseError,
    DatabaseSpaceError,
    DatabaseStartError,
    DatabaseUnreachableError,
    DatabaseVersionError,
)
from cos.core.embedded.folders import default_state_dir
from cos.core.embedded.server import EmbeddedPostgres, EmbeddedStatus

__all__ = [
    "ConnectionTarget",
    "DatabaseAccountError",
    "DatabaseBinariesError",
    "DatabaseFolderError",
    "DatabaseInUseError",
    "DatabaseSpaceError",
    "DatabaseStartError",
    "DatabaseUnreachableError",
    "DatabaseVersionError",
    "EmbeddedPostgres",
    "EmbeddedStatus",
    "default_state_dir",
]
