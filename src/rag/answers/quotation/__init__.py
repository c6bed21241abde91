"""Choosing the parts of notes that answer a question."""
