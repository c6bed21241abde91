"""A question, and what of it a text holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

from rag.answers.opposites import NEGATION
from rag.answers.quotation.irregular_forms import other_forms
from rag.answers.quotation.question_kinds import Asked, counted_in, kind_of, told_of
from rag.text.matches import STEMMED, find_matches, weigh_terms
from rag.text.normalize import normalize
from rag.text.scripts import HAN, HIRAGANA, KATAKANA
from rag.text.tokenizer import stem

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
# German words that only ask; some are English words of another meaning.
_GERMAN = re.compile(
    r"^(?:wer|wem|wen|wessen|wann|wo|wie|welche[rsnm]?|was (?:ist|sind|war|hat|kostet))\b"
)
_GERMAN_ASKING = re.compile(
    r"\b(?:wer|wem|wen|wessen|wann|wo|wie|viele|wieviele|gibt|es|welche[rsnm]?|was|ist|sind|war|hat|haben|der|die|das|den"
    r"|dem|des|von|vom|für|fur|in|im|am|an|zu|zum|zur|und|ich|wir|mein|meine|unser|unsere|eine?)\b"
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
_NOT = re.compile(NEGATION)
_NUMBERS = (Asked.HOW_MANY, Asked.HOW_MUCH, Asked.PRICE)
# What a unit says beyond the question: words, figures, and characters of one script in a row.
_SAID = re.compile(rf"[A-Za-z][A-Za-z'’-]*|\d[\d,.]*\d|\d|[{HAN}々]+|[{KATAKANA}ー]+")


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
    def counted(self) -> tuple[str, ...]:
        """What it asks the number of."""
        return counted_in(self.text) if self.asked in _NUMBERS else ()

    @cached_property
    def subject(self) -> str:
        """It without the words that only ask."""
        text = normalize(self.text)
        if _GERMAN.match(text):
            text = _GERMAN_ASKING.sub(" ", text)
        return _ASKING.sub(" ", text).strip() or self.text

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
            if weight := self.weights.get(match.term):
                found[match.term] = max(weight * match.form, found.get(match.term, 0.0))
        return found

    def says(self, words: str, but: Collection[str]) -> bool:
        """Return whether it has one of some words, be it one that weighs nothing.

        :param but: terms that do not count.
        """
        stems = {stem(word) for word in _ASCII.findall(words)} & self._stems
        return bool((stems | self.held(words).keys()) - {*but})

    def beyond(self, text: str) -> str:
        """Return a text without the words and figures that are the question's too."""
        return _SAID.sub(lambda said: " " if self._says(said[0]) else said[0], text)

    def repeats(self, text: str) -> bool:
        """Return whether it says half of a text, or more, and neither denies what the other says:
        "active" is not repeated by "which are not active"."""
        if bool(_NOT.search(self._normal)) != bool(_NOT.search(normalize(text))):
            return False
        return 2 * sum(map(len, _SAID.findall(self.beyond(text)))) <= sum(
            map(len, _SAID.findall(text))
        )

    @cached_property
    def _normal(self) -> str:
        return normalize(self.text)

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(map(stem, _ASCII.findall(self._normal)))

    def _says(self, said: str) -> bool:
        normal = normalize(said)
        return normal in self._normal or (normal.isascii() and stem(normal) in self._stems)


def _share_of(term: str) -> float:
    """Return how far a term of a query counts as evidence."""
    if not _UNSPACED.match(term):
        return 1.0
    if len(term) > _LONGEST_GRAM:  # its parts are terms too
        return 0.0
    if len(term) == 1:
        return _LONE
    return _KANA_GRAM if _KANA.search(term) else 1.0
