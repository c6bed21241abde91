"""Scans and pictures wait for OCR, which reads each page once, whatever ends the run."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from time import monotonic

import pytest
from rapidfuzz.distance import LCSseq

from document_files import fpdf_pdf, raw_pdf, reportlab_pdf
from rag.app.notes import get_note
from rag.app.requests import SyncRequest
from rag.app.status import ScanCount, VaultFiles, read_status
from rag.app.sync import sync
from rag.config import IndexConfig, RAGConfig
from rag.exceptions import RunInterruptedError
from rag.indexing import scanned_pages
from rag.indexing.reports import RunReport
from rag.stores import get_document_store
from rag.support.installation import command_to_add
from rag.vault import document_process, ocr
from rag.vault.document_process import read_scan
from rag.vault.documents import ENDED, NOT_READ, Document
from rag.vault.ocr import NoOcrError

PICTURE = b"\x89PNG\r\n and more"
TEXTS = ["The beacon is lit at dusk.", "The ferry leaves at nine.", "Bread is baked on Mondays."]
WITH_OCR = IndexConfig(ocr=True)


def scan(pages: int) -> bytes:
    """Return a PDF on whose pages something is drawn and nothing written."""
    text, drawn = b"BT /F1 11 Tf 50 780 Td 14 TL\n", b"50 50 400 600 re f"
    return raw_pdf("scan", [""] * pages).replace(text + b"ET", drawn.ljust(len(text) + 2))


class FakeOcr:
    """Knows what pages say, and which it was asked for; `before` is given the file of each."""

    def __init__(self) -> None:
        self.pages: list[int] = []
        self.before: Callable[[Path], object] = lambda file: None
        self.answers: dict[int, Document | BaseException] = {}

    def __call__(self, path: str, page: int) -> Document:
        self.before(Path(path))
        self.pages.append(page)
        answer = self.answers.get(page, Document(lines=[TEXTS[page - 1]]))
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def fake(monkeypatch) -> FakeOcr:
    reader = FakeOcr()
    monkeypatch.setattr(scanned_pages, "read_scan", reader)
    monkeypatch.setattr(scanned_pages, "has_ocr", lambda: True)
    return reader


@pytest.fixture
def folder(write_notes) -> Path:
    return write_notes("work", {"scan.pdf": scan(2), "a.md": "# A\n\nA note.\n"})


@pytest.fixture
def index(config, folder) -> Callable[..., RunReport]:
    """Index the folder: `index(ocr=True, rebuild=True)`."""

    def run(ocr: bool = True, **request: object) -> RunReport:
        given = replace(config, index=IndexConfig(ocr=ocr))
        return sync(given, SyncRequest(folders=[folder], **request)).run

    return run


@pytest.fixture
def pages(config) -> Callable[[], dict[str, int]]:
    """Return what is indexed of scans, with the page of each."""

    def read() -> dict[str, int]:
        with get_document_store(config) as store:
            return {
                (document.content or "").strip(): document.meta.get("page", 0)
                for document in store.filter_documents()
                if document.content and document.meta["file_path"] != "a.md"
            }

    return read


def files_of(config: RAGConfig) -> VaultFiles:
    files = read_status(replace(config, index=WITH_OCR)).vaults["work"].files
    assert files
    return files


def test_a_scan_is_read_page_by_page_and_only_once(config, folder, index, fake, pages):
    report = index()
    assert report.scans and (report.scans.read, report.scans.left) == (2, 0)
    assert pages() == {TEXTS[0]: 1, TEXTS[1]: 2}
    files = files_of(config)
    assert files.scans == ScanCount(waiting=0, read=1) and files.indexed["pdf"] == 1
    (folder / "copy.pdf").write_bytes((folder / "scan.pdf").read_bytes())
    index()
    index(rebuild=True)
    assert fake.pages == [1, 2] and files_of(config).scans == ScanCount(0, 2)
    found = get_note(replace(config, index=WITH_OCR), "scan.pdf:2")
    assert TEXTS[1] in found.content and TEXTS[0] not in found.content


def test_a_page_is_searched_before_the_next_round(config, index, fake, pages, monkeypatch):
    monkeypatch.setattr(scanned_pages, "_ROUND", 0.0)
    seen: list[int] = []
    fake.before = lambda file: seen.append(len(pages()))
    index()
    assert seen == [0, 1] and len(pages()) == 2


def test_the_run_that_reads_pages_embeds_them_though_all_else_had_vectors(
    with_ollama, folder, fake
):
    for with_ocr in (False, True):
        config = replace(with_ollama(), index=IndexConfig(ocr=with_ocr))
        sync(config, SyncRequest(folders=[folder]))
        embedded = read_status(config).index.embedding
        assert embedded and embedded.is_complete
    assert fake.pages == [1, 2]


def test_without_the_setting_nothing_is_read_by_ocr(config, index, fake, pages, folder):
    (folder / "sign.png").write_bytes(PICTURE)
    index(ocr=False)
    files = read_status(config).vaults["work"].files
    assert files and files.left_out == {"no reader": 1, "scan": 1}
    assert files.scans == ScanCount(waiting=1, read=0)
    assert fake.pages == [] and pages() == {}
    index()
    assert fake.pages == [1, 2, 1] and files_of(config).indexed == {
        "image": 1,
        "markdown": 1,
        "pdf": 1,
    }
    index(ocr=False)
    assert pages() == {}


def test_only_pages_without_text_are_read(config, folder, index, fake, pages):
    both = raw_pdf("t", ["Written text.", ""]).replace(
        b"BT /F1 11 Tf 50 780 Td 14 TL\nET", b"50 50 400 600 re f".ljust(31)
    )
    (folder / "scan.pdf").write_bytes(both)
    index(ocr=False)
    files = read_status(config).vaults["work"].files
    assert files and (files.indexed["pdf"], files.left_out, files.scans) == (1, {}, None)
    index(seconds=1e-9)
    assert files_of(config).scans == ScanCount(waiting=1, read=0)
    index()
    assert fake.pages == [2] and pages() == {"Written text.": 1, TEXTS[1]: 2}


def test_a_run_whose_time_is_over_leaves_the_rest_to_the_next(config, index, fake, pages):
    report = index(seconds=1e-9)
    assert report.scans and (report.scans.read, report.scans.left) == (0, 2)
    assert fake.pages == [] and files_of(config).scans == ScanCount(1, 0)
    assert index().scans and fake.pages == [1, 2]


def test_a_run_that_is_interrupted_loses_the_page_it_was_at(index, fake, pages):
    fake.answers[2] = KeyboardInterrupt()
    with pytest.raises(RunInterruptedError):
        index()
    del fake.answers[2]
    index()
    assert fake.pages == [1, 2, 2] and len(pages()) == 2


def test_a_page_that_cannot_be_read_is_not_tried_again(config, index, fake, pages):
    fake.answers[1] = Document(problems=[f"{NOT_READ}that takes too much memory"])
    index()
    index()
    assert fake.pages == [1, 2] and pages() == {TEXTS[1]: 2}


def test_one_whose_process_somebody_ended_is(config, index, fake, pages):
    fake.answers[1] = Document(problems=[f"{NOT_READ}{ENDED}"])
    index()
    assert files_of(config).scans == ScanCount(waiting=1, read=0)
    fake.answers.clear()
    index()
    assert fake.pages == [1, 2, 1] and len(pages()) == 2


def test_a_file_that_changes_meanwhile_gets_no_text_of_another(index, fake, folder, pages):
    fake.before = lambda file: fake.pages or file.write_bytes(scan(3))
    index()
    fake.before = lambda file: None
    index()
    assert fake.pages[-3:] == [1, 2, 3] and len(pages()) == 3


def test_texts_of_files_that_are_gone_are_forgotten(config, index, fake, folder):
    index()
    assert len([*(config.index_dir / "scans").glob("*.jsonl")]) == 1
    (folder / "scan.pdf").unlink()
    index()
    assert [*(config.index_dir / "scans").glob("*.jsonl")] == []


def test_without_its_package_the_command_that_adds_it_is_told(config, index, monkeypatch):
    monkeypatch.setattr(scanned_pages, "has_ocr", lambda: False)
    [notice] = [notice for notice in index().notices if "OCR" in notice]
    assert "1 scan not read" in notice and command_to_add("ocr") in notice
    assert files_of(config).scans == ScanCount(waiting=1, read=0)


def test_one_that_does_not_work_is_told_and_nothing_is_taken_for_read(config, index, fake, pages):
    fake.answers[1] = NoOcrError("ImportError: libGL.so.1")
    assert any("libGL" in notice for notice in index().notices)
    fake.answers.clear()
    index()
    assert len(pages()) == 2


# -- the models themselves ---------------------------------------------------------------

needs_ocr = pytest.mark.skipif(
    importlib.util.find_spec("rapidocr") is None, reason="the extra ocr is not installed"
)
ENGLISH = "The beacon above the harbour is lit at dusk, and the ferry to the island leaves at nine."
JAPANESE = "灯台の明かりは日没にともり、島へ渡る船は毎朝九時に港を出ます。"


def render(pdf: bytes, kind: str) -> bytes:
    """Return the first page of a PDF as a picture, or as a PDF that holds a picture."""
    import pypdfium2

    raw = BytesIO()
    page = pypdfium2.PdfDocument(pdf)[0].render(scale=2).to_pil().convert("RGB")
    page.save(raw, kind, resolution=144)
    return raw.getvalue()


@needs_ocr
@pytest.mark.parametrize("kind", ["PNG", "PDF", "JPEG", "TIFF", "WEBP", "BMP"])
def test_what_is_rendered_is_read(tmp_path, kind):
    is_english = kind in ("PNG", "JPEG", "BMP")
    text = ENGLISH if is_english else JAPANESE
    pdf = fpdf_pdf("t", [text]) if is_english else reportlab_pdf("t", [text])
    file = tmp_path / f"scan.{kind.lower()}"
    file.write_bytes(render(pdf, kind))
    read = "".join(read_scan(str(file), 1).lines).replace(" ", "")
    wanted = text.replace(" ", "")
    assert LCSseq.similarity(read, wanted) >= 0.95 * len(wanted)


@needs_ocr
def test_a_picture_or_a_page_that_is_none_costs_only_itself(tmp_path):
    file = tmp_path / "a.png"
    for raw in (PICTURE, b"", render(fpdf_pdf("t", [""]), "PNG")):
        file.write_bytes(raw)
        assert read_scan(str(file), 1).lines == []
    (tmp_path / "a.pdf").write_bytes(scan(1))
    assert read_scan(str(tmp_path / "a.pdf"), 9).lines == []


@needs_ocr
def test_one_that_takes_too_long_costs_only_itself(tmp_path, monkeypatch):
    file, started = tmp_path / "a.png", monotonic()
    file.write_bytes(render(fpdf_pdf("t", [ENGLISH] * 20), "PNG"))
    document_process.end_ocr()
    monkeypatch.setattr(document_process, "OCR_SECONDS", 1.0)  # the models load for longer
    assert "takes more than 1 second" in read_scan(str(file), 1).problems[0]
    assert monotonic() - started < 60


@needs_ocr
def test_the_network_is_not_asked(tmp_path):
    file = tmp_path / "a.png"
    file.write_bytes(render(fpdf_pdf("t", [ENGLISH]), "PNG"))
    code = (
        "import socket, sys\n"
        "def refuse(*_): raise SystemExit('asked')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        f"from {ocr.__name__} import read_page\n"
        "print(read_page(sys.argv[1], 1).lines)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True
    )
    assert "The beacon above the harbour" in ran.stdout
