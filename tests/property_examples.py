"""How many examples a property test tries: few by default, all of them in `make test-full`."""

from __future__ import annotations

import os

IS_FULL = bool(os.environ.get("FULL_TESTS"))
_SHARE, _FEWEST = 5, 5


def examples(most: int) -> int:
    """Return how many examples to try where `most` are worth trying."""
    return most if IS_FULL else max(min(most, _FEWEST), most // _SHARE)
