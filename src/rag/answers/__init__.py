"""Generated answers: what a model is told, and how much of what it says can be believed."""
