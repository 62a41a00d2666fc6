"""Settings that the design names and this version lacks.

They are refused, never skipped: a deny rule that is read and ignored would be a trap. Remove an entry when it works.
"""

from __future__ import annotations

from cos.core.config_errors import ConfigError
from cos.core.toml_source import TomlSource


def refuse_not_yet(source: TomlSource) -> None:
    """Stops at a setting that does not exist yet.

    Raises:
        ConfigError: there is one.
    """
    approvals = source.data.get("approvals")
    if not isinstance(approvals, dict):
        return
    if "rules" in approvals:
        raise ConfigError(
            "approval rules are not there yet in this version of cos, so they would not be obeyed. Remove them: "
            'mode = "ask" asks about every call that does more than read',
            file=source.file,
            line=source.line_of(("approvals", "rules")),
            key="approvals.rules",
        )
