"""The kinds of files besides notes in Markdown."""

from __future__ import annotations

from pathlib import PurePosixPath

# By suffix. `rag.vault.documents` reads them.
DOCUMENTS = {
    ".pdf": "pdf",
    **dict.fromkeys((".docx", ".docm"), "docx"),
    **dict.fromkeys((".pptx", ".pptm"), "pptx"),
    **dict.fromkeys((".xlsx", ".xlsm"), "xlsx"),
    **dict.fromkeys((".html", ".htm"), "html"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".txt", ".text"), "text"),
    ".org": "org",
    ".rst": "rst",
}
# Pictures, of which `index.ocr` has the text read.
IMAGES = dict.fromkeys((".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp"), "image")
READ = DOCUMENTS | IMAGES
KINDS = tuple(dict.fromkeys(READ.values()))
PAGED = {".pdf": "page", ".pptx": "slide", ".pptm": "slide"}  # and what their pages are called


def kind_by_name(path: str) -> str:
    """Return the kind of a document by its suffix; plain text by any other."""
    return READ.get(PurePosixPath(path).suffix.lower(), "text")
