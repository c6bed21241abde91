"""The words of a subject, and which notes hold all of them: found in the index, not ranked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rag.answers.quotation.irregular_forms import other_forms
from rag.search.understanding.phrase_match import Occurrences
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.bm25 import PROPERTIES, beside_dimension, content_words, pieces, word_dimension
from rag.text.ngrams import RUN
from rag.text.scripts import HAN, HIRAGANA, KATAKANA
from rag.text.tokenizer import cleaned, stem

_FIRM = f"[^{HIRAGANA}]"  # ideographs and katakana, which particles join
_PARTICLE = re.compile(
    f"(?:について|に関する|に関して|という)|を|(?:の|に|で|と|や|へ|が|は|も|から|まで)(?={_FIRM})"
)
_ADDRESSED = re.compile(f"(?<={_FIRM})(?:さん|くん|ちゃん|さま|様|氏)$")
_ENDING = re.compile(f"(?<={_FIRM})[{HIRAGANA}]+$")
_LONE = re.compile(f"[{HAN}]$")
_ONLY_KANA = re.compile(f"[{HIRAGANA}]+$")
_SHORT = 2  # hiragana that are hardly a word: particles, endings
# They say less than to whom or what: "I went to the dentist" is a visit, however it is told.
_LIGHT = {*map(stem, ("go", "went", "gone", "come", "came", "get", "got", "do", "have"))}
_LIGHT_RUNS = {"行", "来"}
# Whoever is named as present was met: none of these need stand in a note of it.
_COMPANY = {*map(stem, ("meet", "see", "talk", "speak", "chat"))}
_COMPANY_RUNS = {"会", "話"}


class SubjectWord(NamedTuple):
    """A word of a subject.

    :ivar text: as it is told.
    :ivar terms: the stems of a spaced word and of its irregular forms, one of which a text holds.
    :ivar run: characters of a script without spaces that a text holds.
    :ivar is_verb: whether that is one ideograph that kana follow: 会 of 会った, not of 会議.
    """

    text: str
    terms: tuple[str, ...] = ()
    run: str = ""
    is_verb: bool = False

    def is_in(self, text: SpokenText) -> bool:
        """Return whether a text holds the word in any form."""
        if self.terms:
            return not text.stems.isdisjoint(self.terms)
        if self.is_verb:
            return re.search(f"{self.run}(?![{HAN}{KATAKANA}])", text.plain) is not None
        return self.run in text.plain

    @property
    def is_company(self) -> bool:
        """Whether it says that somebody was there: met, talked to."""
        return self.run in _COMPANY_RUNS or bool(self.terms and self.terms[0] in _COMPANY)


class SpokenText(NamedTuple):
    """A text in normal form, and the stems of its spaced words."""

    plain: str
    stems: frozenset[str]

    @classmethod
    def of(cls, *texts: str) -> SpokenText:
        """Return some texts as one."""
        plain = cleaned("\n".join(texts))
        return cls(plain, frozenset(map(stem, pieces(plain)[0])))


def subject_words(text: str, happened: bool = False) -> list[SubjectWord]:
    """Return the words that name a subject, each once.

    :param happened: whether the text tells what happened: verbs that say little are left out then,
        and the endings of Japanese ones.

    >>> [word.text for word in subject_words("the ferry timetables")]
    ['ferry', 'timetables']
    >>> [word.text for word in subject_words("田中さんに会った", happened=True)]
    ['田中', '会']
    """
    found = [
        SubjectWord(_as_typed(word, text), _terms(word))
        for word in content_words(text)
        if not RUN.search(word) and word.strip("\0")
    ]
    for run in RUN.findall(cleaned(text)):
        found += _run_words(run, happened)
    firm = [word for word in found if not _is_kana(word)]
    found = firm or found
    if happened:
        found = [word for word in found if not _is_light(word)] or found
    return list(dict.fromkeys(found))


def notes_holding(
    store: BaseDocumentStore, words: Sequence[SubjectWord], stated: bool = False
) -> tuple[set[str], set[str] | None, list[str]]:
    """Return the ids of the notes that hold all of some words, in their text, title or headings;
    those of the chunks that hold all of the spaced ones, `None` where there are none; and what
    there is to say of words that are too frequent to be looked up.

    :param stated: whether the front matter may hold them too.
    """
    manifest = store.manifest()
    if manifest is None or not words:
        return set(), None, []
    most, owners = manifest.kept_totals()[1], manifest.notes_by_chunk()
    notes: list[set[str]] = []
    chunks: set[str] | None = None
    notices: list[str] = []
    for word in [word for word in words if word.terms]:
        wanted = [*map(word_dimension, word.terms)]
        wanted += [beside_dimension(PROPERTIES, term) for term in word.terms if stated]
        held = {*(store.points_with(wanted, most) or ())}
        chunks = held if chunks is None else chunks & held
        keys = (bytes.fromhex(chunk.replace("-", "")) for chunk in held)
        notes.append({owners[key] for key in keys if key in owners})
    runs = [word.run for word in words if word.run]
    for found in Occurrences(store, manifest, runs).wanted() if runs else []:
        notices += filter(None, [found.notice])
        if found.counts:
            notes.append({*found.notes})
    return set.intersection(*notes) if notes else set(), chunks, notices


def _terms(word: str) -> tuple[str, ...]:
    """Return the stems of a word and of its irregular forms."""
    return tuple(dict.fromkeys(map(stem, (word, *other_forms(word)))))


def _as_typed(word: str, text: str) -> str:
    """Return a word in the letters of a text that holds it."""
    found = re.search(re.escape(word), text, re.IGNORECASE)
    return found[0] if found else word


def _run_words(run: str, happened: bool) -> Iterable[SubjectWord]:
    """Yield the words of a run: what stands between particles."""
    for part in filter(None, _PARTICLE.split(run)):
        core = _ADDRESSED.sub("", part)
        stripped = _ENDING.sub("", core)
        if happened and stripped != core:
            yield SubjectWord(stripped, run=stripped, is_verb=bool(_LONE.match(stripped)))
        else:
            yield SubjectWord(core, run=core)


def _is_kana(word: SubjectWord) -> bool:
    return bool(_ONLY_KANA.match(word.run)) and len(word.run) <= _SHORT


def _is_light(word: SubjectWord) -> bool:
    return word.run in _LIGHT_RUNS or bool(word.terms and word.terms[0] in _LIGHT)
