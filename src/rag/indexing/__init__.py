"""Bringing an index up to date."""
