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

_COUNT = r"(?:tell me )?(?:how many|(?:what(?:'s| is) )?the (?:total )?number of|count(?: up)?)"
_LIST = (
    r"(?:list|show|find|get|give)(?: me| us)?(?: (?:a|the) (?:complete )?list of)?"
    r"|(?:a|the) (?:complete )?list of|i(?:'d like| want| need)(?: to see)?(?: a list of)?"
)
_LEAD = re.compile(
    r"(?:please )?(?:(?:can|could|would) you (?:please )?)?"
    rf"(?:(?P<count>{_COUNT})|(?P<list>{_LIST})|all(?: of)?"
    r"|(?P<which>(?:(?:and|so) )?(?:which|what)(?: of)?)) "
    r"(?:(?:all|any|of|the|(?P<own>my|our)|these|those|other|different) )*"
    r"(?:notes|memos|(?:journal |diary |log )?entries)\b",
    re.IGNORECASE,
)
_I = "(?:i|we)"
_WHO = r"(?: (?:that|which))?(?: (?:are|is|were|was|have been))?"
# What may follow the word for notes, and leads to more of the same.
_LEADS = re.compile(
    rf" (?P<own>(?:(?:that|which) )?(?:(?:do|did|have|had) {_I}|{_I}(?:'ve| have)?)\b"
    r"(?: (?:have|wr[io]te|written|take|took|ma[kd]e|add(?:ed)?|kept|saved?))?(?: down)?(?![\w']))"
    r"|(?P<there> (?:are there|there are|exist|in (?:total|all)|altogether|so far|please)\b)"
    rf"|(?P<about>{_WHO} (?:(?:mention|contain|discuss|cover|concern)(?:s|es|ed|ing)?"
    r"|(?:talk|speak)(?:s|ing)? (?:about|of)|refer(?:s|ring)? to|deal(?:s|ing)? with|about"
    r"|regarding|relat(?:ed|ing) to|with the (?:words?|phrase))(?=[\s:]|$))"
    r"|(?P<on> on\b)| the (?:words?|phrase|terms?)(?= \S)",
    re.IGNORECASE,
)
_AT_THE_END = re.compile(
    rf"(?:^| )(?:(?:do|did|have) {_I}(?: (?:have|wr[io]te|written|made|taken))?|are there|exist"
    r"|in total|altogether|so far|please)$",
    re.IGNORECASE,
)
# What notes are not to hold. It may follow what they are to hold, or begin.
_NOT_ABOUT = re.compile(
    r",?(?: (?:and|but))?(?:(?: (?:that|which))? (?:do|did)(?: not|n't| never)"
    r" (?:mention|contain|discuss|cover|talk about|refer to|include)"
    r"|(?:(?: (?:that|which))? are)? not (?:mentioning|containing|about|on)"
    r"|(?<=\S) (?:and|but) not(?: about| on)?"
    r"(?! (?:in|from|of|since|until|before|after|during|tagged|with|yet|only|just|the ones)\b)"
    r"| without (?:the words?|the phrase|(?:any )?mention(?:ing)?(?: of)?))"
    r"(?: the (?:words?|phrase))?(?: any of)? (?=\S)",
    re.IGNORECASE,
)
# Tags, names and vaults that choose notes.
_MARKED = re.compile(
    rf"{_WHO} (?:(?:not )?tagged|labell?ed|named|called|titled)\b"
    r"| with(?:out)? (?:the |a )?(?:tags?\b|labels?\b|status\b|priority\b|author\b|title\b|#)"
    r"| (?:#\w|-?(?:tag|path|title|vault):\S|[\"“])"
    rf"|{_WHO} (?:in|from|of) (?:(?:the|my|our) (?:\S+ ){{0,3}}vaults?|vault \S+)\b",
    re.IGNORECASE,
)
# Whether notes have tags at all is in no filter, and the word itself stands for nothing else.
_HAVING = re.compile(
    r"(?:\b(?:with(?:out)?|have|has|having|no)(?: (?:any|no|a|the|at least one))*"
    r" (?:tags?|labels?|titles?|alias(?:es)?|propert(?:y|ies)|front ?matter|headings?|links?)"
    r"|\b(?:not |un|isn't |aren't )tagged)(?: at all)?"
    r"(?=$|,| (?:and|or|but|do|did|have|are|exist|in|from|since|before|of|on|about|that|which)\b)"
    "|(?:^|[\\s、にのは])(?:(?:タグ|ラベル|タイトル|題名?|見出し|リンク|プロパティ)(?:[のがはも]|を持[たっ])?"
    "(?:な[いし]|無[いし]|(?:付|つ)い?て?い?ない)|(?:タグ|ラベル)[のが](?:あ[るり]|(?:付|つ)い[たて]))",
    re.IGNORECASE,
)

_NO_TIME = r"(?!(?:day|night|week|weekend|month|quarter|year|spring|summer|autumn|fall|winter)\b)"
_LAST = re.compile(
    rf"(?:and )?(?:(?:(?:when|how long ago|(?:on )?(?:what|which) (?:day|date)) (?:did|have|had)"
    r"|how long (?:has it been |is it |it's been )?since)"
    rf" {_I} (?:last|most recently) {_NO_TIME}(.+)"
    rf"|when did {_I} (.+?)(?: for)?(?: the)? (?:last(?: time)?|most recently)"
    r"|(?:(?:when|what) (?:was|is) )?(?:it )?(?:the |my |our )?(?:last|latest|most recent)"
    rf" (?:time|day|date)(?: that| when)? {_I}(?:'ve| have|'d| had)? (.+)"
    rf"|when (?:was|were) (?:my|our) (?:last|latest|most recent) {_NO_TIME}(.+))",
    re.IGNORECASE,
)
_WROTE = re.compile(
    r"(?:wr(?:ite|ote|itten) (?:down |something |anything )?(?:about|on|of)"
    r"|mention(?:ed)?|not(?:e|ed) down|jot(?:ted)? down)\s+"
    "|(?:について|に関して|のことを?)?(?:書い|触れ|メモし|記録し|言及し)(?:た|ました)$",
    re.IGNORECASE,
)

_JA_NOTES = "(?<![ァ-ヺー])(?:ノート|メモ|記事|日記)(?!ブック|パソコン|帳)"
_JA_ASKED = "(?:です|でした|だった|でしょう|だ)?(?:っけ|か|の|かな|の?ですか)?"
_JA_ALL = "(?:全部|すべて|全て|一覧|リスト|ぜんぶ)"
_JA_SHOW = (
    "(?:(?:[をにで]|として)?(?:見せ|出し|教え|表示し|挙げ|列挙し|一覧にし|まとめ|探し|し)て"
    "(?:ください|ほしい|くれ)?|[をが]?(?:見たい|知りたい)|を?(?:列挙|表示|ください|お願いします)|[はを])?"
)
_JA_COUNT_END = (
    "(?:って|[はがを])?(?:全部で|全体で|合計で|合わせて|今|現在|、)?(?:いくつ|何[個件本枚冊つ]|どの?れ?くらい)"
    f"(?:ある|あります|あった|ありました|残っている|(?:書|作)[いっ]た|(?:書き|作り)ました)?{_JA_ASKED}"
    f"|の?(?:総?数|件数)は?(?:いくつ|(?:を|)教えて(?:ください)?)?{_JA_ASKED}"
    "|(?:の数)?を数えて(?:ください)?"
)
_JA_LIST_END = f"[をはのが]?、?{_JA_ALL}{_JA_SHOW}"
_JA_COUNTS = re.compile(
    f"(.*?){_JA_NOTES}(?:{_JA_COUNT_END})"
    f"|(?:いくつ|何[個件本枚冊])の{_JA_NOTES}[がにで](.+?){_JA_ASKED}"
)
_JA_LISTS = re.compile(
    f"(.*?){_JA_NOTES}{_JA_LIST_END}|(.*?)(?:全部|すべて|全て)の(.*?){_JA_NOTES}{_JA_SHOW}"
    f"|(.+?){_JA_NOTES}(?:を(?:列挙|一覧|リストアップ|見せて|挙げて|表示して)(?:して)?(?:ください)?"
    f"|は(?:どれ|何|どこ){_JA_ASKED})|どの{_JA_NOTES}[がにで](.+?){_JA_ASKED}"
)
_JA_AT_THE_END = re.compile(
    f"(?:{_JA_COUNT_END}|{_JA_LIST_END}|は?(?:どれ|何){_JA_ASKED})$"
    "|(?:(?:について|に関する|に関して|に関連する|に言及し(?:た|ている)|に触れ(?:た|ている)|を含む|が含まれる"
    "|が書(?:いてある|かれた)|を書いた|が出てくる|という|[のが](?:付い|つい)た)の?|の|、)$"
)
_JA_MINE = "(?:(?:私|わたし|僕|ぼく|俺|自分)(?:たち|達)?(?:が|は))?"
_JA_WHEN = "(?:いつ(?:頃|ごろ)?|何日(?:前)?|何月何日|何曜日|どの日)"
_JA_LAST = re.compile(
    f"{_JA_MINE}([^がはの]*?)(?:(?:最後に|前回|一番最近|最近|直近で|この前|このあいだ)、?{_JA_MINE}"
    f"(.+?)(?:の|日|こと)(?:は|って){_JA_WHEN}|{_JA_WHEN}、?(?:最後に|前回){_JA_MINE}(.+?)){_JA_ASKED}"
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

    >>> note_question("How many notes mention the ferry?")
    NoteQuestion(asked=<Asked.COUNT: 'count'>, subject='the ferry')
    >>> note_question("How many notes fit in a bar of music?")
    """
    if len(question) > _LONGEST:
        return None
    text = _plain(question)
    unwanted = _NOT_ABOUT.search(text)
    # Several sentences, tags of any name, or two things that each or both together are unwanted.
    if _SENTENCES.search(text) or _HAVING.search(text):
        return None
    if unwanted and " and " in text[unwanted.end() :]:
        return None
    if last := _last_event(text):
        return None if alternatives(last) else NoteQuestion(Asked.LAST, last)
    if lead := _LEAD.match(text):
        is_own, may_end = bool(lead["list"] or lead["own"]), not lead["which"]
        if not _chooses(text[lead.end() :], today or date.today(), is_own, may_end):
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
    text = _plain(text)
    if last := _last_event(text):
        return last
    lead = _LEAD.match(text)
    start = lead.end() if lead else 0
    left = f" {text[start:]}".replace("  ", " ")
    if match := _NOT_ABOUT.search(left):
        held = subject_of(f"{text[:start]}{left[: match.start()]}")
        return " ".join(filter(None, [held, *_unwanted(left[match.end() :])]))
    while match := _LEADS.match(left):
        left = f" {left[match.end() :].lstrip(' :')}"
    if match := _JA_COUNTS.fullmatch(left.strip()) or _JA_LISTS.fullmatch(left.strip()):
        return subject_of("".join(filter(None, match.groups())))
    for pattern in (_AT_THE_END, _JA_AT_THE_END):
        while match := pattern.search(left):
            left = left[: match.start()]
    return left.strip()


def _unwanted(words: str) -> list[str]:
    """Return words that notes are not to hold in the query syntax, what is further asked of the
    notes after them."""
    spoken, *conditions = re.split(r" (?=-\S|#\w|\w+:\S)", words)
    names = re.split(r",? n?or |, ", _AT_THE_END.sub("", spoken), flags=re.IGNORECASE)
    names = [re.sub("(?i)^(?:the|an?|any|my|our) (?=.)", "", n.strip(" \"'“”")) for n in names]
    return [f'-"{name}"' if " " in name else f"-{name}" for name in names if name] + conditions


def _plain(question: str) -> str:
    text = " ".join(unicodedata.normalize("NFKC", question).split())
    return _END.sub("", text).replace("’", "'").strip()


def _last_event(text: str) -> str:
    """Return what it is whose last day is asked for; empty for any other question."""
    match = _LAST.fullmatch(text) or _JA_LAST.fullmatch(text)
    event = "".join(filter(None, match.groups())) if match else ""
    if match and match.re is _JA_LAST and "が" in event:  # somebody or something else
        return ""
    return _WROTE.sub("", event, count=1).strip()


def _chooses(rest: str, today: date, is_own: bool, may_end: bool) -> bool:
    """Return whether what follows the word for notes says which notes of whoever asks are meant;
    all of them `may_end` the question."""
    if not rest.strip():
        return may_end
    who = re.match(_WHO, rest, re.IGNORECASE)
    time = find_time(f"notes{rest[who.end() if who else 0 :].lower()}", today)
    if (time and time.start <= len("notes ")) or _MARKED.match(rest) or _NOT_ABOUT.match(rest):
        return True
    match = _LEADS.match(rest)
    if match and (match["own"] or match["there"]):
        return _chooses(rest[match.end() :], today, is_own or bool(match["own"]), may_end=True)
    return bool(match and (match["about"] or (is_own and match["on"])))


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
    conditions = [subject[start:end] for start, end in condition_spans(subject)]
    rest = subject
    for start, end in reversed(condition_spans(subject)):
        rest = rest[:start] + rest[end:]
    rest = re.sub("(?i)either (?=.)", "", rest.strip(), count=1)
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
    r"(?:and |but )?(?:(?:what|how) about |when was )?(?:before (?:that|then)|earlier"
    r"|(?:the )?(?:one|times?|occasion) before(?: (?:that|then|it|last))?"
    r"|(?:the )?(?:previous|last but one|second(?: to)? last)(?: one| time)?)"
    r"|(?:じゃあ?|では)?、?(?:(?:その|それの)(?:1つ|一つ)?|1つ|一つ)(?:前|まえ)(?:の回|の時)?(?:は|に?は?いつ(?:ですか)?)?",
    re.IGNORECASE,
)
_HOW_MANY_OF_THEM = re.compile(
    r"(?:and |so )?how many(?: (?:are there|are they|is that|in total|of them(?: are there)?))*"
    r"|(?:全部で)?(?:いくつ|何[件個本])(?:ある|あります|です)?か?",
    re.IGNORECASE,
)
_WHICH_OF_THEM = re.compile(
    r"(?:and )?(?:which(?: ones?)?(?: are (?:they|those|these))?|what are they"
    r"|(?:list|show|name)(?: me)? (?:(?:them|those|these)(?: all)?|all(?: of them)?))"
    r"|(?:それは)?どれ(?:です)?か?|(?:全部|一覧を?)?(?:見せて|教えて)(?:ください)?|一覧は?",
    re.IGNORECASE,
)
_AND = re.compile(
    r"(?:and|but|what about|how about)(?: (?:what|how) about)?(?: (?:the )?(?:ones|those))? "
    r"(?P<more>(?:(?P<other>about|on|mention(?:ing)?|regarding|with the words?)|from|in|since"
    r"|before|after|with|tagged|(?P<no>not)|this|last)\b.+|#.+|-.+|\w+:.+)",
    re.IGNORECASE,
)
_AND_JA = re.compile("(?:じゃあ?|では)?、?(?P<more>.+?)(?:のは|は|なら)(?:どう(?:です)?か?)?")
_DAY_BEFORE = re.compile(r" before \d{4}-\d\d-\d\d$|^私が(?:\d{4}-\d\d-\d\dより前に)?")


def followed_up(question: str, before: str, day: date | None = None) -> str:
    """Return a question that goes on from another so that it stands by itself; empty where the
    other was not about the notes themselves, or this one does not go on from it. `day` was its
    answer, if it asked for one.

    >>> followed_up("And the one before?", "When did I last meet Ann?", date(2026, 11, 17))
    'When did I last meet Ann before 2026-11-17'
    """
    about = note_question(before)
    if about is None:
        return ""
    text, before, today = _plain(question), _plain(before), date.today()
    lead = _LEAD.match(before)
    if about.asked == Asked.LAST:
        if not (day and _EARLIER.fullmatch(text)):
            return ""
        plain = _DAY_BEFORE.sub("", before)
        is_english = _LAST.fullmatch(before)
        return f"{plain} before {day}" if is_english else f"私が{day}より前に{plain}"
    counts = about.asked == Asked.COUNT
    turned = (_WHICH_OF_THEM if counts else _HOW_MANY_OF_THEM).fullmatch(text)
    if lead is None:
        more, of = "", f"{about.subject}の" if about.subject else ""
        if not turned:
            match = _AND_JA.fullmatch(text)
            more = f"{match['more']}の" if match else ""
            if not find_time(f"{more}ノート", today):
                return ""
        return f"{more}{of}ノート{'はいくつ' if counts != bool(turned) else 'を全部'}"
    if turned:
        return f"{'which' if counts else 'how many'} notes{before[lead.end() :]}"
    match = _AND.fullmatch(text)
    if not match:
        return ""
    if match["other"]:  # another subject
        narrowed = f"{lead[0]} {match['more']}"
    else:  # another time, or a condition more
        time = find_time(before.lower(), today)
        if time and find_time(f"notes {match['more'].lower()}", today):
            before = " ".join(f"{before[: time.start]} {before[time.end :]}".split())
        narrowed = f"{before} {'and ' if match['no'] else ''}{match['more']}"
    return narrowed if note_question(narrowed) else ""
