"""Words of the topic that are not wanted: "wallets but not bitcoin", 財布（ビットコイン以外）,
ビットコイン以外の財布.

They become what the query syntax has for them, `-bitcoin`, so that they are not searched for. One
word or two at the end, or before a filter; more are a remark, and stay as they are.
"""

from __future__ import annotations

import re

from rag.query.planner.rules.normalized_query import TAKEN, NormalizedQuery
from rag.query.planner.rules.shared_patterns import JA_NOTE
from rag.text.tokenizer import has_words

_WORD = r"[^\W_][\w'+.#-]*(?<![.'])"
# What follows "but not" and is no topic: "but not yet", "but not in March", "but not only that".
_OTHER = (
    "those|these|this|that|ones?|them|it|anything|everything|all|any|every|each|much|many|more"
    "|only|just|even|yet|now|always|never|very|too|so|quite|really|sure|enough|if|when|where|how"
    "|why|what|because|in|at|from|to|by|with|since|until|before|after|during|under|over|as|like"
    "|is|are|was|were|be|been|tagged|i|we|you|they|he|she"
)
_ENDS = (
    rf"(?= *+[.?!]*+ *+$| *+,? *+(?:(?:from|in|since|before|after|until|with|of|at) ++)?{TAKEN})"
)
# Possessive, so that a query of many spaces takes no longer than another.
_ENGLISH = re.compile(
    r"(?:(?<! ) ++|(?<![\w ])|(?=,))(?:,? *+but ++not|, *+not"
    r"|,? *+(?:but ++)?(?:except(?: ++for)?|excluding|other ++than)) ++"
    rf"(?>(?:(?:about|on|for|the|mentioning) ++)*)(?!(?:{_OTHER})(?![\w'-]))"
    rf"(?P<words>{_WORD}(?: ++(?!(?:{_OTHER}|and|or|but|not)(?![\w'-])){_WORD})??){_ENDS}"
)
_JAPANESE = re.compile(
    "[(（]?(?P<words>[ァ-ヺー\u3005\u3400-\u9fffa-z0-9]{2,20})(?:以外|を(?:除|のぞ)(?:く|いて|いた))"
    f"(?:の(?:{JA_NOTE})?)?[)）]?(?=[。、 ]*(?:$|{TAKEN}))"
)
# The exclusion before its topic: モバイル以外の同期. It stands at the start, or after a filter.
# Words for people and times, and topics that only say what kind of thing is meant, do not exclude:
# 自分以外の予定, 英語以外の言語.
_ANYBODY = (
    "自分|本人|他人|家族|関係者|担当者|全員|人間|上記|下記|前述"
    "|今日|昨日|明日|平日|休日|土日|週末|祝日|必要"
)
_ANYTHING = (
    "人|方|者|物|国|州|県|色|事|件|点|日|時間|時期|期間|場所|言語|方法|手段|理由|原因|目的|用途"
    "|場合|部分|選択肢|可能性|種類|項目|ファイル|ケース|パターン|オプション"
)
_JAPANESE_FIRST = re.compile(
    rf"(?:^|(?<=[。、 {TAKEN}]))(?!(?:{_ANYBODY})(?:以外|を))"
    "(?P<words>[ァ-ヺー\u3005\u3400-\u9fffa-z0-9]{2,20})(?:以外の|を(?:除|のぞ)(?:く|いた))、?"
    f"(?!(?:{JA_NOTE}|{_ANYTHING})(?![ァ-ヺー\u3005\u3400-\u9fffa-z0-9]))"
    "(?=[ァ-ヺー\u3005\u3400-\u9fffa-z0-9]{2})"
)


def read_unwanted(normalized: NormalizedQuery) -> list[str]:
    """Take out what the query does not want, and return it in the query syntax."""
    found = []
    for pattern in (_ENGLISH, _JAPANESE, _JAPANESE_FIRST):
        for match in [*pattern.finditer(normalized.open)]:
            words = normalized.words(*match.span("words"))
            found.append(f'-"{words}"' if " " in words else f"-{words}")
            normalized.drop(*match.span())
    return found


def without_unwanted(query: str) -> str:
    """Return a query in which nothing filters, what it does not want in the query syntax."""
    rest, unwanted = _split(query)
    return " ".join([rest, *unwanted]) if unwanted and has_words(rest) else query


def wanted_words(query: str) -> str:
    """Return a query without the words that it does not want."""
    return _split(query)[0]


def _split(query: str) -> tuple[str, list[str]]:
    """Return the words that a query wants, and in the query syntax those that it does not."""
    normalized = NormalizedQuery(query)
    unwanted = read_unwanted(normalized)
    ends = [0, *(end for span in sorted(normalized.dropped) for end in span), len(normalized.plain)]
    pieces = [normalized.words(*span) for span in zip(ends[::2], ends[1::2], strict=True)]
    return " ".join(filter(None, [*pieces, normalized.rest])), unwanted
