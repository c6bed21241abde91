"""What is left of a query to rank by, when the words that filter are taken away.

Words that only lead to them go with them: "show me all my notes about", ノートを探して. The rest
stays as it was typed and in its order.
"""

from __future__ import annotations

import re
from itertools import pairwise

from rag.query.planner.rules.normalized_query import NormalizedQuery
from rag.query.planner.rules.shared_patterns import (
    JA_NOTE,
    JA_WHAT_HAPPENED,
    NOTE,
    WHAT_HAPPENED,
)

_NOTE = f"{NOTE}|pages?|files?|documents?|docs?|everything|anything|things?|stuff"
_JA_NOTE = f"{JA_NOTE}|もの"
_VERB = "wrote|written|write|created|made|added|have|has|had|saved|took"
_MENTION = (
    "(?:that|which|who)? *(?:mention(?:s|ed|ing)?|discuss(?:es|ed|ing)?|cover(?:s|ed|ing)?"
    "|contain(?:s|ing)?|talk(?:s|ed|ing)? about|refer(?:s|red|ring)? to|deal(?:s|ing)? with"
    "|related to|concerning|regarding|about|on)"
)
_ASK = (
    "show|find|list|give|get|search|look|display|fetch|see|open|bring|pull|please|can|could|you"
    "|me|us|up|for|want|need|to|i|i'm|am|looking|searching|gimme|plz|pls|thx|thanks|hi|hey"
    "|how many|summari[sz]e|(?:a |the )?(?:summary|list|overview) of"
)
_LINK = "in|on|from|of|with|for|at|by|about|to|during|since|and|or|but|as|&|-|–|—"
_DETERMINER = "all|any|every|each|some|the|my|our|a|an|of|these|those"
_RELATIVE = "that|which|who|whose"
_PRONOUN = "i|we|it|is|are|was|were|be|been|there"

_E = "(?![a-z0-9_'])"
_BEGINS = re.compile(
    rf"(?: *what +(?:did|have|do) +(?:i|we) +(?:{_VERB}|note|noted)(?: +down)? +(?:about|on){_E})"
    rf"|(?: *(?:(?:{_ASK}){_E} +)*(?:(?:which|what){_E} +)?(?:(?:{_DETERMINER}){_E} +)*"
    rf"(?:{_NOTE}){_E}(?: *{_MENTION}{_E})?(?: +(?:{_LINK}|{_PRONOUN}|{_VERB}|{_RELATIVE}){_E})*)"
    rf"| *(?:(?:show|find|list|give|get|search|look|display|fetch|open){_E}"
    rf"(?: +(?:me|us|up|for|out){_E})*(?: +(?:{_DETERMINER}){_E})*)"
)
_ALL_FILLERS = re.compile(
    rf"(?: *(?:{_ASK}|{_DETERMINER}|{_NOTE}|{_LINK}|{_PRONOUN}|{_VERB}|{_RELATIVE}|what|where"
    rf"|tagged|do|did|{WHAT_HAPPENED}){_E}|[のとをはがにでもや]|(?:何|なに)を|どんな(?:{_JA_NOTE})を?"
    f"|(?:{JA_WHAT_HAPPENED})"
    "|書き(?:ましたか?|ましたっけ)|書いた(?:か|の|っけ)?| *[,.;:!?、。・])* *"
)
_FOLLOWS = re.compile(
    rf" *(?:(?:{_NOTE}){_E}|{_MENTION}{_E}|(?:{_LINK}){_E}|[,.;:、。・!?]|'s{_E})"
)
_LEADS = re.compile(
    rf"(?:^|(?<=[ \"'」』*]))"
    rf"(?:{_LINK}|{_DETERMINER}|{_PRONOUN}|{_VERB}|{_NOTE}|{_RELATIVE}|tagged)$|[,;:、。・]$"
)
_LAST = re.compile(
    r"(?:^|(?<= ))(?:notes?|entries|memos?|please|plz|pls|thx|thanks)$|[,.;:、。・!?]$"
)
_COMPOUND = re.compile("(?:release|patch) notes?$")

_JA_FOLLOWS = re.compile(
    f"のうち、?|(?:の|で|に)?(?:{_JA_NOTE})(?:で|の(?:中で|うち)?|を|は|が|に(?!ついて|関)|から|、)?|について(?:の)?|に関(?:する|して)(?:の)?"
    "|(?:書いた|書かれた|作った|作成した|作成された|記録した|残した)|(?:全部|全て|すべて)の?|、"
)
_JA_WANT = "(?:ほしい|欲しい|もらえ|いただけ|いただき|頂け|頂き|くれ)"
_JA_POLITE = (
    f"(?:{_JA_WANT}?(?:ください|下さい|ます|ません|ない|たい|でしょう)?(?:です)?(?:か|よね?)?)"
)
_JA_LEADS = re.compile(
    "(?:を|は|が|も)?(?:探し(?:て|たい)|検索し(?:て|たい)|一覧(?:して|表示(?:して)?|に(?:して)?|で)?|リスト(?:にして)?"
    "|見せて|見(?:たい|て)|表示(?:して)?|要約して|教えて|出して|まとめて|列挙して|ちょうだい|お願い(?:します)?|知りたい)"
    f"(?:い(?:ます|る))?{_JA_POLITE}$"
    "|(?:は|が|って|も)?(?:あり(?:ます|ません)(?:でした)?か?|ある(?:の|ん)?(?:です)?か?|ない(?:です)?か|(?:何[件個本冊]|いくつ)(?:ありますか|あるか?|ですか)?)$"
    f"|(?:について(?:の)?|に(?:関する|関して|関連する)(?:の)?|に?まつわる|関連の|の)(?:{_JA_NOTE})$"
    f"|(?<![ァ-ヺー])(?:{_JA_NOTE})$"  # デイリーノート is one word
    "|について(?:の)?$|に関(?:する|して)(?:の)?$|(?:私|僕|自分|俺)(?:が|の)$"
    "|(?:書いた|作った|作成した|書かれた|全部の?|全ての?|すべての?)$"
)
_JA_PARTICLE = re.compile("(?<=[^ ])(?:の|を|は|が|で|に|と|も)$")
_WINDOW = 40  # characters in which one filler fits
_SPACES = re.compile(" +")
_EMPTY = re.compile("[(（] *[)）] ?")


def residual_text(normalized: NormalizedQuery) -> str:
    """Return what is left of a query once what is taken is taken away."""
    gaps = sorted([*normalized.taken, *normalized.dropped])
    text = normalized.open
    pieces: list[tuple[int, int]] = []
    at = 0
    for start, end in [*gaps, (len(text), len(text))]:
        if start > at or start == len(text):
            pieces.append(_peeled(text, at, start))
        at = max(at, end)
    kept = [(start, end) for start, end in pieces if start < end]
    rest = normalized.rest
    if not kept:
        return rest.strip()
    parts = [normalized.original(*kept[0])]
    for (_, end), (start, stop) in pairwise(kept):
        space = _SPACES.search(normalized.plain, end, start)
        parts.append(normalized.original(space.start(), space.start() + 1) if space else "")
        parts.append(normalized.original(start, stop))
    return _EMPTY.sub("", "".join(parts) + rest).strip()


def _peeled(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where a piece begins and ends without the fillers at its ends."""
    if _ALL_FILLERS.fullmatch(text, start, end):
        return start, start
    start = _begin(text, start, end)
    return start, _end(text, start, end)


def _begin(text: str, start: int, end: int) -> int:
    follows = [_FOLLOWS, _JA_FOLLOWS]
    if start == 0:
        if begins := _BEGINS.match(text, 0, end):
            start = begins.end()
        else:
            follows = [_JA_FOLLOWS]
    while start < end:
        if text[start] == " ":
            start += 1
        elif found := next(filter(None, (p.match(text, start, end) for p in follows)), None):
            start = found.end()
        else:
            break
    return start


def _end(text: str, start: int, end: int) -> int:
    last = end == len(text)
    peeled = not last
    while start < end:
        if text[end - 1] == " ":
            end -= 1
            continue
        window = text[max(start, end - _WINDOW) : end]
        if _COMPOUND.search(window):
            break
        found = (_LAST if last else _LEADS).search(window) or _JA_LEADS.search(window)
        if not found and peeled:
            found = _JA_PARTICLE.search(window)
        if not found:
            break
        peeled = True
        end -= len(found[0])
    return end
