"""The crash matrix: real conversations in a real cos process that is killed, with its Postgres or without it.

`python -m tests.crash --kills 1000 [--seed N] [--seconds N]` prints its figures and every loss, with the seed and the
instant of the kill before it. A few kills run in the suite.
"""
