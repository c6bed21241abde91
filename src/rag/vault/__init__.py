"""Notes on disk: which files are notes, what a note says, and the chunks it is cut into."""

from rag.vault.chunking import Chunk, chunk_note, note_id
from rag.vault.discovery import NoteFile, Scan, scan_folder
from rag.vault.note import Note, normalize_tags, read_note

__all__ = [
    "Chunk",
    "Note",
    "NoteFile",
    "Scan",
    "chunk_note",
    "normalize_tags",
    "note_id",
    "read_note",
    "scan_folder",
]
