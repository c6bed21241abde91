"""Texts by size: how many go into one request, and where a long one is cut."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

MAX_TEXTS = 128  # in one batch; 1.4 MB of answer at 1,024 dimensions
LEAST_WINDOW = 16  # characters; a model that cannot read these reads nothing

Measure = Callable[[str], int]


class Batch(NamedTuple):
    """Texts that go into one request, and their positions among all."""

    positions: list[int]
    texts: list[str]
    tokens: int


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has: its bytes by 3.5, at least 1.

    English has 4 to 5 bytes a token, Japanese 3 to 4.
    """
    return max(1, round(most_tokens(text) / 3.5))


def most_tokens(text: str) -> int:
    """Return how many tokens a text has at the most, whatever the tokenizer: its bytes in UTF-8.

    A token holds at least a byte. English comes to a quarter of the bound and Japanese to less
    than half of it; code, tables and numbers come near to it.
    """
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def pack(texts: Iterable[str], measure: Measure, batch_tokens: int) -> Iterator[Batch]:
    """Yield the texts in their order, as many at once as `batch_tokens` hold, at least one."""
    batch = Batch([], [], 0)
    for position, text in enumerate(texts):
        tokens = measure(text)
        full = batch.tokens + tokens > batch_tokens or len(batch.texts) >= MAX_TEXTS
        if batch.texts and full:
            yield batch
            batch = Batch([], [], 0)
        batch.positions.append(position)
        batch.texts.append(text)
        batch = batch._replace(tokens=batch.tokens + tokens)
    if batch.texts:
        yield batch


# Better places to cut come first: paragraphs, lines, sentences, words.
_CUTS = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"[.!?]\s+|[。！？]", r"[\s、，,;]+")))


def split(text: str, count: int) -> list[str]:
    """Cut a text into about `count` parts of the same length, at the best place near each cut.

    Together they are the text. The same text is always cut in the same way.
    """
    parts = []
    while count > 1 and len(text) > 1:
        size = len(text) / count
        at = _cut_near(text, round(size), max(1, round(size / 4)))
        parts.append(text[:at])
        text, count = text[at:], count - 1
    return [part for part in (*parts, text) if part.strip()]


def windows(text: str, measure: Measure, limit: int) -> list[str]:
    """Cut a text that is too long into windows of about the same length, none of them too long.

    Together they are the text, but for windows of white space alone. The same text is always cut
    in the same way.

    :param limit: the most that `measure` may say of a window; those of a few characters are not
        cut further, whatever it says.
    """
    # The tenth more is for cuts that are not where they would be in the middle.
    found = split(text, max(2, math.ceil(1.1 * measure(text) / limit)))
    return [each for window in found for each in _within(window, measure, limit)]


def _within(text: str, measure: Measure, limit: int) -> list[str]:
    if len(text) < 2 * LEAST_WINDOW or measure(text) <= limit:
        return [text]
    return [each for half in split(text, 2) for each in _within(half, measure, limit)]


def _cut_near(text: str, target: int, slack: int) -> int:
    target = max(1, target)
    low, high = max(1, target - slack), min(len(text) - 1, target + slack)
    for cut in _CUTS:
        ends = [m.end() for m in cut.finditer(text, low, high)]
        if ends:
            return min(ends, key=lambda end: abs(end - target))
    return min(target, len(text) - 1)
