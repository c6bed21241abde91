"""From what was typed to what is searched for, with the index at hand."""
