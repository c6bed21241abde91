"""Questions about the notes themselves: which there are, how many, and when something was last.

The patterns are narrow: what follows the word for notes has to be something that notes are chosen
by, and of dates only those of whoever asks are meant. "How many notes fit in a bar of music" is a
question like any other.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from rag.query.planner.time_windows import find_time
from rag.query.syntax import condition_spans
from rag.text.scripts import is_japanese

_NOTES = r"(?:notes|memos|(?:journal |diary |log )?entries)\b"
_CHOSEN = r"(?:(?:all|any|every one|each|of|the|my|our|these|those|other|different) )*"
_POLITE = r"(?:please )?(?:(?:can|could|would) you (?:please )?)?"
_HOW_MANY = (
    r"(?:(?:tell me )?how many|(?:tell me |what(?:'s| is) )?the (?:total )?number of"
    r"|count(?: up)?(?: the number of)?)"
)
_LIST = (
    r"(?:(?:list|show|find|get|give)(?: me| us)?(?: (?:a|the) (?:complete )?list of)?"
    r"|(?:a|the) (?:complete )?list of|i(?:'d like| want| need)(?: to see)?(?: a list of)?)"
)
_LEAD = re.compile(
    rf"{_POLITE}(?:(?P<count>{_HOW_MANY})|(?P<list>{_LIST})|(?:all|every one)(?: of)?"
    rf"|(?P<which>(?:(?:and|so) )?(?:which|what)(?: of)?)) {_CHOSEN}{_NOTES}",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)

# What may follow the word for notes. What somebody has done with them leads to more of the same.
_HAS = re.compile(
    r" (?:(?:that|which) )?(?:(?:do|did|have|had) (?:i|we)|(?:i|we)(?:'ve| have)?)\b"
    r"(?: (?:have|wr[io]te|written|take|took|ma[kd]e|add(?:ed)?|kept|saved?))?(?: down)?(?![\w'])",
    re.IGNORECASE,
)
_THERE = re.compile(
    r" (?:are there|there are|exist|in (?:total|all)|altogether|so far|please)\b", re.IGNORECASE
)
_WHO = r" (?:(?:that|which) )?(?:(?:are|is|were|was|have been) )?"
_ABOUT = re.compile(
    rf"{_WHO}(?:(?:mention|contain|discuss|cover|concern)(?:s|es|ed|ing)?"
    r"|(?:talk|speak)(?:s|ing)? (?:about|of)|refer(?:s|ring)? to|deal(?:s|ing)? with|about"
    r"|regarding|relat(?:ed|ing) to|with the (?:words?|phrase))(?=[\s:]|$)",
    re.IGNORECASE,
)
# What notes are not to hold. It may follow what they are to hold, or begin.
_HOLD = r"(?:mention|contain|discuss|cover|talk about|refer to|include)"
_NOT_ABOUT = re.compile(
    rf",?(?: (?:and|but))?(?:(?: (?:that|which))? (?:do|did)(?: not|n't| never) {_HOLD}"
    r"|(?:(?: (?:that|which))? are)? not (?:mentioning|containing|about|on)"
    r"|(?<=\S) (?:and|but) not(?: about| on)?"
    r"(?! (?:in|from|of|since|until|before|after|during|tagged|with|yet|only|just|the ones)\b)"
    r"| without (?:the words?|the phrase|(?:any )?mention(?:ing)?(?: of)?))"
    r"(?: the (?:words?|phrase))?(?: any of)? (?=\S)",
    re.IGNORECASE,
)
_NOR = re.compile(r",? n?or |, ", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:the|an?|any|my|our) (?=\S)", re.IGNORECASE)
_MARKED = re.compile(
    rf"{_WHO}(?:tagged|labell?ed|named|called|titled)\b|{_WHO}(?:not )?tagged\b"
    r"| with(?:out)? (?:the |a )?(?:tags?\b|labels?\b|status\b|priority\b|author\b|title\b|#)"
    r"| (?:#\w|-?(?:tag|path|title|vault):\S|[\"“])",
    re.IGNORECASE,
)
# Whether notes have tags at all is in no filter, and the word itself stands for nothing else.
_PARTS = "(?:tags?|labels?|titles?|alias(?:es)?|propert(?:y|ies)|front ?matter|headings?|links?)"
_HAVING = re.compile(
    rf"(?:\b(?:with(?:out)?|have|has|having|no)(?: (?:any|no|a|the|at least one))* {_PARTS}"
    r"|\b(?:not |un|isn't |aren't )tagged)(?: at all)?"
    r"(?=$|,| (?:and|or|but|do|did|have|are|exist|in|from|since|before|of|on|about|that|which)\b)"
    "|(?:^|[\\s、にのは])(?:タグ|ラベル|タイトル|題名?|見出し|リンク|プロパティ)(?:[のがはも]|を持[たっ])?"
    "(?:な[いし]|無[いし]|(?:付|つ)い?て?い?ない)"
    "|(?:^|[\\s、には])(?:タグ|ラベル)[のが](?:ある|あります|(?:付|つ)い[たて])",
    re.IGNORECASE,
)
_VAULT = re.compile(
    rf"{_WHO}(?:in|from|of) (?:(?:the|my|our) (?:\S+ ){{0,3}}vaults?|vault \S+)\b", re.IGNORECASE
)
_TIMED = re.compile(
    rf"(?:{_WHO}(?:(?:created|written|modified|updated|edited|changed|made|added|dated) ?)?"
    r"| did (?:i|we) (?:modify|update|edit|change|revise|touch) )"
    r"(?:from|since|before|after|between|during|in|of|on|within|until|older|newer|last|this|past"
    r"|yesterday|today|\d+ \w+ ago)\b",
    re.IGNORECASE,
)
_ON = re.compile(r" on\b", re.IGNORECASE)
_WORD = re.compile(r" the (?:words?|phrase|terms?)(?= \S)", re.IGNORECASE)
_LEADS = (_HAS, _THERE, _ABOUT, _ON, _WORD)  # to the subject
_AT_THE_END = re.compile(
    r"(?:^| )(?:(?:do|did|have) (?:i|we)(?: (?:have|written|write|made|taken))?|are there|exist"
    r"|in total|altogether|so far|please)$",
    re.IGNORECASE,
)

_I = "(?:i|we)"
_NO_TIME = r"(?!(?:day|night|week|weekend|month|quarter|year|spring|summer|autumn|fall|winter)\b)"
_LAST = re.compile(
    rf"(?:and )?(?:when|how long ago|(?:on )?(?:what|which) (?:day|date)) (?:did|have|had) {_I}"
    rf" (?:last|most recently) {_NO_TIME}(?P<a>.+)"
    rf"|(?:and )?when did {_I} (?P<b>.+?)(?: for)?(?: the)? (?:last(?: time)?|most recently)"
    r"|(?:and )?(?:(?:when|what) (?:was|is) )?(?:it )?(?:the |my |our )?(?:last|latest|most recent)"
    rf" (?:time|day|date)(?: that| when)? {_I}(?:'ve| have|'d| had)? (?P<c>.+)"
    rf"|how long (?:has it been |is it |it's been )?since {_I} last {_NO_TIME}(?P<d>.+)"
    rf"|(?:and )?when (?:was|were) (?:my|our) (?:last|latest|most recent) {_NO_TIME}(?P<e>.+)",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"(?:wr(?:ite|ote|itten) (?:down |something |anything )?(?:about|on|of)"
    r"|mention(?:ed)?|not(?:e|ed) down|jot(?:ted)? down)\s+",
    re.IGNORECASE,
)

_JA_NOTES = "(?<![ァ-ヺー])(?:ノート|メモ|記事|日記)(?!ブック|パソコン|帳)"
_JA_ASKED = "(?:です|でした|だった|でしょう|だ)?(?:っけ|か|の|かな|の?ですか)?"
_JA_EXIST = "(?:ある|あります|あった|ありました|残っている|書いた|書きました|作った|作りました)?"
_JA_HOW_MANY = "(?:いくつ|何[個件本枚冊つ]|どの?れ?くらい)"
_JA_SHOW = (
    "(?:(?:を|に|で|として)?(?:見せ|出し|教え|表示し|挙げ|列挙し|一覧にし|まとめ|探し|し)て(?:ください|ほしい|くれ)?"
    "|(?:を|が)?(?:見たい|知りたい)|を?(?:列挙|表示|ください|お願いします)|は|を)?"
)
_JA_ALL = "(?:全部|すべて|全て|一覧|リスト|ぜんぶ)"
_JA_COUNTS = re.compile(
    f"(?P<a>.*?)(?:{_JA_NOTES})(?:って|は|が|を)?(?:全部で|全体で|合計で|合わせて|今|現在|、)?{_JA_HOW_MANY}"
    f"{_JA_EXIST}{_JA_ASKED}"
    f"|(?P<b>.*?)(?:{_JA_NOTES})の(?:総?数|件数)(?:は|を)?(?:いくつ|教えて(?:ください)?)?{_JA_ASKED}"
    f"|(?P<c>.*?)(?:{_JA_NOTES})(?:の数)?を(?:数えて(?:ください)?)"
    f"|(?:いくつ|何[個件本枚冊])の(?:{_JA_NOTES})(?:が|に|で)(?P<d>.+?){_JA_ASKED}"
)
_JA_LISTS = re.compile(
    f"(?P<a>.*?)(?:{_JA_NOTES})(?:を|は|の|が)?、?{_JA_ALL}{_JA_SHOW}"
    f"|(?P<b>.*?)(?:全部|すべて|全て)の(?P<b2>.*?)(?:{_JA_NOTES}){_JA_SHOW}"
    f"|(?P<c>.+?)(?:{_JA_NOTES})を(?:列挙|一覧|リストアップ|見せて|挙げて|表示して)(?:して)?(?:ください)?"
    f"|(?P<d>.+?)(?:{_JA_NOTES})は(?:どれ|何|どこ){_JA_ASKED}"
    f"|どの(?:{_JA_NOTES})(?:が|に|で)(?P<e>.+?){_JA_ASKED}"
)
_JA_MINE = "(?:(?:私|わたし|僕|ぼく|俺|自分)(?:たち|達)?(?:が|は))?"
_JA_LATELY = "(?:最後に|前回|一番最近|最近|直近で|この前|このあいだ)、?"
_JA_WHEN = "(?:いつ(?:頃|ごろ)?|何日(?:前)?|何月何日|何曜日|どの日)"
_JA_LAST = re.compile(
    f"{_JA_MINE}(?P<a>[^がはの]*?){_JA_LATELY}{_JA_MINE}(?P<b>.+?)(?:の|日|こと)(?:は|って){_JA_WHEN}{_JA_ASKED}"
    f"|{_JA_MINE}(?P<c>[^がはの]*?){_JA_WHEN}、?(?:最後に|前回){_JA_MINE}(?P<d>.+?){_JA_ASKED}"
)
_JA_TOLD = re.compile(
    "(?:について|に関して|のことを?)?(?:書い|触れ|メモし|記録し|言及し)(?:た|ました)$"
)
_JA_PEELED = re.compile(
    "(?:(?:について|に関する|に関して|に関連する|に言及し(?:た|ている)|に触れ(?:た|ている)|を含む|が含まれる"
    "|が書(?:いてある|かれた)|を書いた|が出てくる|という|[のが](?:付い|つい)た)の?|の|、)$"
)
_JA_LEFT = re.compile(
    f"(?:は|が|を|の|って)?、?(?:全部で|全体で|合計で)?(?:{_JA_HOW_MANY}{_JA_EXIST}{_JA_ASKED}"
    f"|{_JA_ALL}{_JA_SHOW}|の?(?:総?数|件数)(?:は|を)?|は?(?:どれ|何){_JA_ASKED})$"
)
_LONGEST = 300  # characters; nobody asks for notes in more
_END = re.compile(r"[\s?？!！.。…]+$")
_SENTENCES = re.compile(r"[?!。？！]\s*\S|[a-z]{3}\.(?= [A-Z])")

# Alternatives in the subject: "flour, butter or milk".
_HIRAGANA = "\u3041-\u3096"
_JOINED = re.compile(
    # What is quoted is passed over. 静か, 3か月: not every か joins two words.
    '"[^"]*"|“[^”]*”|「[^」]*」'
    r"|(?P<or>,? +or +(?:about |on |the words? )?|[、 ]?(?:または|もしくは|あるいは|それとも)、?"
    rf"|(?<=[^{_HIRAGANA}\s静豊確僅遥])か(?=[^{_HIRAGANA}\s月所国条年]))"
    "|(?P<comma>, +|、)",
    re.IGNORECASE,
)
_EITHER = re.compile(r"either (?=\S)", re.IGNORECASE)


class Asked(StrEnum):
    """What is asked of the notes: which, how many, or the day of the last that tells of
    something."""

    LIST = "list"
    COUNT = "count"
    LAST = "last"


class NoteQuestion(NamedTuple):
    """A question about the notes themselves.

    :ivar subject: the words of the question that say which notes, or what it was that happened;
        empty where all notes are meant.
    """

    asked: Asked
    subject: str


def note_question(question: str, today: date | None = None) -> NoteQuestion | None:
    """Return what a question asks of the notes themselves; `None` where it asks what they say.

    :param today: the day from which times are counted.

    >>> note_question("How many notes mention the ferry?")
    NoteQuestion(asked=<Asked.COUNT: 'count'>, subject='the ferry')
    >>> note_question("最後に田中さんに会ったのはいつ？")
    NoteQuestion(asked=<Asked.LAST: 'last'>, subject='田中さんに会った')
    >>> note_question("How many notes fit in a bar of music?")
    """
    if len(question) > _LONGEST:
        return None
    text = plain_question(question)
    unwanted = _NOT_ABOUT.search(text)
    # Several sentences, tags of any name, or two things that each or both together are unwanted.
    if _SENTENCES.search(text) or _HAVING.search(text):
        return None
    if unwanted and " and " in text[unwanted.end() :]:
        return None
    if last := _last(text):
        return None if alternatives(last.subject) else last
    if lead := _LEAD.match(text):
        is_own = bool(lead["list"] or _OWN.search(lead[0]))
        rest, may_end = text[lead.end() :], not lead["which"]
        if not _chooses(rest, today or date.today(), is_own, may_end):
            return None
        return NoteQuestion(Asked.COUNT if lead["count"] else Asked.LIST, subject_of(text))
    for asked, pattern in ((Asked.COUNT, _JA_COUNTS), (Asked.LIST, _JA_LISTS)):
        if match := pattern.fullmatch(text):
            return NoteQuestion(asked, subject_of("".join(filter(None, match.groups()))))
    return None


def subject_of(text: str) -> str:
    """Return what is left of such a question, or of the part of it that filters nothing, without
    the words that only lead to it.

    >>> subject_of("which notes do I have about the ferry"), subject_of("フェリーについての")
    ('the ferry', 'フェリー')
    """
    text = plain_question(text)
    if last := _last(text):
        return last.subject
    parts = parts_of(text)
    left = f" {parts[1] if parts else text}".replace("  ", " ")
    if match := _NOT_ABOUT.search(left):
        held = subject_of(f"{parts[0] if parts else ''}{left[: match.start()]}")
        return " ".join(filter(None, [held, *_unwanted(left[match.end() :])]))
    while match := next(filter(None, (p.match(left) for p in _LEADS)), None):
        left = f" {left[match.end() :].lstrip(' :')}"
    for pattern in (_AT_THE_END, _JA_LEFT, _JA_PEELED):
        while match := pattern.search(left):
            left = left[: match.start()]
    match = _JA_COUNTS.fullmatch(left.strip()) or _JA_LISTS.fullmatch(left.strip())
    if match and any(match.groups()):
        return subject_of("".join(filter(None, match.groups())))
    return "" if match else left.strip()


def _unwanted(words: str) -> list[str]:
    """Return words that notes are not to hold in the query syntax, what is further asked of the
    notes after them."""
    spoken, *conditions = re.split(r" (?=-\S|#\w|\w+:\S)", words)
    if match := _AT_THE_END.search(spoken):
        spoken = spoken[: match.start()]
    names = [_ARTICLE.sub("", name.strip(" \"'“”")) for name in _NOR.split(spoken)]
    return [f'-"{name}"' if " " in name else f"-{name}" for name in filter(None, names)] + (
        conditions
    )


def plain_question(question: str) -> str:
    """Return a question in one width, with single spaces, and without the mark at its end."""
    text = " ".join(unicodedata.normalize("NFKC", question).split())
    return _END.sub("", text).replace("’", "'").strip()


def parts_of(text: str) -> tuple[str, str] | None:
    """Return the words that ask for notes or their number, and those that follow; `None` of a text
    that does not begin with such.

    :param text: from `plain_question`.
    """
    lead = _LEAD.match(text)
    return (lead[0], text[lead.end() :]) if lead else None


def _last(text: str) -> NoteQuestion | None:
    """Return the question for a day on which something was last."""
    if match := _LAST.fullmatch(text):
        subject = next(filter(None, match.groups()))
        return NoteQuestion(Asked.LAST, _TOLD.sub("", subject, count=1).strip())
    if match := _JA_LAST.fullmatch(text):
        subject = "".join(filter(None, match.groups()))
        if "が" in subject:  # somebody or something else
            return None
        return NoteQuestion(Asked.LAST, _JA_TOLD.sub("", subject))
    return None


def _chooses(rest: str, today: date, is_own: bool, may_end: bool) -> bool:
    """Return whether what follows the word for notes says which notes are meant.

    :param is_own: whether they are those of whoever asks, and not those of music.
    :param may_end: whether all notes may be meant.
    """
    if not rest.strip():
        return may_end
    if _TIMED.match(rest) and find_time(f"notes{rest.lower()}", today):
        return True
    if match := _HAS.match(rest) or _THERE.match(rest):
        is_own = is_own or match.re is _HAS
        return _chooses(rest[match.end() :], today, is_own, may_end=True)
    chosen = any(p.match(rest) for p in (_ABOUT, _NOT_ABOUT, _MARKED, _VAULT))
    return chosen or bool(is_own and _ON.match(rest))


def alternatives(subject: str) -> list[str]:
    """Return the alternatives of a subject, each with the conditions of the query syntax that
    stand in it; none where it has no "or".

    >>> alternatives("flour, butter or milk -Tom")
    ['flour -Tom', 'butter -Tom', 'milk -Tom']
    >>> alternatives("フェリーかバス"), alternatives("the ferry")
    (['フェリー', 'バス'], [])
    """
    if not any(match["or"] for match in _JOINED.finditer(subject)):
        return []
    conditions, rest, at = [], "", 0
    for start, end in condition_spans(subject):
        conditions.append(subject[start:end])
        rest, at = rest + subject[at:start], end
    rest = _EITHER.sub("", (rest + subject[at:]).strip(), count=1)
    parts, at = [], 0
    for match in _JOINED.finditer(rest):
        if match.lastgroup:
            parts.append(rest[at : match.start()].strip())
            at = match.end()
    parts.append(rest[at:].strip())
    if len(parts) < 2 or not all(parts):  # an "or" of the query syntax, or of a filter
        return []
    return [" ".join([part, *conditions]) for part in parts]


_EARLIER = re.compile(
    r"(?:and |but )?(?:(?:what|how) about |when was )?"
    r"(?:(?:the )?(?:one|time|times|occasion) before(?: (?:that|then|it|last))?"
    r"|before (?:that|then)|(?:the )?(?:previous|last but one|second(?: to)? last)(?: one| time)?"
    r"|earlier)"
    r"|(?:じゃあ?|では)?、?(?:その|それの)(?:1つ|一つ)?(?:前|まえ)(?:の回|の時)?(?:は|に?は?いつ(?:ですか)?)?"
    r"|(?:1つ|一つ)前は",
    re.IGNORECASE,
)
_HOW_MANY_OF_THEM = re.compile(
    r"(?:and |so )?how many(?: (?:are there|are they|is that|in total|of them(?: are there)?))*"
    r"|(?:全部で)?(?:いくつ|何[件個本])(?:ある|あります|です)?か?",
    re.IGNORECASE,
)
_WHICH_OF_THEM = re.compile(
    r"(?:and )?(?:which(?: ones?)?(?: are (?:they|those|these))?|what are they"
    r"|(?:list|show|name)(?: me)? (?:them|those|these)(?: all)?"
    r"|(?:list|show|name) all(?: of them)?)"
    r"|(?:それは)?どれ(?:です)?か?|(?:全部|一覧を?)?(?:見せて|教えて)(?:ください)?|一覧は?",
    re.IGNORECASE,
)
_AND = re.compile(
    r"(?:and|but|what about|how about)(?: (?:what|how) about)?(?: (?:the )?(?:ones|those))?"
    r" (?P<more>.+)",
    re.IGNORECASE,
)
_AND_JA = re.compile("(?:じゃあ?|では)?、?(?P<more>.+?)(?:のは|は|なら)(?:どう(?:です)?か?)?")
_NEW_JA = re.compile("だれ|誰|なぜ|何故|どう|何|なに|どこ|いつ|どの|どれ|どちら|いくら")
_ENGLISH = re.compile(r"(?:and |on )?(?:when|how|what|which|it|the|my|our|last)\b", re.IGNORECASE)
_OTHER = re.compile(r"(?:about|on|mentioning|regarding|that mention|with the words?)\b", re.I)
_CONDITION = re.compile(
    r"(?:about|on|from|in|since|before|after|with|tagged|not|this|last|mention\w*)\b|[#-]|\w+:",
    re.IGNORECASE,
)
_NOT = re.compile(r"not \w", re.IGNORECASE)
_DAY_BEFORE = re.compile(r" before \d{4}-\d\d-\d\d$|^私が(?:\d{4}-\d\d-\d\dより前に)?")


def followed_up(question: str, before: str, day: date | None = None) -> str:
    """Return a question that goes on from another so that it stands by itself; empty where the
    other was not about the notes themselves, or this one does not go on from it.

    :param before: the question before, as it was understood.
    :param day: that was its answer, if it asked for one.

    >>> followed_up("And the one before?", "When did I last meet Ann?", date(2026, 11, 17))
    'When did I last meet Ann before 2026-11-17'
    >>> followed_up("how many are there?", "list all notes about the ferry")
    'how many notes about the ferry'
    """
    about = note_question(before)
    if about is None:
        return ""
    text, before = plain_question(question), plain_question(before)
    in_japanese = is_japanese(before) and not (parts_of(before) or _ENGLISH.match(before))
    if about.asked == Asked.LAST:
        if not (day and _EARLIER.fullmatch(text)):
            return ""
        plain = _DAY_BEFORE.sub("", before)
        return f"私が{day}より前に{plain}" if in_japanese else f"{plain} before {day}"
    lead, rest = parts_of(before) or ("", "")
    of = f"{about.subject}の" if about.subject else ""
    counts = about.asked == Asked.COUNT
    if counts and _WHICH_OF_THEM.fullmatch(text):
        return f"{of}ノートを全部" if in_japanese else f"which notes{rest}"
    if not counts and _HOW_MANY_OF_THEM.fullmatch(text):
        return f"{of}ノートはいくつ" if in_japanese else f"how many notes{rest}"
    match = (_AND_JA if in_japanese else _AND).fullmatch(text)
    more = match["more"] if match else ""
    if in_japanese:
        is_time = find_time(f"{more}のノート", date.today()) and not _NEW_JA.search(more)
        ends = "はいくつ" if counts else "を全部"
        return f"{more}の{of}ノート{ends}" if is_time else ""
    return _narrowed(lead, rest, more) if _CONDITION.match(more) else ""


def _narrowed(lead: str, rest: str, more: str) -> str:
    """Return the question with another subject, another time, or one condition more."""
    if _OTHER.match(more):
        made = f"{lead} {more}"
    else:
        whole, today = f"{lead}{rest}", date.today()
        time = find_time(whole.lower(), today)
        if time and find_time(f"notes {more.lower()}", today):
            whole = " ".join(f"{whole[: time.start]} {whole[time.end :]}".split())
        made = f"{whole} {'and ' if _NOT.match(more) else ''}{more}"
    return made if note_question(made) else ""
