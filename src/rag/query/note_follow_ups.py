"""Questions that go on from one about the notes themselves, made to stand by themselves.

"And the one before?" after a last date asks for an earlier one, "how many are there?" after a list
counts what it listed, "and from last month?" asks for the same notes of another time.
"""

from __future__ import annotations

import re
from datetime import date

from rag.query.note_questions import Asked, note_question, parts_of, plain_question
from rag.query.planner.rules.time_range_reader import find_time
from rag.text.scripts import is_japanese

_EARLIER = re.compile(
    r"(?:and |but )?(?:(?:what|how) about |when was )?"
    r"(?:(?:the )?(?:one|time|times|occasion) before(?: (?:that|then|it|last))?"
    r"|before (?:that|then)|(?:the )?(?:previous|last but one|second(?: to)? last)(?: one| time)?"
    r"|earlier)"
    r"|(?:じゃあ?|では)?、?(?:その|それの)(?:1つ|一つ)?(?:前|まえ)(?:の回|の時)?(?:は|に?は?いつ(?:ですか)?)?"
    r"|(?:1つ|一つ)前は",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"(?:and |so )?how many(?: (?:are there|are they|is that|in total|of them(?: are there)?))*"
    r"|(?:全部で)?(?:いくつ|何[件個本])(?:ある|あります|です)?か?",
    re.IGNORECASE,
)
_WHICH = re.compile(
    r"(?:and )?(?:which(?: ones?)?(?: are (?:they|those|these))?|what are they"
    r"|(?:list|show|name)(?: me)? (?:them|those|these)(?: all)?"
    r"|(?:list|show|name) all(?: of them)?)"
    r"|(?:それは)?どれ(?:です)?か?|(?:全部|一覧を?)?(?:見せて|教えて)(?:ください)?|一覧は?",
    re.IGNORECASE,
)
_AND = re.compile(
    r"(?:and|but|(?P<or>or))(?: (?:what|how) about)?(?: (?:the )?(?:ones|those))? (?P<a>.+)"
    r"|(?:what|how) about (?:the ones |those )?(?P<b>.+)",
    re.IGNORECASE,
)
_AND_JA = re.compile("(?:じゃあ?|では)?、?(?P<more>.+?)(?:のは|は|なら)(?:どう(?:です)?か?)?")
# What begins so asks or says something of its own, and says nothing of which notes are meant.
_NEW = re.compile(
    r"(?:who(?:m|se|'s)?|what(?:'s)?|when|where|why|how|which(?! (?:are|were|mention|contain))|if"
    r"|is|are|was|were|am|do|does|did|can|could|should|would|(?:will|shall|must|might|has|have|had)"
    r" \w+|i|i'm|you|he|she|it|it's|we|they|there|let|let's|please|tell|explain|describe"
    r"|summari[sz]e|compare|show|give|list|open|read|write|make|say|thanks?|thank you|thx"
    r"|ok|okay|cheers|great|good|nice|cool|yes|no|sure|bye)(?![\w'])",
    re.IGNORECASE,
)
_NEW_JA = re.compile("だれ|誰|なぜ|何故|どう|何|なに|どこ|いつ|どの|どれ|どちら|いくら")
_ENGLISH = re.compile(r"(?:and |on )?(?:when|how|what|which|it|the|my|our|last)\b", re.IGNORECASE)
_OTHER = re.compile(r"(?:about|on|mentioning|regarding|that mention|with the words?)\b", re.I)
_CONDITION = re.compile(
    r"(?:about|on|from|in|since|before|after|with|tagged|not|this|last|mention\w*)\b|[#-]|\w+:",
    re.IGNORECASE,
)
_NOT = re.compile(r"not \w", re.IGNORECASE)
_DAY_BEFORE = re.compile(r" before \d{4}-\d\d-\d\d$|^私が(?:\d{4}-\d\d-\d\dより前に)?")
_THEN = re.compile(
    r"(?:and |but )?(?:who|whom|what|where|why|how|was|were|did)\b.*"
    r"\b(?:there|then|that (?:day|time)|with (?:me|us))"
    r"|(?:その(?:時|とき|日|場)|そこ)(?:に|で|は|の)?.+",
    re.IGNORECASE,
)


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
        if day and _THEN.fullmatch(text):
            about = note_question(_DAY_BEFORE.sub("", before)) or about
            return f"{text} ({day} {about.subject})"
        return _earlier(before, day, in_japanese) if day and _EARLIER.fullmatch(text) else ""
    if in_japanese:
        return _japanese(text, about.asked, about.subject)
    lead, rest = parts_of(before) or ("", "")
    if _HOW_MANY.fullmatch(text) and about.asked == Asked.LIST:
        return f"how many notes{rest}"
    if _WHICH.fullmatch(text) and about.asked == Asked.COUNT:
        return f"which notes{rest}"
    if found := _AND.fullmatch(text):
        more = found["a"] or found["b"]
        if _NEW.match(more) or not re.search(r"\w", more):
            return ""
        is_word = found["or"] and not _CONDITION.match(more)
        return _narrowed(lead, rest, f"or {more}" if is_word else more)
    return ""


def _earlier(before: str, day: date, in_japanese: bool) -> str:
    plain = _DAY_BEFORE.sub("", before)
    return f"私が{day}より前に{plain}" if in_japanese else f"{plain} before {day}"


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


def _japanese(text: str, asked: Asked, subject: str) -> str:
    of = f"{subject}の" if subject else ""
    if _HOW_MANY.fullmatch(text) and asked == Asked.LIST:
        return f"{of}ノートはいくつ"
    if _WHICH.fullmatch(text) and asked == Asked.COUNT:
        return f"{of}ノートを全部"
    found = _AND_JA.fullmatch(text)
    if (
        found
        and not _NEW_JA.search(found["more"])
        and find_time(f"{found['more']}のノート", date.today())
    ):
        return f"{found['more']}の{of}ノート" + ("はいくつ" if asked == Asked.COUNT else "を全部")
    return ""
