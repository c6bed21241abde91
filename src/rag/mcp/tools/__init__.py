"""The tools: what each takes and gives (`definitions`), and a module for what each does."""
