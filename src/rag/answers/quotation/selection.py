"""Which parts of the notes answer a question: what speaks for each, and how sure that is."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from rag.answers.quotation.question import Asked, Question, defines
from rag.answers.quotation.reading import UNREAD, Read, read_units
from rag.answers.quotation.units import Kind, QuotableUnit, quotable_units
from rag.support.month_names import DAY_OF, MONTH
from rag.text.property_words import asked_by, asking
from rag.text.tokenizer import normalize, stem, terms
from rag.vault.frontmatter import Property
from rag.vault.sentences import SentenceUnit

_NUMBER = (
    r"(?:\d[\d,.]*|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    r"|dozen|hundred|thousand|million|half|once|twice|unlimited|no limit|daily|weekly|monthly"
    r"|hourly|every)\b)"
)
_DIGITS = "一二三四五六七八九十百千万億数両"
_FIGURE = re.compile(
    rf"\d|\b{_NUMBER}|[{_DIGITS}]+[つ人個本枚日月年時分回件冊台匹頭軒社校名割倍円]|無制限|毎", re.I
)
_PRICE = re.compile(
    r"[$€£¥￥]|\d\s*%|\d\s*(?:dollars?|euros?|pounds?|yen|usd|eur|percent|円|万|億|ドル|ユーロ)"
    r"|\bfree\b|無料|割引",
    re.IGNORECASE,
)
_DATE = re.compile(
    rf"\b(?:1\d|20)\d\d\b|\b\d{{1,2}}{DAY_OF}{MONTH}\b|\b{MONTH} \d|\d[:.]\d\d|\bv?\d+\.\d"
    r"|\bversion \d|\d(?:th|st|nd|rd) century"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\b(?:days?|weeks?|months?|years?|hours?|minutes?"
    r"|spring|summer|autumn|winter|noon|(?:mid)?night|morning|evening|daily|weekly|monthly)\b"
    rf"|[\d{_DIGITS}]\s*(?:年|月|日|時|分|か月|ヶ月|週|世紀|バージョン)|[月火水木金土日]曜|バージョン\s*\d"
    r"|[春夏秋冬朝夜毎]|以降|世紀|時[代期]|同年|翌年|当時",
    re.IGNORECASE,
)
_NAME = (
    r"(?:(?<=[a-z,;:(] )|(?<=[a-z,;:] [\"“(]))[A-Z][\w.'’-]+"
    r"|\b[A-Z][\w.'’-]+ (?:of |de |von |van |the )?[A-Z][\w.'’-]+"
)
_PERSON = re.compile(
    rf"{_NAME}|\b(?i:only|owner|anyone|everyone|nobody|members?|users?|students?|people|customers?"
    r"|team|mother|father|aunt|uncle|he|she|who|brother|sister|wife|husband|friend|[a-z]+ists?)\b"
    r"|(?:さん|様|氏|者|[一-鿿]人|店長|オーナー|会社|商会|のみ|先生|母|父|祖[父母]|叔[父母]|メンバー|ユーザー|チーム"
    r"|社長|監督|教授|夫人?|妻|兄|弟|姉|妹|娘|息子|[ァ-ヶー]{3,}|[一-鿿々]{3,5}(?=[はがをとのら、（(・]))"
)
_PLACE = re.compile(
    r"\b(?:in|on|at|under|behind|beside|above|below|next to|near|inside|into|to|from|by|hangs?"
    r"|stands?|corner|top|bottom|left|right)\b|/\w|→|>|(?:[にでへ]|の[上下中横裏奥前]|から|まで|側|右|左|隅|棚)",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|so that|so|due to|as|cause[sd]?|reason|in order to|otherwise|avoid"
    r"|prevents?|would|cannot|can't|to|for)\b"
    r"|(?:ため|ので|から|理由|原因|なら|防|避|せい|制限|おそれ|により|によって)",
    re.IGNORECASE,
)
_CALLED = re.compile(rf"{_NAME}|[「『\"“][^」』\"”]+[」』\"”]|[ァ-ヶー]{{3,}}|`")
_HELD = {
    Asked.WHO: _PERSON,
    Asked.WHEN: _DATE,
    Asked.HOW_MANY: _FIGURE,
    Asked.HOW_MUCH: _FIGURE,
    Asked.PRICE: _PRICE,
    Asked.WHERE: _PLACE,
    Asked.NAME: _CALLED,
}
_WITHIN = 4  # words between a number and what it counts
_WORD = re.compile(r"[a-z]+|\d[\d,.]*")
_SPACE = re.compile(r"[\s\-]+")


def fits(asked: Asked, text: str, beyond: str) -> float:
    """Return whether a text holds what is asked for: 1, -1 if it does not, 0 if none can tell.

    :param beyond: what it says beyond the words of the question: the year of "what was decided in
        2024" is none that answers. A reason is given by small words, which both may have.
    """
    if asked == Asked.WHY:
        return 1.0 if _REASON.search(text) else -1.0
    pattern = _HELD.get(asked)
    if pattern is None:
        return 0.0
    return 1.0 if pattern.search(beyond) else -1.0


def counts(counted: Collection[str], text: str) -> float:
    """Return whether a text holds a number of what is counted: 1, or -1; 0 if nothing is.

    :param counted: as `question_kinds.counted_in` returns it.
    """
    if not counted:
        return 0.0
    [counter, *_] = counted
    text = normalize(text)
    if not counter.isascii() or counter == "%":
        pattern = rf"(?:\d|[{_DIGITS}])[\d,.万千百億]*\s*{re.escape(counter)}"
        return 1.0 if re.search(pattern, text) else -1.0
    words = _WORD.findall(text)
    for at, word in enumerate(words):
        if re.fullmatch(_NUMBER, word):
            following = words[at + 1 : at + 1 + _WITHIN]
            if any(stem(other) in counted for other in following):
                return 1.0
    return -1.0


_ASK_WHICH = (Asked.WHO, Asked.WHICH, Asked.NAME, Asked.OTHER)
_ASKING = {Asked.WHERE: "location", Asked.PRICE: "cost"}  # what asks for them is no subject
_COVERED = 0.6  # of a question, what the front matter must hold to answer it
_BOOLEANS = ("true", "false")
_ASKS = re.compile(r"[?？]\s*$")


class Evidence(NamedTuple):
    """What speaks for a unit, or against it.

    `near` and `passage_near` tell how near its nearest sentence and its passage are in meaning,
    in standard deviations above the mean of a sample of the index. `words` is the share of what
    the words of the question weigh that the unit holds, `context_words` what the title, the
    headings and the introduction above it hold besides, `before_words` and `after_words` what the
    sentences next to it do. `absent` is the share of the words, and `absent_names` that of the
    names, that its passage does not hold. `untold` is the share of the words that tell what is
    asked of the subject, such as its price, that neither the unit nor what stands above it holds.
    `fits` tells whether it holds what is asked for, and `counts` a number of what is counted, from
    -1 to 1; `defines` that it defines the subject, or is the property that is asked for; `steps`
    that it is a list or code and the question asks how; `several` that it is a list or table and
    the question may ask for one, `many` that it is one at all; `part` that it is an item or row;
    `asks` that it is a question itself. `rank` is the logarithm of its note's rank, `length` that
    of its size in typical sentences. `span` and `answered` are a reader's log odds that a span of
    it answers, and that something around it does.
    """

    near: float
    passage_near: float
    words: float
    context_words: float
    before_words: float
    after_words: float
    absent: float
    absent_names: float
    untold: float
    fits: float
    counts: float
    defines: float
    steps: float
    several: float
    many: float
    part: float
    asks: float
    rank: float
    length: float
    span: float = 0.0
    answered: float = 0.0


@dataclass(frozen=True)
class Passage:
    """A stretch of a note that a search found.

    :ivar names: its title, headings and aliases.
    :ivar rank: that of its note, from 1.
    :ivar skipped: how many of its first lines stand further up in the note.
    :ivar sentences: those that have an embedding, and in `nearness` how near each is.
    :ivar near: how near the nearest of them is.
    :ivar properties: what the front matter says, a unit each.
    :ivar place: the folders and tags of the note.
    """

    names: str
    content: str
    rank: int
    skipped: int = 0
    sentences: Sequence[SentenceUnit] = ()
    nearness: Sequence[float] = ()
    near: float = 0.0
    properties: Sequence[QuotableUnit] = ()
    place: str = ""

    @property
    def stated(self) -> str:
        """What the front matter says, with the words that it is asked for by, and its place."""
        return "\n".join([self.place, *map(_said, self.properties)])

    @cached_property
    def units(self) -> list[QuotableUnit]:
        """What of it can be read out."""
        own = [unit for unit in quotable_units(self.content) if unit.first >= self.skipped]
        return [*own, *self.properties]


def evidence(question: Question, passage: Passage) -> Iterator[tuple[QuotableUnit, Evidence]]:
    """Yield the units of a passage, each with what speaks for it."""
    names, everything = question.held(passage.names), question.held(passage.content)
    weights, asked_weight = question.weights, sum(question.weights[term] for term in question.told)
    # What is known of a note by its front matter says nothing of what its text answers.
    above_it = names | everything
    about = names | question.held(passage.stated) if passage.properties else names
    text = normalize(f"{passage.names}\n{passage.content}")
    stated = f"{text}\n{normalize(passage.stated)}" if passage.properties else text
    units = passage.units
    held = [question.held(_said(unit)) for unit in units]
    for at, (unit, own) in enumerate(zip(units, held, strict=True)):
        is_stated = unit.stated is not None
        if unit.stated and not _is_asked(question, unit.stated, names, about):
            continue
        above = about if is_stated else names | question.held(unit.under)
        within = above_it | about if is_stated else above_it
        untold = sum(weights[term] for term in question.told - own.keys() - above.keys())
        lacked = [name not in (stated if is_stated else text) for name in question.named]
        before, after = (_next_to(units, held, at, step) for step in (-1, 1))
        is_many = unit.kind in (Kind.LIST, Kind.TABLE)
        beyond = "" if is_stated else question.beyond(unit.text)
        yield (
            unit,
            Evidence(
                near=_nearness(unit, passage),
                passage_near=passage.near,
                words=sum(own.values()),
                context_words=_besides(above, own),
                before_words=_besides(before, own | above),
                after_words=_besides(after, own),
                absent=sum(weight for term, weight in weights.items() if term not in within),
                absent_names=sum(lacked) / len(lacked) if lacked else 0.0,
                untold=untold / asked_weight if asked_weight else 0.0,
                fits=1.0 if is_stated else fits(question.asked, unit.text, beyond),
                counts=counts(question.counted, unit.text),
                defines=float(is_stated or defines(question.text, unit)),
                steps=float(question.asked == Asked.HOW_TO and unit.kind in (Kind.LIST, Kind.CODE)),
                several=float(is_many and question.asked in (Asked.WHICH, Asked.OTHER)),
                many=float(is_many),
                part=float(unit.kind in (Kind.ITEM, Kind.ROW)),
                asks=float(bool(_ASKS.search(unit.text))),
                rank=math.log(passage.rank),
                length=math.log(max(len(unit.text), 10) / 80),
            ),
        )


def _besides(held: Mapping[str, float], besides: Mapping[str, float]) -> float:
    """Return what terms weigh that are not known already."""
    return sum(weight for term, weight in held.items() if term not in besides)


def _next_to(
    units: Sequence[QuotableUnit], held: Sequence[dict[str, float]], at: int, step: int
) -> dict[str, float]:
    """Return what the sentence before a unit holds, or the one behind it: of `step` -1 or 1."""
    unit, other = units[at], at + step
    if unit.stated:
        return {}
    while 0 <= other < len(units):
        beside = units[other]
        is_within = beside.text in unit.text or unit.text in beside.text
        if beside.kind == Kind.SENTENCE and not is_within:
            lines = beside.first - unit.last if step > 0 else unit.first - beside.last
            return held[other] if lines <= 1 else {}
        other += step
    return {}


def _said(unit: QuotableUnit) -> str:
    """Return the text of a unit; of a property with the words that it is asked for by."""
    return asking(unit.stated.name, unit.stated.value) if unit.stated else unit.text


def _is_asked(
    question: Question, stated: Property, names: Mapping[str, float], about: Mapping[str, float]
) -> bool:
    """Return whether a question asks for a property of a note that it names, or for notes by what
    a property says ("who owns Lantern", "who is the plumber"), by the words of the question that
    the note's names hold, and those that all its front matter holds."""
    if sum(question.weights[term] for term in about) < _COVERED:
        return False
    if stated.value in _BOOLEANS and question.asked != Asked.YES_NO:
        return False
    words = asked_by(stated.name)
    if names and question.says(words, names):
        return True
    if _ASKING.get(question.asked) in words.split() and not question.weights.keys() - names.keys():
        return True
    is_chosen_by = question.asked in _ASK_WHICH or (names and question.asked == Asked.YES_NO)
    chosen = question.held(stated.value).keys() - names.keys() - question.told
    return bool(is_chosen_by and chosen and any(map(question.repeats, stated.value.split(", "))))


def _nearness(unit: QuotableUnit, passage: Passage) -> float:
    """Return how near the nearest sentence of a unit is; of its passage where it has none."""
    if not passage.nearness:
        return 0.0
    if unit.stated:
        return passage.near
    begins = [sentence.line for sentence in passage.sentences]
    start = max(0, bisect_left(begins, unit.first + 1) - 1)
    start = bisect_left(begins, begins[start]) if begins else 0
    own = range(start, bisect_right(begins, unit.last))
    text = _SPACE.sub("", unit.text)
    exact = [
        at
        for at in own
        if (part := _SPACE.sub("", passage.sentences[at].text)) in text or text in part
    ]
    return max((passage.nearness[at] for at in exact or own), default=passage.near)


@dataclass(frozen=True)
class AnswerWeights:
    """What evidence counts for, by the field of `Evidence`: `units` for one unit against others,
    `sure` for the best unit being right, with its `score` by `units`, and its `share` of all of
    them. That adds to the `bias`; an answer must be as sure as the `threshold` to be shown."""

    units: Mapping[str, float]
    sure: Mapping[str, float]
    bias: float
    threshold: float

    def score(self, evidence: Evidence) -> float:
        """Return how much speaks for a unit, against others of the same question."""
        return math.fsum(weight * getattr(evidence, name) for name, weight in self.units.items())

    def probability(self, evidence: Evidence, others: Sequence[float] = ()) -> float:
        """Return how sure it is that a unit is right that is the best of a question, in (0, 1).

        :param others: what all units of the question score.
        """
        score = self.score(evidence)
        values = evidence._asdict() | {"score": score}
        if "share" in self.sure:
            values["share"] = 1.0 / sum(math.exp(other - score) for other in others)
        total = self.bias + sum(weight * values[name] for name, weight in self.sure.items())
        return 1.0 / (1.0 + math.exp(-total))


# Fitted: the last by `training/fit_answers.py`, for the reader that is shipped.
_FITTED = json.loads(Path(__file__).with_name("weights.json").read_text("utf-8"))
WORDS_ALONE, WITH_MEANING, WITH_READER = (
    AnswerWeights(**_FITTED[name]) for name in ("words_alone", "with_meaning", "with_reader")
)

_LEAST = 3.5  # what may speak less for a further quotation than for the first
_SAME = 0.6  # of two units, the share of their terms that says that one adds nothing
_ALSO = 2  # other notes that are named for saying the same
_ROUNDING = 1e-9
_CLEAR = 8.0  # log odds of a reader beyond which all is the same
_SURE = 0.0  # log odds of a span that is marked, without what stands around it
_AROUND = " \n,;:、。，"
_NUMERAL = re.compile(r"\d+")


class Choice(NamedTuple):
    """A unit that is quoted: `passage` is the place of its passage among those it was chosen of,
    `answer` what of its text answers, where a reader says so."""

    unit: QuotableUnit
    passage: int
    evidence: Evidence
    score: float
    answer: str = ""


def choose(
    question: Question, passages: Sequence[Passage], most: int, read: Read | None = None
) -> tuple[list[list[Choice]], float]:
    """Return the units that answer a question, each before those of other notes that say the same,
    and how sure it is that the first does; none when that is not sure enough. Further units say
    something else, in the order of the notes and lines.

    :param most: how many units, but for notes that state the same property.
    :param read: reads the best of them, where their meaning is known.
    """
    ranked, weights = ranked_units(question, passages), weights_for(passages)
    if not ranked:
        return [], 0.0
    if (
        read
        and weights is WITH_MEANING
        and (reread := read_again(question, ranked, passages, read))
    ):
        ranked, weights = reread, WITH_READER
    best, stated = ranked[0], ranked[0].unit.stated
    # A property has no embedding: its words alone tell how sure it is.
    weights = WORDS_ALONE if stated else weights
    confidence = weights.probability(best.evidence, [choice.score for choice in ranked])
    if confidence < weights.threshold:
        return [], confidence
    chosen, least = [best], _held(best) - _ROUNDING
    if stated:  # of "which books are by Meadows" each note that states it is an answer
        alike = (c for c in ranked[1:] if c.unit.stated and _held(c) >= least)
        chosen += [c for c in alike if c.unit.stated and c.unit.stated.name == stated.name]
    # "Pump 3" is asked for: what is said of pump 7 adds nothing.
    asked = {*_NUMERAL.findall(question.text)} & _numerals(best)
    for choice in ranked[1:]:
        if len(chosen) >= most or choice.score < best.score - _LEAST:
            break
        if stated and not choice.unit.stated:
            continue  # what the front matter states needs no sentence beside it
        if (numerals := _numerals(choice)) and not asked <= numerals:
            continue
        if not any(
            _overlap(choice, other) or _likeness(choice, other, min) >= _SAME for other in chosen
        ):
            chosen.append(choice)
    chosen[1:] = sorted(
        chosen[1:], key=lambda c: (passages[c.passage].rank, c.passage, c.unit.first)
    )
    return [[choice, *_also(choice, ranked, passages)] for choice in chosen], confidence


def _numerals(choice: Choice) -> set[str]:
    return {*_NUMERAL.findall(choice.unit.text)}


def _held(choice: Choice) -> float:
    return choice.evidence.words + choice.evidence.context_words


def _also(
    choice: Choice, ranked: Sequence[Choice], passages: Sequence[Passage]
) -> Iterator[Choice]:
    """Yield units of other notes that state the same fact, one of each note."""
    notes = {passages[choice.passage].rank}
    for other in ranked:
        if len(notes) > _ALSO or other.score < choice.score - _LEAST:
            return
        rank = passages[other.passage].rank
        if rank not in notes and _likeness(choice, other, max) >= _SAME:
            notes.add(rank)
            yield other


def ranked_units(question: Question, passages: Sequence[Passage]) -> list[Choice]:
    """Return all units of passages, those first for which most speaks."""
    weights = weights_for(passages)
    choices = [
        Choice(unit, at, held, weights.score(held))
        for at, passage in enumerate(passages)
        for unit, held in evidence(question, passage)
    ]
    return sorted(choices, key=lambda choice: -choice.score)


def read_again(
    question: Question, ranked: Sequence[Choice], passages: Sequence[Passage], read: Read
) -> list[Choice]:
    """Return units, those first for which most speaks when the best are read; none when there is
    nobody to read."""
    readings = read_units(
        question.text,
        [(choice.passage, choice.unit) for choice in ranked],
        [" · ".join(passage.names.split("\n")[:2]) for passage in passages],
        [passage.units for passage in passages],
        read,
    )
    choices = []
    for choice in ranked if readings else ():
        reading = readings.get((choice.passage, choice.unit), UNREAD)
        clear = choice.evidence._replace(
            span=max(-_CLEAR, min(reading.span, _CLEAR)),
            answered=max(-_CLEAR, min(reading.answered, _CLEAR)),
        )
        answer = reading.text.strip(_AROUND) if reading.span > _SURE else ""
        choices.append(
            choice._replace(evidence=clear, score=WITH_READER.score(clear), answer=answer)
        )
    return sorted(choices, key=lambda choice: -choice.score)


def weights_for(passages: Sequence[Passage]) -> AnswerWeights:
    """Return what evidence counts for, with or without meaning."""
    return WITH_MEANING if any(passage.nearness for passage in passages) else WORDS_ALONE


def _overlap(this: Choice, other: Choice) -> bool:
    """Return whether two units share a line and one of them lies within the other."""
    if this.passage != other.passage:
        return False
    if this.unit.last < other.unit.first or other.unit.last < this.unit.first:
        return False
    texts = sorted((this.unit.text, other.unit.text), key=len)
    return this.unit.first != this.unit.last or texts[0] in texts[1]


def _likeness(this: Choice, other: Choice, size: Callable[[int, int], int]) -> float:
    """Return the share of their terms, by the `size` of either, that two units have in common; none
    where figures differ, nor of properties, which say it of another note."""
    figures = [_numerals(choice) for choice in (this, other)]
    if this.unit.stated or other.unit.stated or figures[0] != figures[1]:
        return 0.0
    first, second = set(terms(this.unit.text)), set(terms(other.unit.text))
    return len(first & second) / max(size(len(first), len(second)), 1)
