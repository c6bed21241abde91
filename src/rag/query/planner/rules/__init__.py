"""Reading a query without a model: its cues, and what they name. `rules` opens it."""
