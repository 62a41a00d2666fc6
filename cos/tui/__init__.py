"""The Textual app behind `cos chat`."""
