"""Small parts that know nothing of notes."""
