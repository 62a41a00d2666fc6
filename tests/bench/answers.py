"""What the model of the suite says."""

from __future__ import annotations

SECTION = """\
## Section {n}: what changes

The **loader** reads `config.toml` once, keeps the *parsed* form and tells every [reader](https://example.org/{n}) that
asks later. Nobody else opens the file: two readers would see two truths.

```python
def load(path: Path, *, strict: bool = True) -> Config:
    with path.open("rb") as stream:
        return Config(**tomllib.load(stream))
```

"""
MARKDOWN = "".join(SECTION.format(n=number) for number in range(40))
"""15 kB: 40 headings, 40 paragraphs, 40 blocks of code."""
BURST = [f"word{number} " if number % 12 else f"word{number}.\n\n" for number in range(10_000)]
"""10,000 tokens, sent as fast as they are read."""
STREAM_SECONDS = 3.0
FIRST_TOKEN_SECONDS = 0.5
"""How long a quick model thinks before it answers."""
