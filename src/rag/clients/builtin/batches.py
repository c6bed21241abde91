"""Which texts are multiplied together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def equal_lengths(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield the positions of texts of one length, so that no batch needs padding, nor a mask that
    hides it; the longest first.

    :param lengths: of the texts, in tokens.
    :param most: how many tokens a batch may have; one text may have more.
    """
    by_length: dict[int, list[int]] = {}
    for at, length in enumerate(lengths):
        by_length.setdefault(length, []).append(at)
    for length in sorted(by_length, reverse=True):
        positions, size = by_length[length], max(1, most // max(1, length))
        yield from (positions[at : at + size] for at in range(0, len(positions), size))
