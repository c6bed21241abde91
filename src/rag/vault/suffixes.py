"""The suffixes of files that are notes, in lower case."""

from __future__ import annotations

MARKDOWN = (".md", ".markdown")
CANVAS, BASE = ".canvas", ".base"
SUFFIXES = (*MARKDOWN, CANVAS, BASE)
# A canvas and a base are shown as text of their own: a line of it is no line of the file.
RENDERED = (CANVAS, BASE)
