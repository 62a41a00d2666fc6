"""The fixtures that every test may ask for; each plugin module holds one kind."""

pytest_plugins = ["tests.fix_database"]
