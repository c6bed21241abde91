"""Documents of several kinds, in English and Japanese, and what is asked of them.

In `documents.txt` a document begins with `=== path | title`, a PDF with the program that makes it,
too; a page with `--- heading`. Most documents have one or two neighbours on nearly one subject.
"""

import json
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent


class Written(NamedTuple):
    """A document: its path, title, the program that makes it, and its pages."""

    path: str
    title: str
    program: str
    pages: list[str]


def _written(part: str) -> Written:
    head, *pages = part.strip().split("\n--- ")
    path, title, program = (*head.split(" | "), "")[:3]
    is_japanese = not path.isascii()
    return Written(path, title, program, [_page(page, is_japanese) for page in pages])


def _page(page: str, is_japanese: bool) -> str:
    """Return a page as `document_files` takes it: a paragraph is one line there."""
    heading, *lines = page.split("\n")
    table = [line for line in lines if " | " in line]
    notes = [
        line.replace("話すこと", "Notes") for line in lines if line[:4] in ("Note", "話すこと")
    ]
    rest = [line for line in lines if " | " not in line and line[:4] not in ("Note", "話すこと")]
    paragraph = ("" if is_japanese else " ").join(rest)
    return "\n\n".join(filter(None, [f"# {heading}", paragraph, "\n".join(table), *notes]))


_TEXT = (_HERE / "documents.txt").read_text("utf-8").removeprefix("=== ")
DOCUMENTS = [_written(part) for part in _TEXT.split("\n=== ")]


def _asked(kind: str) -> list[tuple[str, str, int]]:
    lines = map(json.loads, (_HERE / "document-questions.jsonl").read_text("utf-8").splitlines())
    return [
        (line["question"], line["path"], line["page"]) for line in lines if line["kind"] == kind
    ]


# Question, file, and the page or slide (0 where the file has none) that answers it.
QUESTIONS = _asked("words")
PARAPHRASES = _asked("paraphrase")  # they hardly share a word with what answers them
ASKED = _asked("ask")  # answers in PDFs that `rag ask` must cite with their page
