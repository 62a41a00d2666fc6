"""CommonAgent: identity, messages, events, tools, hooks, the turn loop and the providers. Knows no database and no screen."""
