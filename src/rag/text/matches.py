"""Where a text holds the words of a query, and how much of the query that is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from operator import add
from typing import NamedTuple
from unicodedata import is_normalized

from rag.text.bm25 import SPACED, content_terms, content_words, query_terms
from rag.text.ngrams import RUN
from rag.text.tokenizer import ASCII_WORD, TOKEN, fold_accents, normalize, run_grams, stem

# A word in mixed case: it has a part that begins with a capital, as in names of programs.
_MIXED_WORD = re.compile(
    "(?<![A-Za-z0-9])[A-Za-z0-9]*?(?:[a-z0-9](?=[A-Z])|[A-Z](?=[A-Z][a-z]))[A-Za-z0-9]+"
)
# What each of them holds, and most texts do not: `re` skips to a capital eight times as fast.
_SEAM = re.compile(r"[A-Z](?:(?<=[a-z0-9][A-Z])|(?<=[A-Z]{2})[a-z])")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SHORTEST = 3  # letters of what is worth finding
_MOST_PARTS = 6  # of a word; base64 has more
_MOST_WORDS = 1 << 12  # that are remembered with what they are to a query


class WordPart(NamedTuple):
    """Some neighbouring parts of a word, in lower case, and where they stand in the text."""

    text: str
    start: int
    end: int


def word_parts(text: str) -> Iterator[WordPart]:
    """Yield the parts of each word in mixed case, and neighbouring ones together: of
    `CrashLoopBackOff` crash, crashloop, crashloopback, loop, …, backoff, off, but not the whole.
    """
    for word in _MIXED_WORD.finditer(text) if _SEAM.search(text) else ():
        parts = [(part.start(), part.end()) for part in _PART.finditer(word[0])]
        if not 1 < len(parts) <= _MOST_PARTS:
            continue
        for first, (start, _) in enumerate(parts):
            for _, end in parts[first : len(parts) - (first == 0)]:
                if end - start >= _SHORTEST:
                    at = word.start()
                    yield WordPart(word[0][start:end].lower(), at + start, at + end)


# What a word counts for that is the query's in another form: one that the stemmer joins with it,
# and one that begins alike, as those of languages that the stemmer does not know.
EXACT, STEMMED, INFLECTED = 1.0, 0.8, 0.5
_HEAD = 5  # letters that inflected forms have in common, at least
_SHARE = 0.8  # of the letters of the longer form, that they begin with both
_ASCII = re.compile(ASCII_WORD)
_IN_A_ROW = 0.1  # of what two words weigh, for standing beside each other as in the query


class Match(NamedTuple):
    """A part of a text that a term of the query matches.

    `form` is what the form of it counts for; `in_a_row` says that it follows the match before it
    as it does in the query.
    """

    start: int
    end: int
    term: str
    form: float = EXACT
    in_a_row: bool = False


class _Word(NamedTuple):
    """What a word is to a query: the term it stands for, and what its form counts for, if it
    matches."""

    term: str
    form: float = 0.0
    is_run: bool = False


def _is_inflected(word: str, written: str) -> bool:
    """Return whether two words begin alike so far that one may be a form of the other."""
    shorter, longer = sorted((len(word), len(written)))
    pairs = enumerate(zip(word, written, strict=False))
    return next((n for n, (a, b) in pairs if a != b), shorter) >= _SHARE * longer


class _Wanted:
    """What words are to a query. `terms` are its stems and `pairs` of characters, `neighbours`
    those that follow each other; `look_up` says of a word what it is."""

    def __init__(self, query: str) -> None:
        self.terms = frozenset(content_terms(query))
        self.pairs = frozenset(term for term in self.terms if len(term) == 2)
        written = [fold_accents(word) for word in content_words(query)]
        self._exact = frozenset(written)
        self._beginning: dict[str, list[tuple[str, str]]] = {}  # words by their first letters
        for word in written:
            if len(word) >= _HEAD:
                self._beginning.setdefault(word[:_HEAD], []).append((word, stem(word)))
        order = [stem(token[0]) for token in TOKEN.finditer(normalize(query)) if not token[1]]
        self.neighbours = frozenset(pairwise(order))
        self.look_up = lru_cache(_MOST_WORDS)(self._look_up)

    def _look_up(self, word: str) -> _Word:
        normal = normalize(word)
        if not normal.isascii() and RUN.match(normal):  # as half-width kana are once normal
            return _Word("", is_run=True)
        term, bare = stem(normal), fold_accents(normal)
        if term in self.terms:
            return _Word(term, EXACT if bare in self._exact else STEMMED)
        for written, other in self._beginning.get(bare[:_HEAD], ()):
            if bare.isalpha() and _is_inflected(bare, written):
                return _Word(other, INFLECTED)
        return _Word(term)


_wanted = lru_cache(4)(_Wanted)  # the texts of all results are looked at for one query


def find_matches(text: str, query: str) -> list[Match]:
    """Return every part of `text` that a word of `query` matches, in any form, in order.

    In unsegmented scripts a part matches when two characters together stand in the query. So does
    a part of a word in mixed case (`OOM` in `OOMKilled`).
    """
    wanted = _wanted(query)
    look_up = wanted.look_up
    matches: list[Match] = []
    before = ""
    lower = text.lower()
    words = _ASCII if text.isascii() else TOKEN if RUN.search(text) else SPACED
    for token in words.finditer(lower if len(lower) == len(text) else text):
        word = token[0]
        if token.lastindex == 1:
            matches += _run_matches(word, token.start(), wanted)
            before = ""
            continue
        sought = look_up(word)
        if sought.form:
            start, end = token.span()
            in_a_row = (before, sought.term) in wanted.neighbours
            matches.append(Match(start, end, sought.term, sought.form, in_a_row))
        elif sought.is_run:
            matches += _run_matches(word, token.start(), wanted)
        before = sought.term
    inside = _part_matches(text, wanted)
    return sorted([*matches, *inside]) if inside else matches


def _part_matches(text: str, wanted: _Wanted) -> list[Match]:
    """Return the parts of words in mixed case that match, where the whole word does not."""
    matches: list[Match] = []
    for part in word_parts(text):
        term = stem(part.text)
        is_new = not matches or part.start >= matches[-1].end
        if term in wanted.terms and is_new:
            matches.append(Match(part.start, part.end, term, INFLECTED))
    return matches


def _run_matches(run: str, offset: int, wanted: _Wanted) -> list[Match]:
    normal = run if is_normalized("NFKC", run) else normalize(run)
    if len(normal) != len(run):  # half-width kana: positions do not match
        pairs = sorted(wanted.pairs.intersection(run_grams(normal)))
        return [Match(offset, offset + len(run), pair) for pair in pairs]
    if len(run) == 1:
        return [Match(offset, offset + 1, normal)] if normal in wanted.terms else []
    matches: list[Match] = []
    if not wanted.pairs.isdisjoint(map(add, normal, normal[1:])):
        last = -2
        for at in range(len(run) - 1):
            pair = normal[at : at + 2]
            if pair in wanted.pairs:
                matches.append(Match(offset + at, offset + at + 2, pair, EXACT, last == at - 1))
                last = at
    return matches


def weigh_terms(query: str, rarity: Callable[[int], float] | None = None) -> dict[str, float]:
    """Return what each term of a query counts for.

    :param rarity: what it tells of a text that it has a dimension of the lexical index; without
        it all tell the same.
    """
    weights: dict[str, float] = {}
    for asked in query_terms(query):
        if asked.field in ("words", "grams"):
            term = stem(asked.text) if asked.field == "words" else asked.text
            weight = asked.weight * (rarity(asked.dimension) if rarity else 1.0)
            weights[term] = max(weight, weights.get(term, 0.0))
    return weights


def weigh_matches(matches: Sequence[Match], weights: dict[str, float]) -> dict[str, float]:
    """Return what each term that some matches are of counts for: its best form, and more where it
    stands beside another as in the query."""
    weighed: dict[str, float] = {}
    last = 0.0
    for match in matches:
        weight = weights.get(match.term, 0.0)
        counts = weight * match.form + (_IN_A_ROW * (weight + last) if match.in_a_row else 0.0)
        weighed[match.term] = max(counts, weighed.get(match.term, 0.0))
        last = weight
    return weighed


Span = tuple[int, int]


def match_spans(text: str, query: str) -> list[Span]:
    """Return the (start, end) of every part of `text` that a word of `query` matches, in order.

    In unsegmented scripts a part is marked when two characters together stand in the query.
    """
    return spans_of(find_matches(text, query))


def spans_of(matches: Iterable[Match]) -> list[Span]:
    """Return the (start, end) of what some matches cover, in order; those that touch are one."""
    joined: list[Span] = []
    for start, end, *_ in matches:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def snippet(
    text: str, query: str, width: int, within: Span | None = None, spans: list[Span] | None = None
) -> tuple[str, list[Span]]:
    """Return the stretch of `text` that speaks most of `query`, on one line, and its matches.

    :param width: about how many characters; cuts are marked by `…`.
    :param within: the (start, end) of the part of `text`, all of it on one line then, that the
        stretch must show some of; the part with the best match, if there is one.
    :param spans: what of `text`, all of it on one line then, matches, where that is known.
    """
    if spans is None:
        text = " ".join(text.split())
        spans = match_spans(text, query)
    if len(text) <= width:
        return text, spans
    start = _best_start(text, spans, width, within or (0, len(text)))
    end = min(len(text), start + width)
    if start:
        first = next((a for a, _ in spans if a >= start), len(text))
        space = text.find(" ", start, min(start + 12, first))
        start = space + 1 if space > 0 else start
    if end < len(text):
        space = text.rfind(" ", end - 12, end)
        end = space if space > start else end
    head, tail = "…" if start else "", "…" if end < len(text) else ""
    shift = len(head) - start
    inside = [
        (max(a, start) + shift, min(b, end) + shift) for a, b in spans if b > start and a < end
    ]
    return f"{head}{text[start:end]}{tail}", inside


def _best_start(text: str, spans: list[Span], width: int, within: Span) -> int:
    """Return where the window with the most matched words begins, some way before them.

    :param within: where the first of the matches must stand.
    """

    def told(at: int) -> int:
        """Return how long the matched words are from there on, each once."""
        end = spans[at][0] + 0.8 * width
        inside = takewhile(lambda span: span[1] <= end, spans[at:])
        return sum(map(len, {text[start:stop].lower() for start, stop in inside}))

    places = (at for at, (a, b) in enumerate(spans) if b > within[0] and a < within[1])
    first = max(places, key=told, default=None)
    best = within[0] if first is None else spans[first][0]
    return max(0, min(best - width // 6, len(text) - width))
