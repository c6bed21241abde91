"""Follow-up questions, made to stand by themselves: "and how often?" after a question of backups.

A model rewrites them from what was said before. What it gives back is searched for and asked, so
it is believed only as far as it is made of the words of the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rag.answers.evidence import claims, share
from rag.answers.prompt_injection import is_injection
from rag.text.bm25 import content_words

_TURNS = 3  # of the conversation that words may come from
_MAX_LENGTH = 400
_MIN_KNOWN = 0.6
_FEW = 2  # terms; a question of fewer leans on the one before, unless it is whole
_CONDITION = re.compile(r"(?<!\S)-?(?:tag|vault|path|title)[:：]\S+|(?<!\S)-\w\S*", re.IGNORECASE)
# What stands for something that was named before.
_REFERS = re.compile(
    r"\b(?:it|its|they|them|their|theirs|this|that|these|those|he|she|him|her|there|then|one|ones"
    r"|same|else|more|instead)\b|^(?:and|but|or|so|what about|how about|why|when|where|who)\b\W*$"
    r"|^(?:and|but|or|so|what about|how about)\b"
    r"|それ|これ|あれ|その|この|あの|そこ|ここ|では|じゃあ|ほか|他に|もっと|同じ",
    re.IGNORECASE,
)
# Says by itself what it is about, in however few words: "what is a vault?", where one can get a
# refund. "The limit" is that of something.
_WHOLE = re.compile(
    r"(?:what|who)(?:'s| is| are)\s+an?\s+\w|(?:where|when)\s+(?:can|do|does|should)\s+\w+\s+.*\w"
    r"|.+(?:とは|って何)",
    re.IGNORECASE,
)
# Asks nothing.
_ACKNOWLEDGES = re.compile(
    r"(?:(?:ok(?:ay)?|thanks?(?: (?:you|a lot|so much|very much))?|thx|cheers|great|good|nice|cool"
    r"|perfect|got it|i see|alright|all right|bye|goodbye)[\s,.!]*)+"
    r"|(?:(?:どうも|本当に)?ありがとう(?:ございま(?:す|した))?|了解(?:です|しました)?|わかりました|なるほど|はい)"
    r"[、。！!\s]*",
    re.IGNORECASE,
)
# They name nothing by themselves: "who else?", "how many more?", "and the one before?"
_VAGUE = {
    *("one", "ones", "before", "after", "else", "same", "other", "others", "many", "much", "often"),
    *("long", "time", "times", "next", "last", "first", "later", "earlier", "instead", "exactly"),
}
_NAMES = re.compile("[\u30a1-\u30fa\u30fc]{2,}|[\u3400-\u4dbf\u4e00-\u9fff\u3005]{2,}")


class Exchange(NamedTuple):
    """A question, as it was understood, and its answer."""

    question: str
    answer: str


def is_accepted(rewritten: str, question: str, history: Sequence[Exchange]) -> bool:
    """Return whether a question that a model rewrote can be believed.

    It is one short line, of words of the conversation, with most of the question's own and all
    of its conditions, and instructs nobody.
    """
    if not rewritten.isprintable() or len(rewritten) > max(_MAX_LENGTH, 2 * len(question)):
        return False
    said = " ".join([question, *(f"{t.question} {t.answer}" for t in history[-_TURNS:])])
    terms = claims(rewritten)
    if not terms or share(terms, claims(said)) < _MIN_KNOWN or is_injection(rewritten):
        return False
    own = claims(question)
    if len(own) >= _FEW and share(own, terms) < _MIN_KNOWN:
        return False
    kept = all(condition[0] in rewritten for condition in _CONDITION.finditer(question))
    new = bool(_CONDITION.search(rewritten)) and not _CONDITION.search(question)
    return kept and not new


def expanded(question: str, history: Sequence[Exchange]) -> str:
    """Make a question stand by itself without a model: where it refers to what was said, or says
    little, the words of the question before follow it. What asks nothing ("thanks", 👍) stays."""
    if _asks_nothing(question):
        return question
    spoken, history = question.strip(), [one for one in history if not _asks_nothing(one.question)]
    terms = len(claims(question))
    leans = terms < (1 if _WHOLE.match(spoken) else _FEW)
    if not history or not (_REFERS.search(question) or leans):
        return question
    words = _subject(history[-1].question)
    new = [word for word in dict.fromkeys(words) if word.lower() not in question.lower()]
    return f"{question} ({' '.join(new)})" if new else question


def _asks_nothing(said: str) -> bool:
    spoken = said.strip()
    return bool(_ACKNOWLEDGES.fullmatch(spoken)) or not re.search(r"[\w?？]", spoken)


def _subject(question: str) -> list[str]:
    """Return the words of a question that name what it is about: its own, or, where these name
    nothing, those of the question before it, which follow in brackets."""
    own, _, before = question.partition(" (") if question.endswith(")") else (question, "", "")
    words = [*content_words(own), *_NAMES.findall(own)]
    if before and _VAGUE.issuperset(words):
        words = [*content_words(before), *_NAMES.findall(before)]
    return words
