"""Judging command lines: what they run, how risky that is, and what is refused always. Nothing is run here."""
