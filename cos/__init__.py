"""CommonOS in Python: a terminal-first operating system for personal and small-team AI agents."""

__version__ = "0.1.0"
