"""The plugins that ship. One package each; none imports another, all enter through `register(ctx)`."""
