"""The first configuration."""
