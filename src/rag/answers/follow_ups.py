"""Follow-up questions, made to stand by themselves: "and how often?" after a question of backups;
and what is said that asks nothing, or not the whole.

A model rewrites them from what was said before. What it gives back is searched for and asked, so
it is believed only as far as it is made of the words of the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import category

from rag.answers.claims import claims, share
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
# Greets, thanks, acknowledges, or asks who is speaking; one such phrase or several.
_PHRASES = (
    r"ok(?:ay)?|thanks?(?: (?:you|a lot|so much|very much))?|thx|cheers|great|good|nice|cool"
    r"|perfect|got it|i see|alright|all right|bye|goodbye"
    r"|(?:hi|hey|hello)(?: (?:there|all|everyone))?"
    r"|good (?:morning|afternoon|evening|day|night)|how are you(?: doing)?(?: today)?"
    r"|(?:who|what) are you|what can you do|nice to meet you"
    r"|hallo|servus|moin|guten (?:morgen|tag|abend)|danke(?: (?:schön|sehr))?|tschüss"
    r"|bonjour|bonsoir|salut|merci(?: beaucoup)?|hola|(?:muchas )?gracias|ciao|grazie"
    r"|こんにち[はわ]|こんばん[はわ]|おはよう(?:ございます)?|やあ|もしもし|(?:はじ|初)めまして"
    r"|(?:どうも|本当に)?(?:ありがとう|有難う)(?:ございま(?:す|した))?|どうも|感謝します"
    r"|お?元気(?:です)?か|あなたは(?:だれ|誰|何)(?:ですか)?|何ができ(?:る(?:の)?|ますか)"
    r"|よろしく(?:お願いします)?|お疲れ様(?:です|でした)?|さようなら|またね"
    r"|了解(?:です|しました)?|わかりました|なるほど|はい"
)
_SMALL_TALK = re.compile(rf"(?:(?:{_PHRASES})(?:[\s,.!?、。！？~〜]+|$))+", re.IGNORECASE)
# A question word and nothing that is asked about.
_QUESTION_WORD = re.compile(
    r"(?:(?:and|but|so|und|aber|et|y)\s+)?(?:(?:since|until|by|from|for|with|to|about)\s+)?"
    r"(?:why|when|where|who(?:m|se)?|what|which|how(?: (?:come|many|much|often|long|so))?"
    r"|warum|wieso|weshalb|wann|wo|wohin|woher|wer|wen|wem|was|wie|welche[rsnm]?"
    r"|pourquoi|quand|où|qui|quoi|comment|combien"
    r"|por qu[ée]|cu[áa]ndo|d[óo]nde|qui[ée]n(?:es)?|qu[ée]|c[óo]mo|cu[áa]nt[oa]s?)"
    r"(?: (?:not|so|exactly|then|else|for|from))?"
    r"|(?:(?:で|それ)は)?(?:なぜ|何故|どうして|なんで|いつ|どこ|だれ|誰|どなた|何|なに|どれ|どちら|どう|いくら|いくつ)"
    r"(?:で|に|から|まで|が|を|の)?(?:です)?(?:か|なの)?",
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
    spoken = " ".join([question, *(f"{t.question} {t.answer}" for t in history[-_TURNS:])])
    terms = claims(rewritten)
    if not terms or share(terms, claims(spoken)) < _MIN_KNOWN or is_injection(rewritten):
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
    if is_small_talk(question):
        return question
    spoken, history = question.strip(), [t for t in history if not is_small_talk(t.question)]
    terms = len(claims(question))
    leans = terms < (1 if _WHOLE.match(spoken) else _FEW)
    if not history or not (_REFERS.search(question) or leans):
        return question
    words = _subject(history[-1].question)
    new = [word for word in dict.fromkeys(words) if word.lower() not in question.lower()]
    return f"{question} ({' '.join(new)})" if new else question


def is_small_talk(text: str) -> bool:
    """Return whether something said asks nothing of the notes: "hi", 「ありがとう」, 👍."""
    spoken = text.strip()
    is_emoji = any(category(char) == "So" for char in spoken) and not re.search(r"\w", spoken)
    return is_emoji or bool(_SMALL_TALK.fullmatch(spoken))


def lacks_subject(question: str) -> bool:
    """Return whether a question is a question word alone, or a mark: "why?", 「いつ？」, "?"."""
    spoken = question.strip(" \t\n?？!！.。…")
    return not spoken or _QUESTION_WORD.fullmatch(spoken) is not None


def _subject(question: str) -> list[str]:
    """Return the words of a question that name what it is about: its own, or, where these name
    nothing, those of the question before it, which follow in brackets."""
    own, _, before = question.partition(" (") if question.endswith(")") else (question, "", "")
    words = [*content_words(own), *_NAMES.findall(own)]
    if before and _VAGUE.issuperset(words):
        words = [*content_words(before), *_NAMES.findall(before)]
    return words
