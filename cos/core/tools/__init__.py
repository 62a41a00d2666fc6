"""The core's own tools, offered to every profile as those of its plugins are."""
