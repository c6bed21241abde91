"""What kind of answer a question asks for, and whether a text holds such a thing."""

from __future__ import annotations

import re
from enum import StrEnum

from rag.answers.quotation.units import Kind, QuotableUnit
from rag.text.normalize import normalize


class Asked(StrEnum):
    """What a question asks for."""

    WHO = "who"
    WHEN = "when"
    HOW_MANY = "how many"
    HOW_MUCH = "how much"
    PRICE = "price"
    WHERE = "where"
    HOW_TO = "how to"
    WHY = "why"
    WHAT_IS = "what is"
    WHICH = "which"
    YES_NO = "yes or no"
    OTHER = "other"


_MONTHS = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_ASKED = {
    Asked.WHO: r"^(?:and )?who(?:se|m)?\b|(?:だれ|誰|どなた|どの人)",
    Asked.PRICE: r"\bhow much (?:is|are|does|do|did|was|were|must|money)\b.*(?:cost|pay|\?|$)"
    r"|\bwhat (?:does|did|do|must|is|was|are)\b.*\b(?:cost|pay|price|fee|get back)\b"
    r"|(?:いくら|何円|値段|料金は|価格は)",
    Asked.HOW_MUCH: r"\bhow (?:much|big|large|fast|long|old|far|tall|heavy|hot|high|wide|deep)\b"
    r"|(?:どのくらい|どれくらい|どれだけ|どのぐらい|高さは|大きさは)",
    Asked.HOW_MANY: r"\bhow (?:many|often)\b"
    r"|(?:いくつ|何(?:個|人|枚|本|台|分|時間|日|回|件|つ|歳|年|か月|ヶ月|ページ|杯|冊|グラム|度|種類))",
    Asked.WHEN: r"^(?:and )?(?:when|since (?:when|which|what)|until when|how soon)\b"
    r"|\bwhat (?:day|date|year|time)\b|(?:いつ|何時|何曜|何月|期限は)",
    Asked.WHERE: r"^(?:and )?where\b|(?:どこ|どちらに|場所は)",
    Asked.HOW_TO: r"\bhow (?:do|does|can|could|should|would|is|are|to)\b|^what (?:command|do i)\b"
    r"|(?:方法|やり方|手順|仕方|作り方|焼き方|どうやって|どうすれば|どうしたら|にはどう"
    r"|コマンドは|るには[?？]?$|すには[?？]?$|うには[?？]?$|むには[?？]?$|何を打つ)",
    Asked.WHY: r"^(?:and )?(?:why|what for)\b|(?:なぜ|どうして|理由)",
    Asked.WHAT_IS: r"^what(?:'s| is| are) (?:an? |the )?[\w' -]+\??$|^what does .+ mean|^define "
    r"|(?:とは$|とは何|って何|とはなん|とは[?？]$|の意味)",
    Asked.WHICH: r"^(?:and )?which\b|^what [a-z]+s? |(?:どれ|どの|どんな|何がある|何が|どちら)",
    Asked.YES_NO: r"^(?:is|are|was|were|do|does|did|can|could|will|would|may|should|must)\b"
    r"|^ha(?:s|ve)\b"
    r"|(?:できる|できます|いい|よい|ある|ますか|ですか|れる|える|る)(?:か|の)?[?？]$",
}
_PATTERNS = {asked: re.compile(pattern) for asked, pattern in _ASKED.items()}

_FIGURE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|dozen|half|unlimited"
    r"|once|twice|no limit|daily|weekly|monthly|every)\b"
    r"|[一二三四五六七八九十百千万数]+[つ人個本枚日年]|無制限|毎",
    re.IGNORECASE,
)
_PRICE = re.compile(
    r"[$€£¥￥]|\d\s*%|\d\s*(?:dollars?|euros?|pounds?|yen|usd|eur|percent|円|ドル|ユーロ)|\bfree\b|無料|割引",
    re.IGNORECASE,
)
_DATE = re.compile(
    rf"\b(?:1[89]|20)\d\d\b|\b\d{{1,2}} {_MONTHS}\b|\b{_MONTHS} \d|\d[:.]\d\d|\bversion \d"
    r"|\bv?\d+\.\d"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\b(?:days?|weeks?|months?|years?|hours?|minutes?"
    r"|spring|summer|autumn|winter|noon|night|after|before|until|since)\b"
    r"|\d+\s*(?:年|月|日|時|分|か月|ヶ月|週|バージョン)|[月火水木金土日]曜|バージョン\s*\d|春|夏|秋|冬|朝|夜|以降|毎",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<=[a-z,;:(] )[A-Z][a-z]+|\b[A-Z][a-z]+ [A-Z][a-z]+|\b(?:only|owner|anyone|everyone|nobody"
    r"|members?|users?|students?|people|customers?|team|mother|father|aunt|uncle|he|she|who)\b"
    r"|(?:さん|様|氏|者|人|店長|オーナー|会社|商会|のみ|先生|母|父|祖父|祖母|叔父|叔母|メンバー|ユーザー|チーム)"
)
_PLACE = re.compile(
    r"\b(?:in|on|at|under|behind|beside|above|below|next to|near|inside|into|to|from|by|hangs?"
    r"|stands?|corner|top|bottom|left|right)\b|/\w|→|>|(?:[にでへ]|の[上下中横裏奥前]|から|まで|側|右|左|隅|棚)",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"(?:^|\n)\s*(?:[-*]|\d+[.)]) |\b(?:to|first|then|click|select|open|run|go to|choose|use|press"
    r"|tap|type|enter|add|put|remove|replace|set)\b|`|→|(?:して|します|する|クリック|選択|押|開|入れ|実行|タップ)",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|so that|so|due to|as|cause[sd]?|reason|in order to|otherwise|avoid"
    r"|prevents?|would|cannot|can't|to)\b|(?:ため|ので|から|理由|原因|なら|防|避|せい|制限|おそれ)",
    re.IGNORECASE,
)
_HELD = {
    Asked.WHO: _NAME,
    Asked.WHEN: _DATE,
    Asked.HOW_MANY: _FIGURE,
    Asked.HOW_MUCH: _FIGURE,
    Asked.PRICE: _PRICE,
    Asked.WHERE: _PLACE,
    Asked.HOW_TO: _STEPS,
    Asked.WHY: _REASON,
}
_SUBJECT = re.compile(
    r"what(?:'s| is| are)(?: an?| the)? (?P<en>[^?]+)|what does (?P<mean>.+?) mean"
    r"|(?P<ja>[^、。]+?)(?:とは|って何|って|の意味)"
)
_DEFINES = (
    r"^(?:- |\d+[.)] )?[\"'「『*_]*(?:an? |the |your )?{}[\"'」』*_]*(?: \([^)]*\))?"
    r"(?: (?:is|are|means?|refers?|was|lets?|stands|describes?|allows?)\b| ?[:：–—-]|は|とは|が|、)"
)
# What a question asks to be told of something: "the colour" of it, its "phone number".
_TOLD = re.compile(
    r"^what(?:'s| is| are| was| were) the (?P<of>[\w -]+?) (?:of|for|on|in|at)\b"
    r"|^what(?:'s| is| are| was| were) .+?['’]s? (?P<own>[\w -]+)"
    r"|^(?:what|which|how many) (?!is|are|was|were|do|does|did|must)(?P<what>[\w-]+)"
    r"|^(?:when|where) (?:is|was) .+?['’]s (?P<when>[\w -]+)"
    r"|の(?P<ja>[^のはがをにで、。]+?)(?:は|って)?(?:いつ|いくら|どこ|だれ|何|どれ|どのくらい)?(?:ですか)?[?？]?$"
)
_MARKS = re.compile(r"[*_`]")


def kind_of(question: str) -> Asked:
    """Return what a question asks for, as far as its words tell."""
    text = normalize(question).strip()
    found = (asked for asked, pattern in _PATTERNS.items() if pattern.search(text))
    return next(found, Asked.OTHER)


def told_of(question: str) -> str:
    """Return what a question asks to be told of its subject; empty where that cannot be seen."""
    found = _TOLD.search(normalize(question).strip())
    return next(filter(None, found.groups()), "") if found else ""


def holds(asked: Asked, unit: QuotableUnit) -> float:
    """Return how far a unit holds what is asked for, from 0 to 1; half where that cannot be told.

    Code and lists are what tells how something is done.
    """
    if asked == Asked.HOW_TO and unit.kind in (Kind.CODE, Kind.LIST):
        return 1.0
    pattern = _HELD.get(asked)
    if pattern is None:
        return 0.5
    return 1.0 if pattern.search(unit.text) else 0.0


def defines(question: str, unit: QuotableUnit) -> bool:
    """Return whether a question asks what something is, and a unit begins by saying so."""
    asked = _SUBJECT.match(normalize(question).strip())
    if not asked:
        return False
    subject = (asked["en"] or asked["mean"] or asked["ja"] or "").strip()
    text = normalize(_MARKS.sub("", unit.text))
    return bool(subject) and bool(re.match(_DEFINES.format(re.escape(subject)), text))
