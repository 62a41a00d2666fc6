"""The command line: argument parsing and the composition root."""
