"""Try every fault of `docs/reliability.md` and print each figure as tries and failures.

    make faults [PARTS="power damage"]

Exit code 1 when anything failed. Everything happens in a temporary folder; nothing leaves this
machine.
"""

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from faults import run_part

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
        failed = sum(pool.map(run_part, [part for part in chosen if part not in _MEASURED]))
    failed += sum(run_part(part) for part in chosen if part in _MEASURED)
    print(f"{failed} failures" if failed else "no failures")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
