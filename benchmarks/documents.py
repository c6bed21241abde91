"""What PDF files beside notes cost a first index, and what the library that reads them takes alone.

    python benchmarks/documents.py [--notes 1000] [--pdfs 300] [--pages 10] [--runs 3]

All are whole processes that take turns. Printed are the medians of wall and processor time, the
peak memory, and the ratio of the wall time to that of the bare reader: one process that asks
pypdfium2 for the text of every page, and lets other programs go first as `rag index` does.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from reportlab.lib.styles import ParagraphStyle  # type: ignore[import-untyped]
from reportlab.platypus import (  # type: ignore[import-untyped]
    PageBreak,
    Paragraph,
    SimpleDocTemplate,
)

from costs import SOURCES, Place
from measuring import Measured, measure
from vaults import BYTES, make_vault

_BARE = """
import os, sys, pypdfium2
os.nice(10)
for name in sys.argv[1:]:
    for page in pypdfium2.PdfDocument(name):
        page.get_textpage().get_text_range()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, count in (("notes", 1_000), ("pdfs", 300), ("pages", 10), ("runs", 3)):
        parser.add_argument(f"--{name}", type=int, default=count)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rag-", dir="/tmp") as name:
        folder = Path(name)
        make_vault(folder / "notes", given.notes, given.notes * BYTES / 1e6)
        texts = [note.read_text("utf-8") for note in sorted((folder / "notes").rglob("*.md"))]
        texts = [text for text in texts if text.isascii()]  # reportlab has no other letters
        shutil.copytree(folder / "notes", folder / "both")
        files = [folder / "both" / "pdfs" / f"{number}.pdf" for number in range(given.pdfs)]
        files[0].parent.mkdir()
        for number, file in enumerate(files):
            pages = [texts[(number * given.pages + at) % len(texts)] for at in range(given.pages)]
            _write(file, [page[:3_000] for page in pages])
        runs: dict[str, list[Measured]] = {}
        for turn in range(given.runs):
            bare = [sys.executable, "-c", _BARE, *map(str, files)]
            runs.setdefault("bare reader", []).append(measure(bare, os.environ, folder, 600, True))
            for what in ("notes", "both"):
                place = Place(folder / f"{what}{turn}", SOURCES)
                names = [str(folder / what)]
                run = place.run("index", "-q", *names, warm=False)
                runs.setdefault(f"rag index, {what}", []).append(run)
    base = median(run.wall for run in runs["bare reader"])
    print(f"{'medians':20}{'wall s':>8}{'CPU s':>8}{'peak MB':>9}{'ratio':>7}")
    for what, some in runs.items():
        wall, cpu, peak = (median(getattr(run, k) for run in some) for k in ("wall", "cpu", "peak"))
        print(f"{what:20}{wall:8.1f}{cpu:8.1f}{peak / 1e6:9.0f}{wall / base:7.2f}")


def _write(file: Path, pages: list[str]) -> None:
    style, parts = ParagraphStyle("text", fontSize=8, leading=10), []
    for page in pages:
        lines = (line.replace("&", "&amp;").replace("<", "&lt;") for line in page.splitlines())
        parts += [*(Paragraph(line, style) for line in lines), PageBreak()]
    SimpleDocTemplate(str(file)).build(parts)


if __name__ == "__main__":
    main()
