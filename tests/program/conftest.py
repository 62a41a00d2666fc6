"""Brings the fixtures of the whole program to the tests of this folder."""

from tests.program.fix_program import program

__all__ = ["program"]
