"""The process that reads documents: what breaks it, or takes too long, costs one file."""

import time
from collections.abc import Callable

import pytest

from document_files import archive, raw_pdf, with_parts, xlsx
from hostile_documents import FILES
from rag.vault import document_process
from rag.vault.document_process import read_document
from rag.vault.documents import Document

HUGE = {"word/document.xml": b"<a>" + b'<b c="d"/>' * 2_000_000 + b"</a>"}  # 600 MB as a tree


@pytest.fixture
def put(tmp_path) -> Callable[[str, bytes], str]:
    """Write a file, and return its path."""

    def write(name: str, raw: bytes) -> str:
        (tmp_path / name).write_bytes(raw)
        return str(tmp_path / name)

    return write


Put = Callable[[str, bytes], str]


def check_next(put: Put) -> None:
    document = read_document(put("next.pdf", raw_pdf("t", ["The beacon is lit at dusk."])))
    assert "The beacon is lit at dusk." in document.lines


def test_a_file_that_takes_too_long_costs_only_itself(put, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(document_process, "SECONDS", 1.0)
        document = read_document(put("slow.html", FILES["comments.html"][0]()))
    assert document.lines == [] and document.fields == {"type": "html"}
    assert document.problems == ["nothing of it was read: that takes more than 1 seconds"]
    check_next(put)


def think(path: str) -> Document:
    """Take more than half of the limit."""
    until = time.process_time() + 0.6
    while time.process_time() < until:
        pass
    return Document(lines=[path])


def test_the_time_limit_is_that_of_each_file(monkeypatch):
    monkeypatch.setattr(document_process, "SECONDS", 1.0)  # of a processor
    monkeypatch.setattr(document_process, "_PATIENCE", 120)  # a busy machine takes its time
    process = document_process.DocumentProcess()
    try:
        assert [process.call(name, think, name).lines for name in "ab"] == [["a"], ["b"]]
    finally:
        process.close()


@pytest.mark.slow
def test_a_file_that_takes_too_much_memory_costs_only_itself(put, monkeypatch):
    monkeypatch.setattr(document_process, "SECONDS", 60.0)  # of a busy machine
    document = read_document(put("huge.docx", archive(HUGE)))
    assert document.lines == [] and document.fields == {"type": "docx"}
    assert document.problems == ["nothing of it was read: that takes too much memory"]
    check_next(put)


def test_a_file_that_ends_its_process_costs_only_itself(put, monkeypatch):
    monkeypatch.setattr(document_process, "SECONDS", 60.0)
    document = read_document(put("bomb.pdf", FILES["bomb.pdf"][0]()))
    assert document.lines == [] and document.fields == {"type": "pdf"}
    assert document.problems == ["nothing of it was read: the process that read it ended"]
    check_next(put)


def test_a_process_that_somebody_ended_is_started_again(put):
    check_next(put)
    for process in document_process._processes:
        if process._process:
            process._process.kill()
    check_next(put)


def test_a_file_that_is_not_there_is_an_error_and_the_next_is_read(put):
    with pytest.raises(FileNotFoundError):
        read_document("/nowhere/a.pdf")
    check_next(put)


def test_nothing_that_libraries_say_of_a_file_is_printed(put, capfd):
    extension = b'<extLst><ext uri="{CCE6A557-97BC-4b89-ADB6-D9C93CAAB3DF}"/></extLst></worksheet>'
    part = "xl/worksheets/sheet1.xml"
    raw = xlsx("t", ["# Costs\n\nItem | Euro\nOil | 30"])
    raw = with_parts(raw, {part: part_of(raw, part).replace(b"</worksheet>", extension)})
    assert "| Oil | 30 |" in read_document(put("a.xlsx", raw)).lines
    assert read_document(put("a.pdf", FILES["loop of bookmarks.pdf"][0]())).lines
    assert capfd.readouterr() == ("", "")


def part_of(raw: bytes, name: str) -> bytes:
    """Return a part of an archive."""
    from io import BytesIO
    from zipfile import ZipFile

    with ZipFile(BytesIO(raw)) as packed:
        return packed.read(name)
