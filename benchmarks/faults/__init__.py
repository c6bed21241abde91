"""What faults, attackers and damage do to `rag`, counted as tries and failures.

A part is a module of this package with a function `rows(room)`: it tries what its docstring says
in the empty folder `room` and yields a `Row` for each figure.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One figure: what was tried, how often, how many of the tries did not end as
    `docs/reliability.md` promises, and what was measured besides, or the first failure."""

    what: str
    tries: int
    failures: int
    note: str = ""
