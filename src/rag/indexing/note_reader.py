"""From a file to a note, its chunks and its row in the manifest."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from itertools import accumulate, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.config import IndexConfig
from rag.index.manifest import ChunkKey, NoteRow
from rag.support.files import make_owned, open_file
from rag.text.ngrams import KATAKANA_CHARACTERS, UNSEGMENTED
from rag.text.token_estimate import count_tokens
from rag.vault import Chunk, Note, NoteFile, chunk_note, limits, note_id
from rag.vault.discovery import Span, own_time
from rag.vault.frontmatter import FrontMatter, property_meta, searchable_fields
from rag.vault.markdown import RENDERED
from rag.vault.note import CREATED, MODIFIED, make_note
from rag.vault.readers import reader_of

if TYPE_CHECKING:
    from rag.vault.documents import UnreadableError

_AHEAD = 64  # documents that may be read while notes are
# A file changed within this time of being read may change again without a new mtime.
_RACY_NS = 2_000_000_000
_SCANS = "scans"  # the folder of the texts of scanned pages
_FEWEST = 2  # characters of a word and what parts it from the next


class NoteChunk(NamedTuple):
    """A chunk to be written: its id, its text, and what its point holds beside it."""

    id: str
    text: str
    meta: dict[str, Any]


@dataclass(slots=True)
class ReadNote:
    """A note that was read: its row, and its chunks."""

    row: NoteRow
    chunks: list[NoteChunk] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class NoteReader:
    """Reads and cuts the files of a vault.

    :param root: its folder.
    :param copied: when the vault was copied: file times of then are no dates.
    :param index: the folder that holds what scanned pages say.
    """

    root: str
    vault: str
    config: IndexConfig
    copied: Sequence[Span] = ()
    index: Path | None = None

    def read_all(
        self, files: Sequence[NoteFile]
    ) -> Iterator[tuple[NoteFile, ReadNote | str | None]]:
        """Yield each file with its note, with what is wrong with it, or with `None` where it
        vanished. Documents are read by processes of their own, some ahead, while notes are read by
        this one: they come evenly among these."""
        documents = [file for file in files if reader_of(file.path).is_document]
        notes = [file for file in files if not reader_of(file.path).is_document]
        ahead = iter(documents)

        def read_ahead(count: int) -> None:
            for file in islice(ahead, count):
                from rag.vault.document_process import call_ahead

                call_ahead(self._path(file), self._read_here, file)

        read_ahead(_AHEAD)
        places = [(at / len(notes), file) for at, file in enumerate(notes)]
        room = len(documents) + _AHEAD
        places += [((at + _AHEAD) / room, file) for at, file in enumerate(documents)]
        for _, file in sorted(places, key=itemgetter(0)):
            try:
                yield file, self.read(file)
            except FileNotFoundError:
                yield file, None
            except OSError as error:
                yield file, error.strerror or type(error).__name__
            if reader_of(file.path).is_document:
                read_ahead(1)

    def read(self, file: NoteFile) -> ReadNote:
        """Read and cut one note, a document in a process of its own; errors are those of `open`."""
        if not reader_of(file.path).is_document:
            return self._read_here(file)
        from rag.vault.document_process import call
        from rag.vault.documents import UnreadableError

        try:
            return call(self._path(file), self._read_here, file)
        except UnreadableError as error:
            return self._read_here(file, error)

    def _path(self, file: NoteFile) -> str:
        return os.path.join(self.root, file.file)  # noqa: PTH118 - names of any bytes must pass

    def _read_here(self, file: NoteFile, error: UnreadableError | None = None) -> ReadNote:
        row, note = self.open(file, error)
        chunks: list[NoteChunk] = []
        if is_wanted(note, self.config):
            size, overlap = self.config.chunk_size, self.config.chunk_overlap
            chunks = [
                NoteChunk(chunk.id, chunk.text, chunk_meta(note, chunk, row.id))
                for chunk in cut_note(note, size, overlap)
            ]
        row.chunks = [ChunkKey(chunk.id, _chunk_hash(chunk)) for chunk in chunks]
        row.title, row.aliases, row.tags = note.title, note.aliases, note.tags
        row.created, row.modified, row.links = note.created, note.modified, note.links
        row.lines, row.fields = len(note.lines), searchable_fields(note.fields)
        row.problems, row.state = note.problems, note.state
        return ReadNote(row, chunks)

    def open(self, file: NoteFile, error: UnreadableError | None = None) -> tuple[NoteRow, Note]:
        """Read one note; return what its row says of the file, and the note.

        :param error: why a document is known by its name alone.
        :raises FileNotFoundError: when the file vanished.
        :raises OSError: when it cannot be read.
        """
        path = self._path(file)
        reader, raw = reader_of(file.path), b""
        most_mb = self.config.max_file_mb if reader.is_document else self.config.max_note_mb
        limit = int(most_mb * 1_000_000)
        with open_file(path) as stream:
            stat = os.fstat(stream.fileno())
            now, is_too_large = time.time_ns(), stat.st_size > limit
            if not reader.is_document:
                # Told how much to read it would make room for as much, for every note.
                raw = stream.read(limit + 1 if is_too_large else -1)
            digest = blake2b(raw, digest_size=16)
            while reader.is_document and not is_too_large and (part := stream.read(1 << 20)):
                digest.update(part)
        row = NoteRow(
            vault=self.vault,
            path=file.path,
            file=file.file,
            size=stat.st_size,
            mtime_ns=stat.st_mtime_ns,
            racy=stat.st_mtime_ns > now - _RACY_NS,
            hash=digest.digest(),
            id=note_id(self.vault, file.path),
            indexed_at=datetime.now().astimezone().isoformat(timespec="seconds"),
        )
        cut = []
        if len(raw) > limit:
            # A part of what is no text to read, as a canvas, is damaged.
            is_rendered = file.path.lower().endswith(RENDERED)
            raw = b"" if is_rendered else raw[: _end(raw, limit)]
            read = f"only the first {len(raw):,} of {stat.st_size:,} bytes are indexed"
            cut.append(
                f"larger than {self.config.max_note_mb:g} MB (index.max_note_mb): "
                f"{'its text is not read' if is_rendered else read}"
            )
        born = getattr(stat, "st_birthtime", None)
        modified, made = own_time(stat.st_mtime, self.copied), own_time(born, self.copied)
        if reader.is_document:
            from rag.vault.document_process import read_document
            from rag.vault.documents import ENDED, NOT_READ, TOO_LARGE, UnreadableError, nothing_of

            if is_too_large:
                why = f"it is larger than {most_mb:g} MB (index.max_file_mb)"
                error = UnreadableError(why, TOO_LARGE)
            texts = scanned_texts(self.index, row.hash) if self.config.ocr and self.index else {}
            document = nothing_of(path, error) if error else read_document(path, texts)
            front, problems = FrontMatter(document.fields, 0, ""), document.problems
            note = make_note(document.lines, self.vault, file.path, modified, made, problems, front)
            note.state = document.state
            row.racy |= f"{NOT_READ}{ENDED}" in problems  # the next run tries again
        else:
            note = reader.read(raw, self.vault, file.path, modified, made)
        note.problems[:0] = cut
        return row, note


def cut_note(note: Note, size: int, overlap: int) -> list[Chunk]:
    """Cut a note into the chunks that are indexed, sizes in tokens (0 <= overlap < size).

    Where the words of the note, or what its chunks repeat (title, headings and tags), come to too
    much, they are cut; the note is changed then, and its `problems` say so."""
    chunks = _within_words(note, chunk_note(note, size, overlap, count_tokens))
    count = max(1, len(chunks))
    costs = accumulate(limits.COST_OF_TAG + len(tag) for tag in note.tags)
    most = sum(cost <= limits.MOST_OF_TAGS // count for cost in costs)
    if len(note.tags) > most:
        note.problems.append(
            f"{len(note.tags):,} tags are too many for a note of {len(chunks):,} chunks:"
            f" only the first {most:,} are kept"
        )
        note.tags = note.tags[:most]
    share = limits.MOST_REPEATED // count
    longest = max((sum(map(len, chunk.heading)) for chunk in chunks), default=0)
    if len(note.title) + longest > share:
        note.problems.append(
            f"title and headings are too long for a note of {len(chunks):,} chunks:"
            f" only {share:,} characters of them are kept with each"
        )
        note.title = note.title[: share // 2].rstrip()
        room = share - len(note.title)
        for at, chunk in enumerate(chunks):
            innermost = tuple(text[:room] for text in chunk.heading[-1:])
            chunks[at] = replace(chunk, heading=innermost)
    return chunks


def _within_words(note: Note, chunks: list[Chunk]) -> list[Chunk]:
    if sum(len(chunk.text) for chunk in chunks) < _FEWEST * limits.MOST_WORDS:
        return chunks
    # Of the scripts without spaces only runs of katakana are words.
    between = re.compile(f"[\\W{UNSEGMENTED.replace(KATAKANA_CHARACTERS, '')}]+")
    words: set[str] = set()
    for number, chunk in enumerate(chunks):
        words.update(between.sub(" ", chunk.text.lower()).split())
        if len(words) > limits.MOST_WORDS:
            note.problems.append(
                f"more than {limits.MOST_WORDS:,} different words:"
                f" only its first {number:,} chunks are indexed"
            )
            return chunks[:number]
    return chunks


def is_wanted(note: Note, config: IndexConfig) -> bool:
    """Return whether a note's front matter has the values that `index.only` asks for."""
    return all(note.fields.get(name) == value for name, value in config.only.items())


def chunk_meta(note: Note, chunk: Chunk, file_id: str) -> dict[str, Any]:
    """Return the meta of a chunk's Haystack document."""
    meta: dict[str, Any] = {
        "file_path": note.path,
        "title": note.title,
        "vault": note.vault,
        "tags": note.tags,
        "created": note.created,
        "file_id": file_id,
        "position": chunk.position,
        "section": chunk.section,
        "heading": list(chunk.heading),
        "line_start": chunk.line_start,
        "line_end": chunk.line_end,
    }
    if chunk.repeated:
        meta["repeated"] = chunk.repeated
    if page := note.page_at(chunk.line_start):
        meta["page"] = page
    if chunk.position == 0 and note.aliases:
        # Other names of the note are words of its first chunk only, or they would weigh
        # as much as there are chunks.
        meta["aliases"] = note.aliases
    if chunk.position == 0 and note.fields:
        unsaid = [*CREATED, *MODIFIED]  # they are filtered by
        unsaid += ["type"] if reader_of(note.path).is_document else []  # the file does not say it
        meta |= property_meta(note.fields, note.lines[: note.body_line], unsaid)
    return meta


def failed_row(before: NoteRow | None, vault: str, file: NoteFile, why: str) -> NoteRow:
    """Return the row of a note that could not be read; what was known of it is kept."""
    row = before or NoteRow(vault, file.path, file.file, file.size, 0, False, b"")
    row.id = row.id or note_id(vault, file.path)
    row.title = row.title or file.path
    if file.mtime_ns:  # it was seen: until it changes, searching need not call the index old
        row.size, row.mtime_ns = file.size, file.mtime_ns
    row.problems = [why]
    row.failed = True
    return row


def _chunk_hash(chunk: NoteChunk) -> bytes:
    # A note's text holds no NUL. The `repr` of a long text takes longer than its hash.
    held = f"{chunk.text}\0{chunk.meta!r}"
    return blake2b(held.encode("utf-8", "replace"), digest_size=16).digest()


def _end(raw: bytes, limit: int) -> int:
    """Return where text that is longer than a limit is cut: behind a line, unless most of what may
    be read would be lost; then before a character."""
    end = raw.rfind(b"\n", 0, limit) + 1
    if end <= limit // 2:
        end = limit
        while end and raw[end] & 0xC0 == 0x80:  # within a character of UTF-8
            end -= 1
    return end


# -- what scanned pages say, by what their file holds: no page is read twice, in an index made anew
# or under another name neither. A page's text is a line of JSON at the end of its file


def _file(index: Path, digest: bytes) -> Path:
    return index / _SCANS / f"{digest.hex()}.jsonl"


def scanned_texts(index: Path, digest: bytes) -> dict[int, str]:
    """Return the text of each page, from 1, that was read of a file.

    :param index: the folder of the index.
    :param digest: of the file.
    """
    texts: dict[int, str] = {}
    with suppress(OSError), _file(index, digest).open(encoding="utf-8") as lines:
        for line in lines:
            with suppress(ValueError):  # one that was not written to its end
                page, text = json.loads(line)
                texts[page] = text
    return texts


def keep_text(index: Path, digest: bytes, page: int, text: str) -> None:
    """Keep the text of a page."""
    make_owned(index / _SCANS)
    with _file(index, digest).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps([page, text]) + "\n")


def forget_texts(index: Path, digests: Iterable[bytes]) -> None:
    """Forget the pages of all files but these."""
    wanted = {_file(index, digest) for digest in digests}
    for file in {*(index / _SCANS).glob("*.jsonl")} - wanted:
        file.unlink(missing_ok=True)
