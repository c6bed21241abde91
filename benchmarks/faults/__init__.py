"""What faults, attackers and damage do to `rag`, counted as tries and failures.

A part is a module of this package with a function `rows(room)`: it tries what its docstring says
in the empty folder `room` and yields a `Row` for each figure.
"""

import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One figure: what was tried, how often, how many of the tries did not end as
    `docs/reliability.md` promises, and what was measured besides, or the first failure."""

    what: str
    tries: int
    failures: int
    note: str = ""


def run_part(part: str) -> int:
    """Print the rows of one part; return how many tries failed."""
    failed, started = 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rag-faults-") as folder:
        for row in import_module(f"faults.{part}").rows(Path(folder)):
            failed += row.failures
            print(f"{part:12} {row.what:58} {row.tries:6} {row.failures:6}  {row.note}", flush=True)
    print(f"{part:12} took {time.monotonic() - started:.0f} s", flush=True)
    return failed
