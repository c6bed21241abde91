"""Hostile notes: families of Markdown and YAML that cost a careless reader far more than their
size, each made to any size and the same every time.

Import `FAMILIES`, or `FRAGMENTS` for property tests that mix what the families are made of. No
test framework is needed, so benchmarks use it too.
"""

from collections.abc import Callable

from hostile import bodies, heads

Family = Callable[[int], str]  # about so many bytes of UTF-8, never more

FAMILIES: dict[str, Family] = {**heads.FAMILIES, **bodies.FAMILIES}
FRAGMENTS: list[str] = [*heads.FRAGMENTS, *bodies.FRAGMENTS]
