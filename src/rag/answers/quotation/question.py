"""A question, and what of it a text holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from enum import StrEnum

from rag.answers.claims import NEGATION
from rag.answers.quotation.units import QuotableUnit
from rag.text.matches import STEMMED, find_matches, weigh_terms
from rag.text.scripts import HAN, HIRAGANA, KATAKANA
from rag.text.tokenizer import normalize, stem


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
    kinds = (asked for asked, pattern in _PATTERNS.items() if pattern.search(text))
    return next(kinds, Asked.OTHER)


def told_of(question: str) -> str:
    """Return what a question asks to be told of its subject; empty where that cannot be seen."""
    match = _TOLD.search(normalize(question).strip())
    return next(filter(None, match.groups()), "") if match else ""


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


_VERBS = """
become became, begin began begun, bite bit bitten, blow blew blown, break broke broken,
bring brought, build built, buy bought, catch caught, choose chose chosen, come came, dig dug,
do did done, draw drew drawn, drink drank drunk, drive drove driven, eat ate eaten,
fall fell fallen, feed fed, feel felt, fight fought, find found, fly flew flown,
forbid forbade forbidden, forget forgot forgotten, freeze froze frozen, get got gotten,
give gave given, go went gone, grow grew grown, hang hung, have had, hear heard,
hide hid hidden, hold held, keep kept, know knew known, lay laid, lead led, leave left,
lend lent, lose lost, make made, mean meant, meet met, pay paid, ride rode ridden,
ring rang rung, rise rose risen, run ran, say said, see saw seen, sell sold, send sent,
shake shook shaken, shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung,
sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken, spend spent, stand stood,
steal stole stolen, stick stuck, strike struck, swim swam swum, take took taken, teach taught,
tear tore torn, tell told, think thought, throw threw thrown, understand understood,
wake woke woken, wear wore worn, win won, wind wound, write wrote written
"""
_FORMS = [tuple(verb.split()) for verb in _VERBS.replace("\n", " ").split(",")]
_OTHERS = {form: tuple(f for f in forms if f != form) for forms in _FORMS for form in forms}


def other_forms(word: str) -> tuple[str, ...]:
    """Return the irregular forms of the verb that a word, in small letters, is a form of.

    >>> other_forms("kept"), other_forms("table")
    (('keep',), ())
    """
    return _OTHERS.get(word, ())


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


class Question:
    """A question, and what its words weigh.

    :ivar asked: what it asks for; `counted` is what it asks the number of.
    :ivar subject: it without the words that only ask.
    :ivar weights: of its terms, 1 together; in unsegmented scripts of characters in a row.
    :ivar told: the terms that tell what is asked of the subject.
    :param rarity: as for `rag.text.matches.weigh_terms`.
    """

    def __init__(self, text: str, rarity: Callable[[int], float]) -> None:
        self.text, self._normal = text, normalize(text)
        self.asked = kind_of(text)
        self.counted = counted_in(text) if self.asked in _NUMBERS else ()
        is_german = _GERMAN.match(self._normal)
        spoken = _GERMAN_ASKING.sub(" ", self._normal) if is_german else self._normal
        subject = self.subject = _ASKING.sub(" ", spoken).strip() or text
        weights = {t: w * _share_of(t) for t, w in weigh_terms(subject, rarity).items()}
        if followed := _FOLLOWED.search(subject):
            before = {*weigh_terms(followed[1])} - {*weigh_terms(subject[: followed.start()])}
            weights = {t: w * (_BEFORE if t in before else 1.0) for t, w in weights.items()}
        whole = sum(weights.values())
        self.weights = {t: w / whole for t, w in weights.items() if w}
        wanted = normalize(told_of(text))
        words = {stem(word) for word in wanted.split()}
        self.told = frozenset(
            term
            for term in self.weights
            if (term in words if term.isascii() else term in wanted and len(term) > 1)
        )
        # The proper names in it, normalised.
        self.named = {normalize(_OWNS.sub("", name)) for name in _NAME.findall(self.text)}
        self._stems = frozenset(map(stem, _ASCII.findall(self._normal)))
        # Other forms of its verbs, each with the term that stands for the verb.
        self._irregular = {
            form: stem(word)
            for word in _ASCII.findall(subject)
            if stem(word) in self.weights
            for form in _OTHERS.get(word, ())
        }

    def held(self, text: str) -> dict[str, float]:
        """Return what each term that a text holds counts for."""
        normal = normalize(text)
        held = {
            term: weight
            for term, weight in self.weights.items()
            if not term.isascii() and term in normal
        }
        for word in self._irregular.keys() & {*_ASCII.findall(normal)} if self._irregular else ():
            term = self._irregular[word]
            held[term] = max(STEMMED * self.weights[term], held.get(term, 0.0))
        for match in find_matches(text, self.subject):
            if weight := self.weights.get(match.term):
                held[match.term] = max(weight * match.form, held.get(match.term, 0.0))
        return held

    def says(self, words: str, but: Collection[str]) -> bool:
        """Return whether it has one of some words, be it one that weighs nothing.

        :param but: terms that do not count.
        """
        stems = {stem(word) for word in _ASCII.findall(words)} & self._stems
        return bool((stems | self.held(words).keys()) - {*but})

    def beyond(self, text: str) -> str:
        """Return a text without the words and figures that are the question's too."""

        def left(match: re.Match[str]) -> str:
            word = normalize(match[0])
            is_said = word in self._normal or (word.isascii() and stem(word) in self._stems)
            return " " if is_said else match[0]

        return _SAID.sub(left, text)

    def repeats(self, text: str) -> bool:
        """Return whether it says half of a text, or more, and neither denies what the other says:
        "active" is not repeated by "which are not active"."""
        if bool(_NOT.search(self._normal)) != bool(_NOT.search(normalize(text))):
            return False
        return 2 * sum(map(len, _SAID.findall(self.beyond(text)))) <= sum(
            map(len, _SAID.findall(text))
        )


def _share_of(term: str) -> float:
    """Return how far a term of a query counts as evidence."""
    if not _UNSPACED.match(term):
        return 1.0
    if len(term) > _LONGEST_GRAM:  # its parts are terms too
        return 0.0
    if len(term) == 1:
        return _LONE
    return _KANA_GRAM if _KANA.search(term) else 1.0
