"""The text of a query in normal form, what it negates, and what is left of it to search for."""

from __future__ import annotations

import re
from bisect import bisect_left as bisect
from itertools import pairwise
from typing import NamedTuple

from rag.query.planner.words import EXAMINED, JA_NOTE, JA_WHAT_HAPPENED, NOTE, WHAT_HAPPENED, B
from rag.query.syntax import condition_spans
from rag.text.ngrams import UNSEGMENTED
from rag.text.scripts import HIRAGANA, KATAKANA
from rag.text.tokenizer import JAPANESE_QUESTION, STOP_TERMS, has_words, normalize, stem

TAKEN = "\x1f"  # where words were read that filter
HIDDEN = "\x1e"  # where words are quoted, belong to the query syntax or were read in vain

_LETTER = re.compile(
    "(?:[^\u0300-\u036f\u3099\u309a\uff9e\uff9f]|^)[\u0300-\u036f\u3099\u309a\uff9e\uff9f]{0,9}|.",
    re.DOTALL,
)
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_QUOTES = str.maketrans("“”„‘’", '"""\'\'')
_QUOTED = re.compile(
    r'"[^"]{1,200}"|「[^「」]{1,200}」|『[^『』]{1,200}』|(?<![^ (])\'[^\']{1,100}\'(?![a-z0-9])'
)
_WORK = re.compile(  # 昨日の世界という映画
    '[^ 、。「」『』"でにはを]{1,20}'
    "という(?=映画|曲|歌|本|小説|漫画|ドラマ|アニメ|作品|番組|言葉|題)"
)


class NormalizedQuery:
    """The first characters of a query in normal form; positions in it lead back to the query."""

    def __init__(self, query: str) -> None:
        self.query = query
        head = query[:EXAMINED]
        text, self._at = _normalized(head)
        self.rest = query[EXAMINED:]
        # Lower case, each control character and white space a space; `open` has `TAKEN` and
        # `HIDDEN` where nothing is left to read.
        self.plain = self.open = _BLANK.sub(" ", text).translate(_QUOTES)
        self.taken: list[tuple[int, int]] = []  # where something was read that filters
        self.dropped: list[tuple[int, int]] = []  # where words announce what the index lacks
        self._hide_what_is_quoted(head)

    def original(self, start: int, end: int) -> str:
        """Return the words between two positions as they were typed."""
        return self.query[self._at[start] : self._at[end]]

    def words(self, start: int, end: int) -> str:
        """Return the words between two positions as they were typed, without space around."""
        return self.original(start, end).strip()

    def take(self, start: int, end: int) -> None:
        """Note that the words between two positions filter."""
        self.taken.append((start, end))
        self.hide(start, end, TAKEN)

    def drop(self, start: int, end: int) -> None:
        """Note that the words between two positions only announce others: they are left out of
        the text of a query in which something filters."""
        self.dropped.append((start, end))
        self.hide(start, end)

    def hide(self, start: int, end: int, mark: str = HIDDEN) -> None:
        """Mark a span as consumed: no rule reads it again."""
        self.open = f"{self.open[:start]}{mark * (end - start)}{self.open[end:]}"

    def _hide_what_is_quoted(self, head: str) -> None:
        """Hide conditions of the query syntax, what stands between quotes, and names of works."""
        conditions = condition_spans(head)
        spans = [(bisect(self._at, start), bisect(self._at, end)) for start, end in conditions]
        spans += [(m.start() + 1, m.end() - 1) for m in _QUOTED.finditer(self.plain)]
        if "という" in self.plain:
            spans += [m.span() for m in _WORK.finditer(self.plain)]
        for start, end in spans:
            self.hide(start, end)


def _normalized(text: str) -> tuple[str, list[int]]:
    """Return a text's normal form, and for each position in it the one in the text."""
    if len(lower := text.lower()) == len(text) and normalize(text) == lower:
        return lower, list(range(len(text) + 1))
    parts: list[str] = []
    at: list[int] = []
    for letter in _LETTER.finditer(text):
        part = normalize(letter[0])
        parts.append(part)
        at += [letter.start()] * len(part)
    return "".join(parts), [*at, len(text)]


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
        first, last = at, max(at, start)
        if _ALL_FILLERS.fullmatch(text, first, last):
            last = first
        else:  # without the fillers at its ends
            first = _begin(text, first, last)
            last = _end(text, first, last)
        pieces.append((first, last))
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


def _begin(text: str, start: int, end: int) -> int:
    follows = [_FOLLOWS, _JA_FOLLOWS]
    if start == 0:
        if begins := _BEGINS.match(text, 0, end):
            start = begins.end()
        else:
            follows = [_JA_FOLLOWS]
    while follow := next(filter(None, (p.match(text, start, end) for p in follows)), None):
        start = follow.end()
    return start + len(text[start:end]) - len(text[start:end].lstrip(" "))


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
        match = (_LAST if last else _LEADS).search(window) or _JA_LEADS.search(window)
        if not match and peeled:
            match = _JA_PARTICLE.search(window)
        if not match:
            break
        peeled = True
        end -= len(match[0])
    return end


# Runs of kanji and of katakana are words, or nearly. A kanji alone is one before a particle; before
# other hiragana it is a verb's or adjective's.
_KANJI = "\u3005\u3400-\u4dbf\u4e00-\u9fff"
_SUBJECT_WORD = re.compile(
    f"[{KATAKANA}]{{2,}}|[{_KANJI}]{{2,}}|[{_KANJI}](?![{HIRAGANA}])"
    f"|[{_KANJI}](?=[のをはがにでとへもや])"
    rf"|\d+(?:[.,]\d+)+|(?:(?![{UNSEGMENTED}])[\w.+#'’/-])+"
)


def subject_words(query: str) -> list[str]:
    """Return the words that name what a query is about, each once, as they are written.

    >>> subject_words("How do I roll back a deploy?"), subject_words("証明書の更新はいつ？")
    (['roll', 'back', 'deploy'], ['証明書', '更新'])
    """
    words: dict[str, str] = {}
    for match in _SUBJECT_WORD.finditer(JAPANESE_QUESTION.sub(" ", query)):
        word = match[0].strip(".'’/-")
        key = normalize(word)
        if any(map(str.isalnum, key)) and stem(key) not in STOP_TERMS:
            words.setdefault(key, word)
    return list(words.values())


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
    unwanted = []
    for pattern in (_ENGLISH, _JAPANESE, _JAPANESE_FIRST):
        for match in [*pattern.finditer(normalized.open)]:
            words = normalized.words(*match.span("words"))
            unwanted.append(f'-"{words}"' if " " in words else f"-{words}")
            normalized.drop(*match.span())
    return unwanted


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


_NO = (
    "not|never|no|without|except(?:ing)?(?: +for)?|excluding|excludes?|besides|minus|ignor(?:e|ing)"
    "|outside(?: +of)?|other +than|apart +from|(?:every|any)thing +but|all +but|hid(?:e|ing)"
    "|omit(?:ting)?|skip(?:ping)?|leav(?:e|ing) +out"
    "|(?:is|are|was|were|have|has|had|do|does|did)n'?t"
)
_BETWEEN = (
    f"{NOTE}|been|be|from|show|list|find|include|want|need|give|see|me|any|all|the|my|our|an?|those"
    "|these|ones?|anything|everything|stuff|that|which|are|is|were|was|have|has|i've|i|we"
)
_LOOSE = "only|just|write|edit|create|make|change|update|touch|modify|revise|record|save|add"
_BEFORE = re.compile(
    rf"{B}(?:(?:and|but|or|that|which|i|we|are|is|were|was|have|has|do|did) +)*"
    rf"(?<!not )(?<!n't )(?:{_NO}) +"
    rf"(?:(?:(?P<loose>{_LOOSE})|{_BETWEEN}) +){{0,6}}(?:\( *)?$"
)
_AFTER = re.compile(
    " ?(?:タグ|保管庫)?(?:以外|(?:なし|無し)|を(?:除|のぞ)(?:く|いた|いて|き)?"
    "|(?:では|じゃ|で)な(?:い|く)|(?:の|が|は)?(?:付いて|ついて)い?ない|(?:の|が|に|には)(?:ない|無い)"
    "|(?P<loose>だけで?(?:は|じゃ)?な(?:い|く))"
    "|(?:し|さ|され|れ)?(?:[てで]い?)?な(?:い|かった))(?:の|で|に|は)?"
)
_REACH = 60  # characters before a filter


class Negation(NamedTuple):
    """From where to where a filter is spoken of, with what turns it round.

    :ivar exact: whether it says that just this is not wanted; "not only" does not.
    """

    start: int
    end: int
    exact: bool


def negation(text: str, start: int, end: int) -> Negation | None:
    """Return what turns a filter round that stands between two positions of a normalized query."""
    if after := _AFTER.match(text, end):
        return Negation(start, after.end(), not after["loose"])
    from_ = max(0, start - _REACH)
    if before := _BEFORE.search(f"{text[from_:start].rstrip()} "):
        return Negation(from_ + before.start(), end, not before["loose"])
    return None
