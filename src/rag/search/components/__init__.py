"""The Haystack components of a search."""
