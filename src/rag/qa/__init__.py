"""One question and its answer; a conversation."""
