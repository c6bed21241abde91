"""Files that are notes and no plain Markdown."""
