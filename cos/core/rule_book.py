"""The rules and the mode of a profile as its file holds them now: another process, or the user, may have changed it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from cos.core.config_errors import ConfigError
from cos.core.profiles import Profile, load_settings
from cos.core.tool_lists import check_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.core.rules import Rule

log = logging.getLogger("cos.policy")

Stamp = tuple[int, int, int] | None


class RuleBook:
    """Reads the file again when it has changed. While it is broken, the rules of before hold and `warning` says so.

    `installed` are the names of the tools: a rule that asks or denies and misspells one of them breaks the file too.
    """

    def __init__(self, profile: Profile, installed: Sequence[str]) -> None:
        self._profile = profile
        self._installed = installed
        self._rules = tuple(rule.rule() for rule in profile.settings.approvals.rules)
        self._stamp = self._now()
        self.fault: str | None = None
        """Why the rules of the file cannot be used at present."""

    def rules(self) -> tuple[Rule, ...]:
        """The rules in the order of the file."""
        stamp = self._now()
        if stamp != self._stamp:
            try:
                profile = replace(self._profile, settings=load_settings(self._profile.config_file))
                check_rules(profile, self._installed)
            except (ConfigError, FileNotFoundError) as error:
                self.fault = str(error)
                log.warning("the rules of profile %s are those of before: %s", self._profile.id, error)
            else:
                self._profile = profile
                self._rules = tuple(rule.rule() for rule in profile.settings.approvals.rules)
                self.fault = None
            self._stamp = stamp
        return self._rules

    @property
    def warning(self) -> str | None:
        """What to tell the user when the rules of the file, as it was last read, are not those that hold."""
        if self.fault is None:
            return None
        name = self._profile.id
        return f"The rules of the profile {name} are those of before, for its file cannot be used: {self.fault}"

    @property
    def profile(self) -> Profile:
        """The profile with the settings of the last reading."""
        return self._profile

    def _now(self) -> Stamp:
        try:
            status = self._profile.config_file.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino
