"""Quotations and addresses that a model made up."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.answers.citations import CITATION, outside_code, without_citations
from rag.answers.evidence import Evidence
from rag.answers.language import Marks

_MIN_WORDS, _MIN_CHARACTERS = 4, 8  # of a quotation; the latter of scripts without spaces
_QUOTATION = re.compile('“[^”]*”|"[^"]*"|「[^」]*」|『[^』]*』')
_LINK = re.compile(r"!?\[(?P<text>[^\[\]\n]*)\]\(\s*<?(?P<target>[^()\s>]*)>?[^()\n]*\)")
_ADDRESS = re.compile(
    r"<?\b(?:[a-z][a-z0-9+.-]{1,15}://|www\.|mailto:)[^\s<>「」、。）]+>?"
    r"|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    re.IGNORECASE,
)


class Fabrications:
    """Strike what claims to stand in a source and does not.

    :param window: the sources.
    :param question: its words and addresses may be repeated.
    :param marks: what is written in the place of what is removed.
    """

    def __init__(self, window: Sequence[Evidence], question: Evidence, marks: Marks) -> None:
        self._window, self._question, self._marks = window, question, marks

    def strike(self, body: str, cited: list[int], quoted: bool) -> tuple[str, bool, list[str]]:
        """Return a sentence without them; whether it is doubtful, which it is too when a quotation
        stands in another source than those it names, or a few quoted words in none; and what was
        removed.

        :param cited: the sources that the sentence names.
        :param quoted: the sentence is a quotation as a whole.
        """
        removed: list[str] = []
        elsewhere = False

        def check(inside: str, whole: str) -> str:
            nonlocal elsewhere
            holders = self._holders(without_citations(inside))
            if holders is None:
                removed.append("quotation")
                return self._marks.no_quotation + "".join(c[0] for c in CITATION.finditer(inside))
            elsewhere |= bool(cited and not holders & set(cited))
            return whole

        def check_address(address: str, whole: str, instead: str) -> str:
            if self._holds(address):
                return whole
            removed.append("address")
            return instead

        def check_addresses(part: str) -> str:
            part = CITATION.sub(lambda c: c[0].removesuffix(c["address"] or ""), part)
            part = _LINK.sub(
                lambda link: check_address(link["target"], link[0], link["text"]), part
            )
            return _ADDRESS.sub(
                lambda found: check_address(_trimmed(found[0]), found[0], self._marks.no_address),
                part,
            )

        body = outside_code(check_addresses, body)
        if quoted:
            body = check(body, body)
        else:  # what is code inside a quotation belongs to it
            body = _QUOTATION.sub(lambda found: check(found[0][1:-1], found[0]), body)
        return body, elsewhere or bool(removed), removed

    def _holders(self, quotation: str) -> set[int] | None:
        """Return the sources in which a quotation stands, all of them for the question's own words;
        `None` when it was invented. A few words that stand in none may be meant otherwise."""
        everywhere = set(range(1, len(self._window) + 1))
        if self._question.says(quotation):
            return everywhere
        holders = {n for n in everywhere if self._window[n - 1].says(quotation)}
        wide = sum(char > "\u2e80" for char in quotation)
        is_long = wide >= _MIN_CHARACTERS or len(quotation.split()) >= _MIN_WORDS
        return holders if holders or not is_long else None

    def _holds(self, address: str) -> bool:
        address = address.casefold()
        return any(address in e.text.casefold() for e in (*self._window, self._question))


def _trimmed(address: str) -> str:
    return address.strip("<>").rstrip(".,;:!?)*_'\"|")
