"""How much slow tests try: a part by default, all of it in `make test-full`.

A property test tries a fifth of its examples. Of the cases of a test with the mark `sampled`, each
of which takes long, a fifth runs; a test with the mark `slow` does not.
"""

import os
from collections import defaultdict
from zlib import crc32

import pytest

IS_FULL = bool(os.environ.get("FULL_TESTS"))
_SHARE, _FEWEST = 5, 5


def examples(most: int) -> int:
    """Return how many examples to try where `most` are worth trying."""
    return most if IS_FULL else max(min(most, _FEWEST), most // _SHARE)


def left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that do not run by default. Which they are depends on their names only."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            cases[item.nodeid.partition("[")[0]].append(item)
    found = [item for item in items if item.get_closest_marker("slow")]
    for of_one_test in cases.values():
        in_any_order = sorted(of_one_test, key=lambda item: crc32(item.nodeid.encode()))
        found += in_any_order[max(1, len(of_one_test) // _SHARE) :]
    return found
