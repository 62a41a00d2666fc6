"""CommonAgent: identity, messages, events, tools, hooks, the turn loop, providers. Knows no database and no screen."""
