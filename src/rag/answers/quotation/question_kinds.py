"""What kind of answer a question asks for."""

from __future__ import annotations

import re
from enum import StrEnum

from rag.answers.quotation.units import QuotableUnit
from rag.text.normalize import normalize
from rag.text.tokenizer import stem


class Asked(StrEnum):
    """What a question asks for."""

    WHY = "why"
    WHO = "who"
    WHEN = "when"
    PRICE = "price"
    HOW_MANY = "how many"
    HOW_MUCH = "how much"
    WHERE = "where"
    HOW_TO = "how to"
    NAME = "name"
    WHAT_IS = "what is"
    WHICH = "which"
    YES_NO = "yes or no"
    OTHER = "other"


# What is counted: 何人, 何年間. Of these, points in time are asked for like 何年.
_COUNTERS = (
    "年間|日間|時間|分間|週間|か月|ヶ月|カ月|か国|カ国|ヶ国|か所|カ所|ヶ所|箇所|世帯|世紀|種類|試合|文字"
    "|ページ|グラム|キロ|メートル|センチ|パーセント|つ|%|[個人枚本台分回件歳杯冊度軒校社名店戸両隻機頭匹羽点"
    "位番章曲話巻階周票倍割万千百通行段号駅線型代勝敗]"
)
# In this order: "what is the reason", 「理由は何ですか」 ask why.
_ASKED = {
    Asked.WHY: r"^(?:and )?why\b|\bwhat for\b"
    r"|\bwhat (?:is|was|are|were) the (?:main )?(?:reason|cause)"
    r"|(?:なぜ|何故|どうして|理由|原因|何のため)",
    Asked.WHO: r"\bwho(?:se|m)?\b|\b(?:which|what) (?:person|people|man|woman)\b"
    r"|(?:だれ|誰|どなた|どの人|何者|人物は)",
    Asked.WHEN: r"\b(?:when|wann|wanneer|quand|quando|cu[aá]ndo)\b"
    r"|\b(?:what|which) (?:day|date|year|time|month|century|decade|season)\b"
    r"|\bhow soon\b|\bsince (?:which|what)\b"
    r"|(?:いつ|何(?:曜|月|世紀|[時年日](?!間))|[期日][限付]は|時[期代]は|年代は)",
    Asked.PRICE: r"\bhow much (?:is|are|does|do|did|was|were|must|money)\b.*(?:cost|pay|\?|$)"
    r"|\bwhat (?:does|did|do|must|is|was|are)\b.*\b(?:cost|pay|price|fee|get back)\b"
    r"|(?:いくら(?!か)|何円|値段|料金|価格|費用は)",
    Asked.HOW_MANY: rf"\bhow (?:many|often)\b|\bwie ?viele\b|\bwhat number of\b"
    rf"|いくつ|何(?:{_COUNTERS})",
    Asked.HOW_MUCH: r"\bhow (?:much|big|large|fast|long|old|far|tall|heavy|hot|high|wide|deep)\b"
    r"|\bwhat (?:percentage|proportion|amount|size|age|number|population|temperature|speed|height"
    r"|length|width|weight|distance|share|rate)\b"
    r"|(?:どのくらい|どれくらい|どれだけ|どのぐらい|どれほど|[高大広長重深]さは|面積は|人口は|割合は|温度は)",
    Asked.WHERE: r"\bwhere\b|\b(?:what|which) (?:city|country|place|state|region|location|street"
    r"|town|building|room|folder|page|menu|tab)\b"
    r"|(?:どこ|どちらに|場所は|どの(?:国|都市|町|街|地域|場所|県|画面|フォルダ)|何[県市国])",
    Asked.HOW_TO: r"\bhow (?:do|does|did|can|could|should|would|is|are|was|were|to)\b"
    r"|^what (?:command|do i)\b|(?:方法|やり方|手順|仕方|作り方|焼き方|どうやって|どうすれば"
    r"|どうしたら|どのように|にはどう|コマンドは|[るすうむくつ]には[?？]?$|何を打つ)",
    Asked.NAME: r"\bwhat (?:is|was|are|were) (?:\w+ )?(?:\w+ )?(?:name|title|term|word)\b"
    r"|\b(?:called|named)\?|\bwhat (?:is|are|was|were) .* (?:called|named|known as)\b"
    r"|(?:何と(?:いう|言う|呼)|名前|名称|題名|タイトルは|曲名|書名)",
    Asked.WHAT_IS: r"^what(?:'s| is| are) (?:an? |the )?[\w' -]+\??$|^what does .+ mean|^define "
    r"|(?:とは$|とは何|って何|とはなん|とは[?？]$|の意味)",
    Asked.WHICH: r"\bwhich\b|\bwhat\b|(?:どれ|どの|どんな|どういう|どちら|何|なに)",
    Asked.YES_NO: r"^(?:is|are|was|were|do|does|did|can|could|will|would|may|should|must)\b"
    r"|^ha(?:s|ve)\b|(?:できる|できます|いい|よい|ある|[れえ]?る|か)(?:か|の)?[?？。]?$",
}
_PATTERNS = {asked: re.compile(pattern) for asked, pattern in _ASKED.items()}
_COUNTED = re.compile(
    r"\bhow (?:many|much|often) (?:of (?:the |my |our |your )?)?((?:[a-z'-]+ ?){1,2})"
)
_COUNTER = re.compile(rf"何({_COUNTERS}|[一-鿿]|[ァ-ヶー]{{2,6}})")
_SUBJECT = re.compile(
    r"what(?:'s| is| are)(?: an?| the)? (?P<en>[^?]+)|what does (?P<mean>.+?) mean"
    r"|(?P<ja>[^、。]+?)(?:とは|って何|って|の意味)"
)
_DEFINES = (
    r"^(?:- |\d+[.)] )?[\"'「『*_]*(?:an? |the |your )?{}[\"'」』*_]*(?: \([^)]*\))?"
    r"(?: (?:is|are|means?|refers?|was|lets?|stands|describes?|allows?)\b| ?[:：–—-]|は|とは|が|、)"
)
_MARKS = re.compile(r"[*_`]")
# What a question asks to be told of something: "the colour" of it, its "phone number".
_TOLD = re.compile(
    r"^what(?:'s| is| are| was| were) the (?P<of>[\w -]+?) (?:of|for|on|in|at)\b"
    r"|^what(?:'s| is| are| was| were) .+?['’]s? (?P<own>[\w -]+)"
    r"|^(?:what|which|how many) (?!is|are|was|were|do|does|did|must)(?P<what>[\w-]+)"
    r"|^(?:when|where) (?:is|was) .+?['’]s (?P<when>[\w -]+)"
    r"|の(?P<ja>[^のはがをにで、。]+?)(?:は|って)?(?:いつ|いくら|どこ|だれ|何|どれ|どのくらい)?(?:ですか)?[?？]?$"
)


def kind_of(question: str) -> Asked:
    """Return what a question asks for, as far as its words tell."""
    text = normalize(question).strip()
    found = (asked for asked, pattern in _PATTERNS.items() if pattern.search(text))
    return next(found, Asked.OTHER)


def told_of(question: str) -> str:
    """Return what a question asks to be told of its subject; empty where that cannot be seen."""
    found = _TOLD.search(normalize(question).strip())
    return next(filter(None, found.groups()), "") if found else ""


def counted_in(question: str) -> tuple[str, ...]:
    """Return what a question asks the number of: the stem of "seats", or the counter 台 of 何台."""
    text = normalize(question)
    if counter := _COUNTER.search(text):
        return (counter[1],)
    counted = _COUNTED.search(text)
    return tuple(stem(word) for word in counted[1].split()) if counted else ()


def defines(question: str, unit: QuotableUnit) -> bool:
    """Return whether a question asks what something is, and a unit begins by saying so."""
    asked = _SUBJECT.match(normalize(question).strip())
    if not asked:
        return False
    subject = (asked["en"] or asked["mean"] or asked["ja"] or "").strip()
    text = normalize(_MARKS.sub("", unit.text))
    return bool(subject) and bool(re.match(_DEFINES.format(re.escape(subject)), text))
