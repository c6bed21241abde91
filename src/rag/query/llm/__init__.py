"""One call to a chat model, and reading its reply."""
