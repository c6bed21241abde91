"""All that depends on how the engine lays out its files."""
