"""What runs besides a command: the warm process. Importing this imports nothing."""
