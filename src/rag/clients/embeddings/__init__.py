"""Vectors, whoever makes them: batches, long texts, prefixes of models."""
