"""Question sets in, metrics out: how well the search finds what it should."""
