"""What `[memory]` in commonos.toml may hold. The keys and their defaults are Hermes'."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from cos.plugins.memory.entries import Target

Limit = Annotated[int, Field(ge=1, le=65_536)]


class MemorySettings(BaseModel):
    """The table `[memory]`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    memory_enabled: bool = True
    user_profile_enabled: bool = True
    memory_char_limit: Limit = 2_200
    """Characters of all notes together, what separates them included; exactly so many still fit."""
    user_char_limit: Limit = 1_375
    """As `memory_char_limit`, for what is known about the user."""
    write_approval: bool = False
    """Whether a change by an agent needs approval as the profile's mode says; else it is made and shown."""

    @property
    def limits(self) -> dict[Target, int]:
        """The stores that are in use, in the order of the prompt, and how many characters each may hold."""
        limits: dict[Target, int] = {}
        if self.memory_enabled:
            limits["memory"] = self.memory_char_limit
        if self.user_profile_enabled:
            limits["user"] = self.user_char_limit
        return limits
