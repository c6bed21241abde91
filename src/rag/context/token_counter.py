"""Counting tokens where no tokenizer is given."""

from __future__ import annotations

from rag.context.protocols import Tokenizer
from rag.text.token_estimate import count_tokens


class TextTokenizer:
    """Estimate tokens by script, English and Japanese alike; see `rag.text.token_estimate`."""

    def count_tokens(self, text: str) -> int:
        """Return about how many tokens a text has."""
        return count_tokens(text)


def truncate(text: str, max_tokens: int, tokenizer: Tokenizer) -> str:
    """Return the longest beginning of a text that has no more than `max_tokens`."""
    if tokenizer.count_tokens(text) <= max_tokens:
        return text
    fits, over = 0, len(text)
    while over - fits > 1:
        middle = (fits + over) // 2
        if tokenizer.count_tokens(text[:middle]) <= max_tokens:
            fits = middle
        else:
            over = middle
    return text[:fits]
