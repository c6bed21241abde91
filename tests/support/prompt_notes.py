"""Notes as a prompt is built of them."""

from collections.abc import Sequence

from haystack.dataclasses import Document


def note(title: str, place: str, text: str, heading: Sequence[str] = ()) -> Document:
    """Return a note as a search gives it; its place is `vault/path`."""
    vault, _, path = place.partition("/")
    meta = {"title": title, "vault": vault, "file_path": path, "heading": [*heading]}
    return Document(content=text, meta=meta)
