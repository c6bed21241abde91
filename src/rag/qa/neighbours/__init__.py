"""What stands before and after a passage in its note."""
