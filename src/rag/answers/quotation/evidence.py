"""What speaks for a part of a note as the answer to a question."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from rag.answers.quotation.irregular_forms import other_forms
from rag.answers.quotation.question_kinds import Asked, defines, holds, kind_of, told_of
from rag.answers.quotation.units import Kind, QuotableUnit, quotable_units
from rag.text.matches import STEMMED, find_matches, weigh_terms
from rag.text.normalize import normalize
from rag.text.scripts import HAN, HIRAGANA, KATAKANA
from rag.text.tokenizer import stem
from rag.vault.sentence_units import SentenceUnit

# What is asked after, not about: an answer to "how long" rarely says "long".
_ASKING = re.compile(
    r"\bhow (?:long|often|many|much|far|big|large|old|fast|soon)\b"
    r"|\bwhat does (?=.*\bmean\b)|\bmean\b(?=\??$)|\bwhat (?:do|must|did) (?:i|we)\b"
    r"|\b(?:say|says|said|tells? me|wrote) (?:about|on)\b"
    r"|[はがをにでのへも]*(?:だれ|誰|いつ|どこ|いくら|いくつ|なぜ|どうして|どれだけ|どれくらい|どのくらい"
    r"|どれ|どんな|どうやって|どうすれば|どうしたら|何|いい)[はがをにでのへか]*"
    r"|(?:って何|とは|ですか|ますか|でしょうか|だった|かかった|ありますか|がある|にある|には|方法|コマンドは)+(?=[?？]?$)",
    re.IGNORECASE,
)
_ASCII = re.compile(r"[a-z]+")
_UNSPACED = re.compile(f"[{HAN}{HIRAGANA}{KATAKANA}]")
_KANA = re.compile(r"[ぁ-ゖ]")
_KANA_GRAM = 0.3  # a pair or triple with hiragana in it, mostly endings and particles
_LONE = 0.4  # one character, such as the stem of a verb
_LONGEST_GRAM = 3
_NAME = re.compile(
    r"(?<=[\w,'’] )[A-Z][\w'’-]+|(?<=[「『\"“])[^」』\"”]+|[一-鿿]{2,4}(?=さん|氏|様)"
    r"|\b[A-Za-z][A-Za-z0-9-]{2,}\b(?=[ぁ-んァ-ン一-鿿])"
)
_OWNS = re.compile(r"['’]s$")
# What was spoken of before, which a follow-up is asked with; see `rag.answers.follow_ups`.
_FOLLOWED = re.compile(r"\s\(([^()]*)\)\s*$")
_BEFORE = 0.2
_ASKS = re.compile(r"[?？]\s*$")


class Evidence(NamedTuple):
    """What speaks for a unit, or against it.

    `near` and `passage_near` tell how near its nearest sentence and its passage are in meaning,
    in standard deviations above the mean of a sample of the index. `words` is the share of what
    the words of the question weigh that the unit holds, `context_words` what the title, the
    headings and the introduction above it hold besides, `beside_words` what the sentence before
    it does, and `passage_words` what only the rest of its passage holds. `absent` is the share
    of the words, and `absent_names` that of the names, that are in none of these. `untold` is
    the share of the words that tell what is asked of the subject, such as its price, that
    neither the unit nor what stands above it holds. `fits` tells whether it holds what is asked
    for, from -1 to 1; `defines` that it defines the subject; `steps` that it is a list or code
    and the question asks how; `several` that it is a list or table and the question may ask for
    one, `many` that it is one at all; `part` that it is an item or row; `asks` that it is a
    question itself. `rank` is the logarithm of its note's rank, `length` that of its size in
    typical sentences; `opening` that it opens its note.
    """

    near: float
    passage_near: float
    words: float
    context_words: float
    beside_words: float
    passage_words: float
    absent: float
    absent_names: float
    untold: float
    fits: float
    defines: float
    steps: float
    several: float
    many: float
    part: float
    asks: float
    rank: float
    length: float
    opening: float


@dataclass(frozen=True)
class Passage:
    """A stretch of a note that a search found.

    :ivar names: its title, headings and aliases.
    :ivar rank: that of its note, from 1.
    :ivar skipped: how many of its first lines stand further up in the note.
    :ivar sentences: those that have an embedding, and in `nearness` how near each is.
    :ivar near: how near the nearest of them is.
    """

    names: str
    content: str
    rank: int
    skipped: int = 0
    sentences: Sequence[SentenceUnit] = ()
    nearness: Sequence[float] = ()
    near: float = 0.0
    is_first: bool = False

    @cached_property
    def units(self) -> list[QuotableUnit]:
        """What of it can be read out."""
        return [unit for unit in quotable_units(self.content) if unit.first >= self.skipped]


@dataclass(frozen=True)
class Question:
    """A question, and what its words weigh.

    :ivar text: with the words that only ask.
    :ivar rarity: as for `rag.text.matches.weigh_terms`.
    """

    text: str
    rarity: Callable[[int], float]

    @cached_property
    def asked(self) -> Asked:
        """What it asks for."""
        return kind_of(self.text)

    @cached_property
    def subject(self) -> str:
        """It without the words that only ask."""
        return _ASKING.sub(" ", normalize(self.text)).strip() or self.text

    @cached_property
    def weights(self) -> dict[str, float]:
        """What each term of it weighs; together they weigh 1.

        Of unsegmented scripts these are characters in a row, of which those with kana weigh less.
        """
        found = {
            term: weight * _share_of(term)
            for term, weight in weigh_terms(self.subject, self.rarity).items()
        }
        if followed := _FOLLOWED.search(self.subject):
            before = set(weigh_terms(followed[1]))
            before -= weigh_terms(self.subject[: followed.start()]).keys()
            found = {t: w * (_BEFORE if t in before else 1.0) for t, w in found.items()}
        whole = sum(found.values())
        return {term: weight / whole for term, weight in found.items() if weight} if whole else {}

    @cached_property
    def told(self) -> frozenset[str]:
        """The terms that tell what is asked of the subject."""
        wanted = normalize(told_of(self.text))
        words = {stem(word) for word in wanted.split()}
        return frozenset(
            term
            for term in self.weights
            if (term in words if term.isascii() else term in wanted and len(term) > 1)
        )

    @cached_property
    def named(self) -> frozenset[str]:
        """The names in it, as they are normal."""
        names = (_OWNS.sub("", name) for name in _NAME.findall(self.text))
        return frozenset(map(normalize, names))

    @cached_property
    def _irregular(self) -> dict[str, str]:
        """Other forms of its verbs, each with the term that stands for the verb."""
        words = {word: stem(word) for word in _ASCII.findall(self.subject)}
        return {
            form: term
            for word, term in words.items()
            if term in self.weights
            for form in other_forms(word)
        }

    def held(self, text: str) -> dict[str, float]:
        """Return what each term that a text holds counts for."""
        normal = normalize(text)
        found = {
            term: weight
            for term, weight in self.weights.items()
            if not term.isascii() and term in normal
        }
        if self._irregular:
            for word in {*_ASCII.findall(normal)} & self._irregular.keys():
                term = self._irregular[word]
                found[term] = max(STEMMED * self.weights[term], found.get(term, 0.0))
        for match in find_matches(text, self.subject):
            counts = self.weights.get(match.term, 0.0) * match.form
            found[match.term] = max(counts, found.get(match.term, 0.0))
        return found


def _share_of(term: str) -> float:
    """Return how far a term of a query counts as evidence."""
    if not _UNSPACED.match(term):
        return 1.0
    if len(term) > _LONGEST_GRAM:  # its parts are terms too
        return 0.0
    if len(term) == 1:
        return _LONE
    return _KANA_GRAM if _KANA.search(term) else 1.0


def evidence(question: Question, passage: Passage) -> Iterator[tuple[QuotableUnit, Evidence]]:
    """Yield the units of a passage, each with what speaks for it."""
    names, everything = question.held(passage.names), question.held(passage.content)
    known = names | everything
    text = normalize(f"{passage.names}\n{passage.content}")
    strange = sum(name not in text for name in question.named)
    lacking = sum(w for term, w in question.weights.items() if term not in known)
    before: dict[str, float] = {}
    last = -1
    for number, unit in enumerate(passage.units):
        own, above = question.held(unit.text), names | question.held(unit.under)
        context = _besides(above, own)
        beside = _besides(before if unit.first - last <= 1 else {}, own | above)
        rest = _besides(everything, own | above | beside)
        fits = holds(question.asked, unit)
        yield (
            unit,
            Evidence(
                near=_nearness(unit, passage),
                passage_near=passage.near,
                words=sum(own.values()),
                context_words=sum(context.values()),
                beside_words=sum(beside.values()),
                passage_words=sum(rest.values()),
                absent=lacking,
                absent_names=strange / len(question.named) if question.named else 0.0,
                untold=_share(question, question.told - own.keys() - above.keys()),
                fits=2 * fits - 1,
                defines=float(defines(question.text, unit)),
                steps=float(question.asked == Asked.HOW_TO and unit.kind in (Kind.LIST, Kind.CODE)),
                several=float(
                    question.asked in (Asked.WHICH, Asked.OTHER)
                    and unit.kind in (Kind.LIST, Kind.TABLE)
                ),
                many=float(unit.kind in (Kind.LIST, Kind.TABLE)),
                part=float(unit.kind in (Kind.ITEM, Kind.ROW)),
                asks=float(bool(_ASKS.search(unit.text))),
                rank=math.log(passage.rank),
                length=math.log(max(len(unit.text), 10) / 80),
                opening=float(passage.is_first and number == 0),
            ),
        )
        if unit.kind == Kind.SENTENCE:
            before, last = own, unit.last


def _share(question: Question, terms: frozenset[str]) -> float:
    """Return what some of the terms weigh that tell what is asked, against all of those."""
    whole = sum(question.weights[term] for term in question.told)
    return sum(question.weights[term] for term in terms) / whole if whole else 0.0


def _besides(found: Mapping[str, float], known: Mapping[str, float]) -> dict[str, float]:
    return {term: counts for term, counts in found.items() if term not in known}


def _nearness(unit: QuotableUnit, passage: Passage) -> float:
    """Return how near the nearest sentence of a unit is; of its passage where it has none."""
    if not passage.nearness:
        return 0.0
    begins = [sentence.line for sentence in passage.sentences]
    start = max(0, bisect_left(begins, unit.first + 1) - 1)
    start = bisect_left(begins, begins[start]) if begins else 0
    own = range(start, bisect_right(begins, unit.last))
    text = _squeezed(unit.text)
    exact = [
        at for at in own if (said := _squeezed(passage.sentences[at].text)) in text or text in said
    ]
    return max((passage.nearness[at] for at in exact or own), default=passage.near)


def _squeezed(text: str) -> str:
    return re.sub(r"[\s\-]+", "", text)
