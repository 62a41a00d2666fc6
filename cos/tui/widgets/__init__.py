"""The panes of the app, one widget a file."""
