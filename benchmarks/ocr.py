"""How much of scanned pages OCR reads, and what a page takes.

    python benchmarks/ocr.py [--pages 20]

Pages of the documents in `tests/evaluation/document_set.py`, in English and Japanese, are rendered
at 144 dots an inch, turned by a quarter of a degree and strewn with dots as by a scanner, and read
back: the share of their characters that come out in order, without spaces, and the medians of
processor time and memory. It takes the extra `ocr`.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import mean, median
from unicodedata import normalize

import pypdfium2  # type: ignore[import-untyped]
from PIL import Image
from rapidfuzz.distance import LCSseq

for _folder in ("support", "evaluation"):
    sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / _folder))

from document_set import DOCUMENTS  # type: ignore[import-not-found]  # noqa: E402

from document_files import reportlab_pdf  # type: ignore[import-not-found]  # noqa: E402
from rag.vault.ocr import read_page  # noqa: E402

_SPECKS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20)
    given = parser.parse_args()
    print(f"{'pages':12}{'characters':>12}{'read':>8}{'worst':>8}{'CPU s':>8}{'peak MB':>9}")
    for name, is_ascii in (("English", True), ("Japanese", False)):
        some = (document.pages for document in DOCUMENTS if document.path.isascii() == is_ascii)
        texts = ["\n\n".join(pages[at : at + 3]) for pages in some for at in range(len(pages))]
        shares, seconds, count = [], [], 0
        for number, text in enumerate(islice(texts, given.pages)):
            wanted, started = _characters(text.replace("# ", "")), time.process_time()
            with tempfile.NamedTemporaryFile(suffix=".png") as file:
                _scan(text, number).save(file.name)
                read = _characters("".join(read_page(file.name, 1).lines))
            shares.append(LCSseq.similarity(wanted, read) / len(wanted))
            seconds.append(time.process_time() - started)
            count += len(wanted)
        peak = getrusage(RUSAGE_SELF).ru_maxrss / 1e3
        line = f"{len(shares):3} {name:8}{count:12,}{mean(shares):8.3f}{min(shares):8.3f}"
        print(f"{line}{median(seconds):8.1f}{peak:9.0f}", flush=True)


def _characters(text: str) -> str:
    return "".join(normalize("NFKC", text).split())


def _scan(text: str, seed: int) -> Image.Image:
    page = pypdfium2.PdfDocument(reportlab_pdf("scan", [text]))[0]
    image: Image.Image = page.render(scale=2).to_pil().convert("L")
    image = image.rotate(0.25, Image.Resampling.BICUBIC, fillcolor=255)
    rng = random.Random(seed)
    for _ in range(_SPECKS):
        image.putpixel((rng.randrange(image.width), rng.randrange(image.height)), 90)
    return image


if __name__ == "__main__":
    main()
