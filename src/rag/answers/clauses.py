"""A text as clauses, each with what it speaks of, its quantities and its stance.

"Amara leads the migration, Jonas writes the tests" is two clauses: that both names and both
tasks stand in one sentence does not make Jonas lead. A cell of a table is a clause of its own
with the first cell of its row; the head of its column is what it stands under.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from rag.answers.quantities import Quantity, quantities, without_quantities
from rag.answers.stance import Stance, stance, without_stance
from rag.text.stopwords import STOP_TERMS
from rag.text.tokenizer import TOKEN, cleaned, stem
from rag.vault.markdown import plain
from rag.vault.sentences import sentence_spans

_CUT = re.compile(
    r"[;；、]|[,:](?!\d)|\s[–—-]\s|\s(?:and|but|while|whereas|which|because|unless|although)\s"
    r"|(?<=[うくすつぬむるいただ])が(?=\W)|(?<=[うくすつぬむるいたな])ので|けれど"
)
# "On weekdays," and 平日は、 begin the clause that follows.
_LEADS_IN = re.compile(
    r"\s*(?:on|in|at|for|with|by|from|under|during|since|until)(?: [\w'-]+){1,4},"
    r"|[^、]*(?:は|では|には)、|[^、は]*(?:から|まで|とき|場合|際|で)、"
)
_ROW = re.compile(r"\s*\|(.+)\|\s*$")
_RULE = re.compile(r"[\s|:-]+$")
_MARK = re.compile(r"\A\s*(?:#+|[-*+]|\d{1,3}[.)]|>)\s+")
# Characters of one script in a row are taken for a word; hiragana are endings and particles.
_WIDE_WORD = re.compile("[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff]+|[\u30a1-\u30fa\u30fc]+")
_KANA_NOUN = re.compile("[ぁ-ゟ]{2,}?(?=[のはがを])")  # at the beginning of a run
_POINTING = re.compile("[こそあど][のれここちん]|すべて|もの|こと|また|なお|ただ|しかし|よう|ほか")
_WIDE_SMALL = frozenset("各全約毎両同当")
_SMALL = STOP_TERMS | {stem(word) for word in ("even", "still", "already", "either", "however")}
_MATCHED = 0.5  # of a word's terms: 大崎行き is 大崎

Word = frozenset[str]


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in normal form.

    :param words: what it speaks of, each word as its terms: an English stem, or the pairs of
        characters of a Japanese word.
    :param soft: terms of what it stands under: title and heading.
    :param head: the words at the head of its column, whose terms are among its own.
    :param sentence: the number of its sentence in the text.
    :param whole: that sentence, or row of a table; `around` are the terms of it.
    """

    text: str
    words: tuple[Word, ...]
    terms: frozenset[str]
    quantities: tuple[Quantity, ...]
    sentence: int = 0
    whole: str = ""
    around: frozenset[str] = frozenset()
    soft: frozenset[str] = frozenset()
    head: tuple[Word, ...] = ()

    @property
    def stance(self) -> Stance:
        """What it says yes and no to."""
        return stance(self.text)

    def unmatched(self, terms: frozenset[str]) -> list[Word]:
        """Return the words of it that are not among some terms."""
        return [word for word in self.words if not holds(terms, word)]


def holds(terms: frozenset[str], word: Word) -> bool:
    """Return whether a word is among some terms."""
    return len(word & terms) >= _MATCHED * len(word)


def weight(words: Iterable[Word], terms: frozenset[str]) -> float:
    """Return how many of some words are among the terms; parts of a word count in part."""
    return sum(len(word & terms) / len(word) for word in words)


def words_of(text: str) -> tuple[Word, ...]:
    """Return the words with which a text in normal form says something."""
    found: dict[Word, None] = {}
    for run, word in TOKEN.findall(text):
        if word:
            term = stem(word)
            if term not in _SMALL and not word.isdigit():
                found[frozenset({term})] = None
            continue
        if (kana := _KANA_NOUN.match(run)) and not _POINTING.match(run):
            found[frozenset({kana[0]})] = None
        for wide in _WIDE_WORD.findall(run):
            if wide in _WIDE_SMALL:
                continue
            pairs = {wide[at : at + 2] for at in range(len(wide) - 1)} or {wide}
            found[frozenset(pairs)] = None
    return tuple(found)


def said_clauses(sentence: str) -> list[Clause]:
    """Return the clauses of one sentence of an answer."""
    return list(_clauses(sentence, 0, frozenset()))


def source_clauses(label: str, text: str) -> list[Clause]:
    """Return the clauses of a source.

    :param label: what it is called; all of it stands under that.
    """
    title = _terms(words_of(cleaned(label)))
    soft, head = title, list[str]()
    found: list[Clause] = []
    sentences = [*_sentences(text), ""]
    for number, (sentence, after) in enumerate(pairwise(sentences)):
        row = _ROW.match(sentence)
        if not row:
            head = []
            if sentence.startswith("#"):
                soft = title | _terms(words_of(cleaned(sentence)))
            found += _clauses(_MARK.sub("", sentence), number, soft)
        elif not _RULE.match(sentence):
            cells = [cell.strip() for cell in row[1].split("|")]
            if "-" in after and _RULE.match(after):
                head = cells
            else:
                found += _row(cells, head, number, soft)
    return found


def _sentences(text: str) -> Iterator[str]:
    for start, end in sentence_spans(text):
        if sentence := text[start:end].strip():
            yield sentence


def _row(cells: list[str], head: list[str], number: int, soft: frozenset[str]) -> Iterator[Clause]:
    """Yield a clause for each cell, with the row's first cell before it."""
    whole = cleaned(plain(" ".join(cells)))
    around = _terms(words_of(whole))
    for at, cell in enumerate(cells):
        above = head[at] if at < len(head) else ""
        text = cell if at == 0 else f"{cells[0]} {cell}"
        if text.strip():
            clause = _clause(cleaned(plain(text)), number, whole, around, soft)
            words = words_of(cleaned(plain(above)))
            yield replace(clause, terms=clause.terms | _terms(words), head=words)


def _clauses(sentence: str, number: int, soft: frozenset[str]) -> Iterator[Clause]:
    text = cleaned(plain(sentence))
    around = _terms(words_of(text))
    for part in _parts(text):
        yield _clause(part, number, text, around, soft)


def _parts(text: str) -> list[str]:
    """Cut a sentence, and put together again what does not stand alone: "dogs | and cats"."""
    cuts = [0, *(cut.end() for cut in _CUT.finditer(text)), len(text)]
    parts: list[str] = []
    waiting = ""
    for start, end in pairwise(cuts):
        part = waiting + text[start:end]
        waiting = ""
        if _stands_alone(part):
            parts.append(part)
        elif end < len(text):
            waiting = part
        elif parts:
            parts[-1] += part
        else:
            parts.append(part)
    return parts


def _stands_alone(part: str) -> bool:
    if _LEADS_IN.fullmatch(part):
        return False
    if quantities(part):
        return True
    count = len(words_of(without_stance(part)))
    return count > 1 or (count == 1 and (stance(part).negative or part[-1:] in "、が"))


def _clause(
    text: str, number: int, whole: str, around: frozenset[str], soft: frozenset[str]
) -> Clause:
    words = words_of(without_stance(without_quantities(text)))
    return Clause(
        text=text,
        words=words,
        terms=_terms(words),
        quantities=quantities(text),
        sentence=number,
        whole=whole,
        around=around,
        soft=soft,
    )


def _terms(words: Iterable[Word]) -> frozenset[str]:
    return frozenset().union(*words)
