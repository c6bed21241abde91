"""Answers of chat models, whoever runs them: their pieces, their reasoning, their ends."""
