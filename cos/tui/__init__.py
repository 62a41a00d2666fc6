"""The Textual app behind `cos chat`."""

import os

os.environ.setdefault("TEXTUAL_FPS", "240")
# What changed is drawn at the next of Textual's frames or the one after it: at its 60 a second a key that comes just
# after a picture waits up to 33 ms for its echo. Nothing is drawn more often than it changes.
