"""The core's errors, grouped by who can act.

CosError
├── CommandError           the user: no such slash command, or not in this way
├── DatabaseError          the database's owner: it does not answer, or refuses
│   ├── LostTurnError      nobody: another process closed this turn; stop writing to it
│   └── NewerSchemaError   the user: a newer cos made the tables; update this one
├── PluginError            the user: an enabled plugin is missing, or does not register
├── SearchError            the user: what was looked for takes too long to find
├── SessionError           the user: no such session, it belongs to another profile, or it cannot be changed now
└── SkillError             whoever asked: no such skill, or no such file in it
"""

from __future__ import annotations

from cos.agent.errors import CosError


class CommandError(CosError):
    """A slash command that does not exist, or cannot do what was asked."""


class DatabaseError(CosError):
    """The database does not answer or refuses a statement."""


class LostTurnError(DatabaseError):
    """Another process found this turn's owner gone and closed the turn."""


class NewerSchemaError(DatabaseError):
    """The tables were made by a newer cos than this one."""


class PluginError(CosError):
    """An enabled plugin is not installed, or fails to register."""


class SearchError(CosError):
    """A search was stopped because it took too long."""


class SessionError(CosError):
    """There is no such session, it belongs to another profile, or it cannot be changed now."""


class SkillError(CosError):
    """There is no such skill, or no such file in it."""
