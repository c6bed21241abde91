"""Lines of notes that speak to a model instead of a reader.

A note may hold text that somebody else wrote (a clipped page, a mail), and in it instructions
that a model would follow. They are left out of what a model sees, and support nothing it says.
A note that is about such instructions loses a paragraph that way, and only in generated answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.answers.injection_patterns import SAY, TEMPLATE_TOKEN, legible, suspected_patterns
from rag.text.sanitize import without_controls
from rag.vault.sentences import sentence_spans


def is_injection(text: str) -> bool:
    """Return whether a text of one paragraph is a prompt injection."""
    return _first(text, suspected_patterns(text)) is not None


def without_instructions(text: str, mark: str) -> tuple[str, int]:
    """Replace prompt injections: from the sentence where one begins to its paragraph's end.

    :returns: the text, with `mark` in the place of each passage, and how many there were.
    """
    suspected = suspected_patterns(text)
    if not suspected:
        return text, 0
    paragraphs = re.split(r"(\n[ \t]*(?:\n[ \t]*)+)", text)
    found = {at: _first(p, suspected) for at, p in enumerate(paragraphs) if at % 2 == 0}
    if all(first is None for first in found.values()):
        return text, 0
    count = 0
    for at, first in found.items():
        if first is None and SAY.search(legible(paragraphs[at])):
            first = 0
        if first is None:
            continue
        lines = paragraphs[at].split("\n")
        kept = [*lines[:first], *_sentences_before(lines[first], suspected)]
        fence = lines[-1:] if re.match(r"\s*(?:```|~~~)", lines[-1]) and first < len(lines) else []
        paragraphs[at] = "\n".join([*kept, mark, *fence])
        count += 1
    return "".join(paragraphs), count


def clean_name(name: str, mark: str) -> tuple[str, int]:
    """Return a name, such as a path or a tag, as one line without prompt injections.

    :returns: also how many passages that were.
    """
    text, count = without_instructions(without_controls(name), mark)
    return " ".join(text.splitlines()), count


def _sentences_before(line: str, suspected: Sequence[re.Pattern[str]]) -> list[str]:
    """Return the sentences of a line before those that instruct, as one; none if there are none."""
    end = 0
    for start, stop in sentence_spans(line):
        if SAY.search(legible(line[start:stop])) or _first(line[:stop], suspected) is not None:
            break
        end = stop
    return [line[:end].rstrip()] if end else []


def _first(paragraph: str, suspected: Sequence[re.Pattern[str]]) -> int | None:
    """Return the number of the line in which an instruction begins; a line end may part it.

    :param suspected: from `suspected_patterns`, of this or a longer text.
    """
    if TEMPLATE_TOKEN in suspected and (token := TEMPLATE_TOKEN.search(paragraph)):
        return paragraph.count("\n", 0, token.start())
    patterns = [pattern for pattern in suspected if pattern is not TEMPLATE_TOKEN]
    lines = [legible(line) for line in paragraph.split("\n")] if patterns else []
    for number, line in enumerate(lines):
        if any(pattern.search(line) for pattern in patterns):
            return number
    if len(lines) > 1:
        whole = " ".join(lines)
        begins = [found.start() for pattern in patterns if (found := pattern.search(whole))]
        at = 0
        for number, line in enumerate(lines if begins else ()):
            at += len(line) + 1
            if min(begins) < at:
                return number
    return None
