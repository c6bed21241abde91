"""One module for each command: options in, one call, one rendering."""
