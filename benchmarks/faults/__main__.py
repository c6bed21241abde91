"""Try every fault of `docs/reliability.md` and print each figure as tries and failures.

    make faults [PARTS="power damage"]

Exit code 1 when anything failed. Everything happens in a temporary folder; nothing leaves this
machine.
"""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

PARTS = ("damage", "disk", "kills", "power", "trust", "hostile")
_MEASURED = ("hostile",)  # runs alone: it measures processor time
_AT_ONCE = 2


def main() -> None:
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these of {PARTS}")
    chosen = parser.parse_args().parts or PARTS
    if unknown := [part for part in chosen if part not in PARTS]:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    for name in [name for name in os.environ if name.startswith(("RAG_", "QDRANT_"))]:
        del os.environ[name]
    print(f"{'part':12} {'what was tried':58} {'tries':>6} {'failed':>6}  note", flush=True)
    with ProcessPoolExecutor(_AT_ONCE, get_context("spawn"), max_tasks_per_child=1) as pool:
        failed = sum(pool.map(_run, [part for part in chosen if part not in _MEASURED]))
    failed += sum(_run(part) for part in chosen if part in _MEASURED)
    print(f"{failed} failures" if failed else "no failures")
    sys.exit(1 if failed else 0)


def _run(part: str) -> int:
    """Print the rows of one part, in a process of its own; return how many tries failed."""
    failed, started = 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rag-faults-") as folder:
        for row in import_module(f"faults.{part}").rows(Path(folder)):
            failed += row.failures
            print(f"{part:12} {row.what:58} {row.tries:6} {row.failures:6}  {row.note}", flush=True)
    print(f"{part:12} took {time.monotonic() - started:.0f} s", flush=True)
    return failed


if __name__ == "__main__":
    main()
