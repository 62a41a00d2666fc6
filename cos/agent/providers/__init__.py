"""The providers that ship: the Anthropic Messages API and the scripted mock. Each is imported only when it starts."""
