"""Files of other kinds that are made to take the machine: each is read, or it is said why not."""

import os
import socket
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from document_files import raw_pdf
from hostile_documents import FILES, SLOW
from rag.app.status import read_status
from rag.vault.document_process import read_document
from tables import rows

LIMIT = 20.0  # seconds, of which the file has half; the rest is for a busy machine
SMALL = 150_000  # bytes: to index more takes long by itself
PLAIN = {"plain.pdf": raw_pdf("t", ["The beacon is lit at dusk."])}


def check(folder: Path, name: str) -> None:
    """Read a file in the time it has: its text, or why there is none."""
    make, why = FILES[name]
    (folder / name).write_bytes(make())
    started = time.monotonic()
    document = read_document(str(folder / name))
    assert time.monotonic() - started < LIMIT
    assert bool(document.lines) == (not why), document.problems
    assert why in " ".join(document.problems)
    assert len(" ".join(document.problems)) < 1_000


@rows("name", sorted({*FILES} - SLOW))
def test_a_hostile_file_is_read_or_it_is_said_why_not(tmp_path, name):
    check(tmp_path, name)


@pytest.mark.slow
@rows("name", sorted(SLOW))
def test_so_is_one_that_takes_long(tmp_path, name):
    check(tmp_path, name)


def test_there_are_forty_kinds_of_them():
    assert len(FILES) >= 40 and {*FILES} >= SLOW


def test_a_vault_of_them_is_indexed_and_each_accounted_for(config, write_notes, refresh):
    raw = {name: make() for name, (make, _) in FILES.items() if name not in SLOW}
    names = [name for name in raw if len(raw[name]) < SMALL]
    folder = write_notes("work", {name: raw[name] for name in names} | PLAIN)
    refresh(work=folder)
    report = read_status(config, skipped=True)
    unread = {name for name in names if FILES[name][1]}
    assert unread <= {one.path for one in report.skipped or ()}
    assert unread <= {one.path for one in report.problems}
    files = report.vaults["work"].files
    assert files and files.total == len(names) + 1
    assert sum(files.indexed.values()) == files.total - len(unread)


def odd_names() -> Iterable[bytes]:
    yield from (b"\xff\xfe not utf-8.pdf", b"two\nlines.pdf", "\u202efdp.exe.pdf".encode())
    yield from ("\U0001f4a9\u200d.pdf".encode(), b"\x1b[31mred.pdf", b"n" * 250 + b".pdf")
    yield from ("Cafe\u0301.PDF".encode(), b" .pdf", b"-rf.pdf", b"a.pdf.pdf", b"%00.pdf")


def test_a_file_of_an_odd_name_is_found(config, write_notes, refresh, points):
    folder = write_notes("work", {})
    for name in odd_names():
        with open(os.fsencode(folder) + b"/" + name, "wb") as file:  # noqa: PTH123
            file.write(PLAIN["plain.pdf"])
    refresh(work=folder)
    texts = [text for text, _ in points(config).values()]
    assert sum("The beacon" in (text or "") for text in texts) == len([*odd_names()])
    assert read_status(config).problems == []


def test_what_is_no_file_is_passed_over_and_the_run_goes_on(
    config, write_notes, refresh, titles, monkeypatch
):
    folder = write_notes("work", {"folder.docx/inside.md": "# Inside\n", **PLAIN})
    os.mkfifo(folder / "pipe.pdf")
    for name, target in {"link.pdf": "/etc/passwd", "loop.pdf": "loop.pdf", "no.pdf": "x"}.items():
        (folder / name).symlink_to(target)
    monkeypatch.chdir(folder)  # the address of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.xlsx")
        refresh(work=folder)
    assert titles(config) == {"Inside", "t"}


def test_a_file_that_changes_to_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.pdf")
    started = time.monotonic()
    with pytest.raises(OSError):
        read_document(str(tmp_path / "pipe.pdf"))
    assert time.monotonic() - started < 5.0


def test_a_file_that_is_larger_than_the_settings_allow_is_known_by_its_name(
    config, write_notes, refresh
):
    folder = write_notes("work", PLAIN)
    os.truncate(folder / "plain.pdf", 101_000_000)  # nothing of which is on the disk
    refresh(work=folder)
    [skipped] = read_status(config, skipped=True).skipped or ()
    assert (skipped.path, skipped.reason) == ("plain.pdf", "too large")
