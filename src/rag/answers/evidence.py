"""What a source can support: its words, its numbers, its wording."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from rag.answers.claims import Clause, source_clauses
from rag.answers.notices import tongue
from rag.answers.quantities import Quantity, read_quantities
from rag.text.ngrams import is_seam
from rag.text.tokenizer import STOP_TERMS, TOKEN, cleaned, stem
from rag.vault.markdown import plain

# A sentence is borne out when its source holds this share of the words it says something with.
# Models rephrase, so it is far from all of them; a sentence about something else has fewer.
MIN_SHARE = 0.4
_IDENTIFIER = re.compile(
    r"(?<![\w.,])(?:[A-Za-z]+(?:[+_][\w+]*\w)|[A-Za-z]+\d[A-Za-z\d]*)(?!\w)", re.ASCII
)
_NAME = re.compile(rf"{_IDENTIFIER.pattern}|(?<=[a-z0-9,;] )[A-Z][\w-]*[a-z][\w-]*")
_WIDE_NAME = re.compile(rf"{_IDENTIFIER.pattern}|(?<![\w.,])[A-Za-z]{{3,}}(?!\w)", re.ASCII)
_HIRAGANA = re.compile("[\u3041-\u309f]+")


def claims(text: str) -> frozenset[str]:
    """Return the terms with which a text says something: stems of words, and in scripts without
    spaces pairs of characters of one script.

    Hiragana, which are endings and particles, count only where there is nothing else.
    """
    found, endings = set(), set()
    for run, word in TOKEN.findall(cleaned(text)):
        if word:
            term = stem(word)
            if term not in STOP_TERMS and not word.isdigit():
                found.add(term)
            continue
        endings |= _pairs(run)
        for part in _HIRAGANA.split(run):
            found |= {pair for pair in _pairs(part) if not is_seam(pair)}
    return frozenset(found or endings)


def names(text: str) -> list[str]:
    """Return what a text calls by name: keys and identifiers (`Ctrl+P`, `max_size`, X3), words with
    a capital inside an English sentence, and Latin words in a Japanese one."""
    pattern = {"en": _NAME, "ja": _WIDE_NAME}.get(tongue(text), _IDENTIFIER)
    return [found[0] for found in pattern.finditer(text)]


def _pairs(run: str) -> set[str]:
    return {run[at : at + 2] for at in range(len(run) - 1)} if len(run) > 1 else {run} - {""}


def fold(text: str) -> str:
    """Return the words of a text, parted by spaces, so that one wording can be found in another.

    Case, width, white space, punctuation and Markdown's marks make no difference; the characters
    of scripts without spaces are words of their own.
    """
    words: list[str] = []
    for run, word in TOKEN.findall(cleaned(plain(text))):
        words += [word] if word else run
    return f" {' '.join(words)} "


@dataclass(frozen=True)
class Evidence:
    """One source, as far as a model was shown it; prompt injections are not in it."""

    text: str

    @cached_property
    def terms(self) -> frozenset[str]:
        """What it speaks of."""
        return claims(self.text)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The numbers in it with their units, in digits and in words."""
        return read_quantities(self.text)

    @cached_property
    def clauses(self) -> list[Clause]:
        """Its clauses; its first paragraph is what it is called."""
        label, _, text = self.text.partition("\n\n")
        return source_clauses(label, text)

    @cached_property
    def folded(self) -> str:
        """Its wording."""
        return fold(self.text)

    @cached_property
    def tongues(self) -> frozenset[str]:
        """The languages that a good part of it is written in."""
        sizes: Counter[str] = Counter()
        for line in self.text.split("\n"):
            sizes[tongue(line)] += len(line)
        del sizes[""]
        return frozenset(name for name in sizes if sizes[name] >= 0.3 * sizes.total())

    def names(self, name: str) -> bool:
        """Return whether it holds a name, in whatever form."""
        return self.says(name) or claims(name) <= self.terms

    def says(self, quotation: str) -> bool:
        """Return whether it holds a quotation word for word; `…` may stand for left out words."""
        parts = [fold(part) for part in re.split(r"\[?(?:…|\.{3,})\]?", quotation)]
        at = 0
        for part in filter(str.strip, parts):
            at = self.folded.find(part, at)
            if at < 0:
                return False
            at += len(part) - 1
        return True


def share(terms: frozenset[str], among: frozenset[str]) -> float:
    """Return which part of some terms is among others; 0 when there are none."""
    return len(terms & among) / len(terms) if terms else 0.0


_LABEL = r"(?:(?:sources?|notes?|出典|資料|ソース|ノート)\s*[:：#]?\s*)?"
_NUMBER = r"[-−]?[0-9０-９]+"
_ITEM = rf"{_LABEL}{_NUMBER}(?:\s*[-–—~〜～]\s*{_LABEL}{_NUMBER})?"
# [1], [1, 3], [1-3], [[1]], [^1], ［１］, 【1】, 【1†source】, [Source 1], \[1\], [1](address)
CITATION = re.compile(
    rf"(?:\\?[\[［【]){{1,2}}\s*\^?(?P<items>{_ITEM}(?:\s*[,，、;；&]\s*\^?{_ITEM})*)\s*"
    r"(?:†[^\]］】\n]{0,80})?(?:\\?[\]］】]){1,2}(?P<address>\([^()\s]*\))?",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"({_NUMBER})(?:\s*[-–—~〜～]\s*{_LABEL}({_NUMBER}))?", re.IGNORECASE)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)


def named_sources(citation: re.Match[str], count: int) -> tuple[list[int], list[str]]:
    """Return the sources that a citation names, and what it names that is not among `count`.

    A range that is not wholly among them names nothing.
    """
    valid: list[int] = []
    false: list[str] = []
    for found in _RANGE.finditer(unicodedata.normalize("NFKC", citation["items"])):
        first, last = (_number(text) for text in (found[1], found[2] or found[1]))
        if 1 <= first <= last <= count:
            valid += range(first, last + 1)
        else:
            false.append(f"[{found[0]}]"[:40])
    return list(dict.fromkeys(valid)), false


def _number(text: str) -> int:
    return int(text.replace("−", "-")[:9])


def outside_code(change: Callable[[str], str], text: str) -> str:
    """Return a text with everything outside its `code spans` changed."""
    parts: list[str] = []
    at = 0
    for span in _CODE_SPAN.finditer(text):
        parts += [change(text[at : span.start()]), span[0]]
        at = span.end()
    return "".join([*parts, change(text[at:])])


def without_citations(text: str) -> str:
    """Return what a sentence says, without the sources it names."""
    return outside_code(lambda part: CITATION.sub(" ", part), text).strip()
