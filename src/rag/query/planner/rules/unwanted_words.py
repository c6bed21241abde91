"""Words of the topic that are not wanted: "wallets but not bitcoin", ビットコイン以外.

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
    rf"(?:(?:about|on|for|the|mentioning) ++)*+(?!(?:{_OTHER})(?![\w'-]))"
    rf"(?P<words>{_WORD}(?: ++(?!(?:{_OTHER}|and|or|but|not)(?![\w'-])){_WORD})??){_ENDS}"
)
_JAPANESE = re.compile(
    "(?P<words>[ァ-ヺー\u3005\u3400-\u9fffa-z0-9]{2,20})(?:以外|を(?:除|のぞ)(?:く|いて|いた))"
    f"(?:の(?:{JA_NOTE})?)?(?=[。、 ]*(?:$|{TAKEN}))"
)


def read_unwanted(normalized: NormalizedQuery) -> list[str]:
    """Take out what the query does not want, and return it in the query syntax."""
    found = []
    for pattern in (_ENGLISH, _JAPANESE):
        for match in [*pattern.finditer(normalized.open)]:
            words = normalized.words(*match.span("words"))
            found.append(f'-"{words}"' if " " in words else f"-{words}")
            normalized.drop(*match.span())
    return found


def without_unwanted(query: str) -> str:
    """Return a query in which nothing filters, what it does not want in the query syntax."""
    normalized = NormalizedQuery(query)
    unwanted = read_unwanted(normalized)
    ends = [0, *(end for span in sorted(normalized.dropped) for end in span), len(normalized.plain)]
    pieces = [normalized.words(*span) for span in zip(ends[::2], ends[1::2], strict=True)]
    rest = " ".join(filter(None, [*pieces, normalized.rest]))
    return " ".join([rest, *unwanted]) if unwanted and has_words(rest) else query
