"""Brings the whole program and a dashboard inside the test to the tests of this folder."""

from tests.program.fix_program import program
from tests.web.fix_dashboard import dashboard

__all__ = ["dashboard", "program"]
