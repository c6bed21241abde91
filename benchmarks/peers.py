"""This program beside others, as whole processes, on generated vaults: docs/benchmarks.md.

    python benchmarks/peers.py [--sizes 1000,10000,50000] [--limit 400] [--out docs]
    python benchmarks/peers.py --report

Each size is a run of its own: all programs take turns, so that what else the machine does falls on
all alike. A size that is done is written to benchmarks.json at once, and sizes that were measured
before stay there while machine and versions are the same; so 50,000 notes can be measured another
day. --report makes the page of what is there. `make peers` installs the Python packages; programs
that cannot run here are left out, and the page says why.
"""

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import peer_report
from competitors import Competitor, competitors
from trials import INDEXING, QUERIES, WARM_ROUNDS, measure_size

DOCS = Path(__file__).resolve().parents[1] / "docs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000", help="in notes")
    parser.add_argument("--limit", type=float, default=400, help="seconds, of one indexing")
    parser.add_argument("--out", type=Path, default=DOCS)
    parser.add_argument("--report", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    kept = arguments.out / "benchmarks.json"
    results = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    if arguments.report and not results:
        sys.exit(f"there are no results: {kept}")
    if not arguments.report:
        programs, missing = competitors()
        for name, reason in missing.items():
            print(f"left out: {name}: {reason}")
        results = _begin(results, programs)
        for size in sorted(map(int, arguments.sizes.split(","))):
            found = measure_size(size, programs, arguments.limit)
            results["sizes"][str(size)] = found | {"missing": missing}
            sizes = sorted(results["sizes"].items(), key=lambda item: int(item[0]))
            results = results | {"sizes": dict(sizes)}
            text = json.dumps(results, ensure_ascii=False, indent=1) + "\n"
            kept.write_text(text, "utf-8")
    (arguments.out / "benchmarks.md").write_text(peer_report.page(results), "utf-8")


def _begin(before: dict[str, Any], programs: dict[str, Competitor]) -> dict[str, Any]:
    """Return results to go on with: those from before, if they compare with new ones."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    facts = {
        "machine": {
            "system": platform.system(),
            "cores": os.cpu_count(),
            "memory_gib": round(memory / 2**30),
            "python": platform.python_version(),
        },
        "versions": {name: program.version for name, program in programs.items()},
        "reads": {name: list(program.reads) for name, program in programs.items()},
        "queries": QUERIES,
        "warm_rounds": WARM_ROUNDS,
        "indexing": INDEXING,
    }
    if before and {key: before.get(key) for key in facts} == facts:
        return before
    if before:
        print("sizes measured before are dropped: another machine, or other versions")
    return facts | {"sizes": {}}


if __name__ == "__main__":
    main()
