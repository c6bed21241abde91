"""Links between notes: which note each leads to, and which lead to a note."""
