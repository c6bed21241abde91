"""What speaks for a part of a note as the answer to a question."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from rag.answers.quotation.question import Asked, Question, defines
from rag.answers.quotation.units import Kind, QuotableUnit, quotable_units
from rag.support.month_names import DAY_OF, MONTH
from rag.text.property_words import asked_by, asking
from rag.text.tokenizer import normalize, stem
from rag.vault.properties import Property
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
_HELD = {
    Asked.WHO: _PERSON,
    Asked.WHEN: _DATE,
    Asked.HOW_MANY: _FIGURE,
    Asked.HOW_MUCH: _FIGURE,
    Asked.PRICE: _PRICE,
    Asked.WHERE: _PLACE,
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


class Evidence(NamedTuple):
    """What speaks for a unit, or against it.

    `near` and `passage_near` tell how near its nearest sentence and its passage are in meaning,
    in standard deviations above the mean of a sample of the index. `words` is the share of what
    the words of the question weigh that the unit holds, `context_words` what the title, the
    headings and the introduction above it hold besides. `absent` is the share of the words that its
    passage does not hold. `untold` is the share of the words that tell what is asked of the
    subject, such as its price, that neither the unit nor what stands above it holds. `fits` tells
    whether it holds what is asked for, and `counts` a number of what is counted, from -1 to 1;
    `defines` that it defines the subject, or is the property that is asked for; `steps` that it is
    a list or code and the question asks how; `several` that it is a list or table and the question
    may ask for one, `many` that it is one at all. `rank` is the logarithm of its note's rank,
    `length` that of its size in typical sentences.
    """

    near: float
    passage_near: float
    words: float
    context_words: float
    absent: float
    untold: float
    fits: float
    counts: float
    defines: float
    steps: float
    several: float
    many: float
    rank: float
    length: float


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
    weights, told = question.weights, sum(question.weights[term] for term in question.told)
    # What is known of a note by its front matter says nothing of what its text answers.
    known = names | everything
    about = names | question.held(passage.stated) if passage.properties else names
    for unit in passage.units:
        is_stated = unit.stated is not None
        if unit.stated and not _is_asked(question, unit.stated, names, about):
            continue
        own = question.held(_said(unit))
        above = about if is_stated else names | question.held(unit.under)
        within = known | about if is_stated else known
        untold = sum(weights[term] for term in question.told - own.keys() - above.keys())
        is_many = unit.kind in (Kind.LIST, Kind.TABLE)
        beyond = "" if is_stated else question.beyond(unit.text)
        yield (
            unit,
            Evidence(
                near=_nearness(unit, passage),
                passage_near=passage.near,
                words=sum(own.values()),
                context_words=sum(count for term, count in above.items() if term not in own),
                absent=sum(weight for term, weight in weights.items() if term not in within),
                untold=untold / told if told else 0.0,
                fits=1.0 if is_stated else fits(question.asked, unit.text, beyond),
                counts=counts(question.counted, unit.text),
                defines=float(is_stated or defines(question.text, unit)),
                steps=float(question.asked == Asked.HOW_TO and unit.kind in (Kind.LIST, Kind.CODE)),
                several=float(is_many and question.asked in (Asked.WHICH, Asked.OTHER)),
                many=float(is_many),
                rank=math.log(passage.rank),
                length=math.log(max(len(unit.text), 10) / 80),
            ),
        )


def _said(unit: QuotableUnit) -> str:
    """Return the text of a unit; of a property with the words that it is asked for by."""
    return asking(unit.stated.name, unit.stated.value) if unit.stated else unit.text


def _is_asked(
    question: Question, stated: Property, names: Mapping[str, float], about: Mapping[str, float]
) -> bool:
    """Return whether a question asks for a property of a note that it names, or for notes by what
    a property says: "who owns Lantern", "who is the plumber".

    :param names: the words of the question that the note's names hold; `about` are those that all
        its front matter holds, too.
    """
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
        if (said := _SPACE.sub("", passage.sentences[at].text)) in text or text in said
    ]
    return max((passage.nearness[at] for at in exact or own), default=passage.near)
