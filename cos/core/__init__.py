"""CommonOS: configuration, profiles, Postgres, sessions, approvals, the Dispatcher and the plugins' way in."""
