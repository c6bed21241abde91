"""Answers to questions about the notes themselves: lists, counts and last dates."""
