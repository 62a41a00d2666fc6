"""Fixtures for all tests live in plugins named fix_*.py; this lists them."""

pytest_plugins = [
    "tests.api_server.fix_api",
    "tests.fix_core",
    "tests.fix_database",
    "tests.fix_failures",
    "tests.fix_home",
]
