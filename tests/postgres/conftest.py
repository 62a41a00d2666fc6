"""Brings the fixtures of the embedded Postgres to the tests of this folder."""

from tests.postgres.fix_embedded import finished_state, ordinary_user, state, stopped, user_of

__all__ = ["finished_state", "ordinary_user", "state", "stopped", "user_of"]
