"""Readers of notes: one entry makes another file type a note, from the scan to `rag get`."""

from dataclasses import replace

from rag.app.notes import get_note
from rag.vault import Note, read_note, scan_folder
from rag.vault.readers import READERS, NoteReader, is_note, reader_of


class ShoutingReader(NoteReader):
    """A file type whose text is in capitals."""

    def read(
        self, raw: bytes, vault: str, path: str, mtime: float, birthtime: float | None = None
    ) -> Note:
        return replace(read_note(raw.upper(), vault, path, mtime, birthtime), title="Shouted")

    def lines(self, raw: bytes) -> list[str]:
        return [line.upper() for line in super().lines(raw)]


def test_a_further_file_type_is_one_entry(monkeypatch, write_notes, config, refresh):
    vault = write_notes("v", {"a.md": "quiet", "b.SHOUT": "loud words"})
    assert [file.path for file in scan_folder(str(vault)).notes] == ["a.md"]
    monkeypatch.setitem(READERS, ".shout", ShoutingReader())
    refresh(v=vault)
    report = get_note(config, "Shouted")
    assert (report.note.row.path, report.lines) == ("b.SHOUT", ["LOUD WORDS"])
    assert get_note(config, "a").lines == ["quiet"]


def test_suffixes_count_in_any_case():
    assert is_note("A.MD") and is_note(".md") and not is_note("md") and not is_note("a.md.bak")
    assert reader_of("x/A.MD") is READERS[".md"] is reader_of("none")
