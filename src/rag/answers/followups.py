"""Follow-up questions, made to stand by themselves: "and how often?" after a question of backups.

A model rewrites them from what was said before. What it gives back is searched for and asked, so
it is believed only as far as it is made of the words of the conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from rag.answers.evidence import claims, share
from rag.answers.language import is_japanese
from rag.answers.planted import is_planted
from rag.text.lexical import content_words

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"question": {"type": "string"}},
    "required": ["question"],
}
_TURNS = 3  # of the conversation that a model is told
_ANSWER_LENGTH = 600  # characters of each answer
_MAX_LENGTH = 400
_MIN_KNOWN = 0.6
_FEW = 2  # terms; a question of fewer leans on the one before
_CONDITION = re.compile(r"(?<!\S)-?(?:tag|vault|path|title)[:：]\S+|(?<!\S)-\w\S*", re.IGNORECASE)
# What stands for something that was named before.
_REFERS = re.compile(
    r"\b(?:it|its|they|them|their|theirs|this|that|these|those|he|she|him|her|there|then|one|ones"
    r"|same|else|more|instead)\b|^(?:and|but|or|so|what about|how about|why|when|where|who)\b\W*$"
    r"|^(?:and|but|or|so|what about|how about)\b"
    r"|それ|これ|あれ|その|この|あの|そこ|ここ|では|じゃあ|ほか|他に|もっと|同じ",
    re.IGNORECASE,
)
_NAMES = re.compile("[\u30a1-\u30fa\u30fc]{2,}|[\u3400-\u4dbf\u4e00-\u9fff\u3005]{2,}")
_RULES = {
    "en": "You rewrite the last question of a conversation so that it can be understood without "
    "the rest: put names in the place of words that stand for them. Keep its language, and words "
    "such as tag:x or -x, as they are. Do not answer it. A question that needs nothing stays as "
    'it is. Write JSON: {"question": "…"}',
    "ja": "会話の最後の質問を、それだけで意味が通じるように書き直してください。「それ」などの言葉は"
    "指しているものの名前に置き換えます。言語と tag:x や -x のような語はそのままにします。"
    "質問に答えてはいけません。書き直す必要がなければそのまま返します。"
    'JSON で書いてください: {"question": "…"}',
}


class Exchange(NamedTuple):
    """A question, as it was understood, and its answer."""

    question: str
    answer: str


def rewriting_messages(question: str, history: Sequence[Exchange]) -> list[dict[str, str]]:
    """Return what a model is asked with, to make `question` stand by itself."""
    said = "\n".join(
        f"Q: {turn.question}\nA: {turn.answer[:_ANSWER_LENGTH]}\n" for turn in history[-_TURNS:]
    )
    rules = _RULES["ja" if is_japanese(question) else "en"]
    return [
        {"role": "system", "content": rules},
        {"role": "user", "content": f"{said}\nLast question: {question}"},
    ]


def accepted(reply: str, question: str, history: Sequence[Exchange]) -> str:
    """Return the question that a model's reply holds; empty when it cannot be believed.

    It is one short line, of words of the conversation, with most of the question's own and all
    of its conditions, and instructs nobody.
    """
    try:
        rewritten = json.loads(reply)["question"].strip()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
    if not rewritten.isprintable() or len(rewritten) > max(_MAX_LENGTH, 2 * len(question)):
        return ""
    said = " ".join([question, *(f"{t.question} {t.answer}" for t in history[-_TURNS:])])
    terms = claims(rewritten)
    if not terms or share(terms, claims(said)) < _MIN_KNOWN or is_planted(rewritten):
        return ""
    own = claims(question)
    if len(own) >= _FEW and share(own, terms) < _MIN_KNOWN:
        return ""
    kept = all(condition[0] in rewritten for condition in _CONDITION.finditer(question))
    new = _CONDITION.search(rewritten) and not _CONDITION.search(question)
    return rewritten if kept and not new else ""


def expanded(question: str, history: Sequence[Exchange]) -> str:
    """Make a question stand by itself without a model: where it refers to what was said, or says
    little, the words of the question before follow it."""
    if not history or not (_REFERS.search(question) or len(claims(question)) < _FEW):
        return question
    before = re.sub(r"\s\([^()]*\)$", "", history[-1].question)
    words = [*content_words(before), *_NAMES.findall(before)]
    new = [word for word in dict.fromkeys(words) if word.lower() not in question.lower()]
    return f"{question} ({' '.join(new)})" if new else question
