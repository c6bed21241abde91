"""How much of an answer can be believed, found out while it streams.

Every sentence is judged by itself. It is *verified* when it names a source that was in the
window, and that source supports it: it holds enough of the sentence's words, all of its numbers
with their units and all of its names, and says the same with them (`rag.answers.agreement`). Where
the two are in different languages, and the sentence is in that of the question, only numbers and
names can be compared. What is not verified is treated by kind:

| in the answer | becomes |
|---|---|
| `[7]` of 5 sources | removed |
| `[1]`, but source 1 does not support it | `[1?]` |
| a sentence without a source | marked `[no source]` |
| a sentence of which neither the sources nor the question speak | removed |
| a quotation that stands in no source word for word, an address that stands in none | removed |
| a list of sources, reasoning, marks of a chat template | removed |

A sentence is *verified*, *doubtful* (it names a source that does not bear it out) or *unsupported*
(it names none). Nothing is shown before the first verified sentence, nor while most sentences so
far are unsupported. An answer of which nothing is shown is no answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from rag.answers.agreement import FRAME, Claim, Doubt, Progress, Verification, context_of, doubt
from rag.answers.claims import (
    CITATION,
    MIN_SHARE,
    Evidence,
    claims,
    named_sources,
    names,
    outside_code,
    share,
    without_citations,
)
from rag.answers.notices import is_not_found, is_refusal, marks_for, tongue
from rag.answers.prompt_injection import TEMPLATE_TOKEN
from rag.answers.quantities import read_quantities
from rag.text.messages import without_controls
from rag.text.tokenizer import has_words
from rag.vault.markdown import FENCE_MARK
from rag.vault.sentences import goes_on, is_undecided

_MIN_WORDS, _MIN_CHARACTERS = 4, 8  # of a quotation; the latter of scripts without spaces
_QUOTATION = re.compile('“[^”]*”|"[^"]*"|「[^」]*」|『[^』]*』')
_LINK = re.compile(r"!?\[(?P<text>[^\[\]\n]*)\]\(\s*<?(?P<target>[^()\s>]*)>?[^()\n]*\)")
_ADDRESS = re.compile(
    r"<?\b(?:[a-z][a-z0-9+.-]{1,15}://|www\.|mailto:)[^\s<>「」、。）]+>?"
    r"|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    re.IGNORECASE,
)
_AROUND = "<>.,;:!?)*_'\"|"  # an address in a sentence


SENTENCE, QUOTE, ROW = "sentence", "quote", "row"
HEADING, FENCE, BLANK = "heading", "fence", "blank"
_WHOLE_LINE = re.compile(r"\s*(?:[>|#`~]|$)")
_STOP = re.compile(r"[。．！？]+[」』）】”’\"]*|[.!?…]+[\"”’)*_]*")
# Citations, and what this module makes of them where they are doubtful, or lack.
_CITATIONS = re.compile(
    rf"(?:[ \t]*(?:{CITATION.pattern}|\[\d+\?\]|\[no source\]|\[出典なし\]))*", re.IGNORECASE
)
_SPACE = re.compile("[ \t\u3000]*")
_BRACKET = re.compile(r"[\]］】]")
_MARKS = re.compile('[“”「」『』"`]')
_LONGEST_CITATION = 120  # a bracket that is not closed by then is none
_LONGEST_SENTENCE = 1000  # one of more waits for its line's end: looking again and again costs
_MORE = " a"  # what may follow a sentence that is whole
_OPENING, _CLOSING = "“「『", "”」』"
_HIRAGANA = re.compile("[\u3041-\u309f]")


class Unit(NamedTuple):
    """A piece of an answer, with the white space behind it; `begins` a line or not."""

    kind: str
    text: str
    begins: bool = True


class UnitSplitter:
    """Cut a stream of text into units; put together they are the text."""

    def __init__(self) -> None:
        self._buffer = ""
        self._begins = True
        self._fence: list[str] = []
        self._mark = ""

    def feed(self, text: str) -> list[Unit]:
        """Return the units that are whole now."""
        self._buffer += text.replace("\r", "")
        units: list[Unit] = []
        while (end := self._buffer.find("\n")) >= 0:
            line, self._buffer = self._buffer[: end + 1], self._buffer[end + 1 :]
            units += self._line(line)
        holds = self._fence or (self._begins and _WHOLE_LINE.match(self._buffer))
        if not holds and len(self._buffer) <= _LONGEST_SENTENCE:
            starts = [0, *sentence_ends(self._buffer)]
            for first, last in pairwise(starts):
                units.append(Unit(SENTENCE, self._buffer[first:last], self._begins))
                self._begins = False
            self._buffer = self._buffer[starts[-1] :]
        return units

    def end(self, whole: bool = True) -> list[Unit]:
        """Return what was held back until now.

        :param whole: whether the answer came to its end; of one that did not, a sentence or
            fence that is not whole is left out.
        """
        line, self._buffer = self._buffer, ""
        if not whole and not self._fence:
            line = line[: max((end for end in sentence_ends(line + _MORE)), default=0)]
        units = self._line(line) if line else []
        if self._fence and whole:
            units.append(Unit(FENCE, "".join(self._fence)))
        self._fence = []
        return units

    def _line(self, line: str) -> list[Unit]:
        begins, self._begins = self._begins, True
        if self._fence:
            self._fence.append(line)
            closing = FENCE_MARK.match(line)
            if closing and closing[1].startswith(self._mark) and line.strip() == closing[1]:
                whole, self._fence = "".join(self._fence), []
                return [Unit(FENCE, whole)]
            return []
        if begins:
            if opening := FENCE_MARK.match(line):
                self._fence, self._mark = [line], opening[1]
                return []
            if not line.strip():
                return [Unit(BLANK, line)]
            kind = {"#": HEADING, "|": ROW, ">": QUOTE}.get(line.lstrip()[0])
            if kind:
                return [Unit(kind, line)]
        return _sentences(line, begins)


def _sentences(line: str, begins: bool) -> list[Unit]:
    starts = [0, *sentence_ends(f"{line}\n"), len(line)]
    return [Unit(SENTENCE, line[a:b], begins and not a) for a, b in pairwise(starts)]


def sentence_ends(text: str) -> list[int]:
    """Return where in `text` sentences end that are certainly whole, white space behind included.

    The citations behind a stop belong to its sentence. What is in quotation marks or code is
    never cut.
    """
    ends: list[int] = []
    counted, marks = 0, Counter[str]()
    for stop in _STOP.finditer(text):
        cited = _CITATIONS.match(text, stop.end())
        behind = cited.end() if cited else stop.end()
        space = _SPACE.match(text, behind)
        following = space.end() if space else behind
        if not text[following : following + 1].strip():
            break  # what follows may change it; a line end belongs to the sentence before it
        rest = text[following : following + _LONGEST_CITATION]
        if rest[0] in "\\[［【" and len(rest) < _LONGEST_CITATION and not _BRACKET.search(rest):
            break  # a bracket that may become a citation
        marks.update(_MARKS.findall(text, counted, stop.end()))
        counted = stop.end()
        start = ends[-1] if ends else 0
        if is_undecided(text, start, stop.end()):
            break
        nested = sum(marks[mark] for mark in _OPENING) - sum(marks[mark] for mark in _CLOSING)
        is_open = nested > 0 or marks['"'] % 2 == 1 or marks["`"] % 2 == 1
        if _is_end(text, start, stop, behind) and not is_open:
            ends.append(following)
            marks.clear()
    return ends


def _is_end(text: str, start: int, stop: re.Match[str], behind: int) -> bool:
    if stop[0][0] in ".!?…":
        if behind == stop.end() and not text[behind].isspace():
            return False  # 3.5, rag.toml
        return stop[0] != "." or not goes_on(text, start, stop.end())
    return not (stop[0][-1] in "」』" and _HIRAGANA.match(text, behind))  # 「…。」と書いた


_MIN_CITED_SHARE = 0.3  # of a sentence's words, in each of several sources that it names
_HOPELESS = 8  # sentences at the beginning of an answer, none of them borne out
_FEW_ENDINGS = 4  # pairs of hiragana that say nothing by themselves
_ENDINGS = re.compile("[\u3041-\u309f]*")
_LEAD = re.compile(r"\s*(?:>\s?)*\s*(?:(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?)?")
_SOURCES = re.compile(
    r"\W*(?:sources?|references?|citations?|footnotes?|bibliography|出典|参考(?:文献|資料)?|参照元?"
    r"|引用元?|情報源)(?:\s+used)?\W*$",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"\s*(?:[-*+]\s|\d+[.)]\s|\\?[\[［【]|$)")
_DEFINITION = re.compile(r"\s*\[\^?\d+\]:")
_THINK = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_BARE_REPLY = frozenset({"yes", "no", "はい", "いいえ"})
_SPACED_CITATION = re.compile(rf"(?P<space>[ \t]*){CITATION.pattern}", re.IGNORECASE)
_ROW_RULE = re.compile(r"[\s|:\-]*$")


class Verifier:
    """Judge an answer as it streams: `feed` gives what may be shown now, `end` the rest.

    :param window: what the model was shown, in the order of the numbers.
    :param question: what it was asked; its words and numbers may be repeated.
    :param numbered: whether it was shown the numbers. Of an answer that can name no source all that
        the notes may have said is kept, unverified.
    """

    def __init__(self, window: Sequence[Evidence], question: str, numbered: bool = True) -> None:
        self._window, self._marks, self._numbered = window, marks_for(question), numbered
        self._question, self._tongue = Evidence(question), tongue(question)
        self._known = frozenset().union(self._question.terms, *(e.terms for e in window))
        self._tongues = frozenset().union(*(e.tongues for e in window))
        self._splitter = UnitSplitter()
        self._found = Verification()
        self._kept = Verification()  # what of it is shown
        self._says_not_found, self._refusals = False, 0
        self._given = 0
        self._state, self._rows, self._before = "", 0, ""

    def feed(self, text: str) -> str:
        """Return what may be shown of the answer, now that this came."""
        return self._take(self._splitter.feed(text))

    def end(self, whole: bool = True) -> tuple[str, Verification]:
        """Return the rest that may be shown, and all that was found.

        :param whole: whether the answer came to its end; half a sentence is not judged.
        """
        rest = self._take(self._splitter.end(whole))
        # One refusal among much else that was said does not make an answer one.
        sentences = self._sentences
        self._found.refused = self._says_not_found or 0 < sentences <= 2 * self._refusals
        report, kept = self._found, self._kept
        report.unverified = bool(report.claims) and not (report.refused or self._must_cite)
        if report.unverified:
            return report.text.rstrip(), report
        if not kept.text:
            report.text, report.order = "", []
        elif not report.believed:  # what came after most of it had become unsupported is left out
            report.removed += ["sentence"] * (len(report.claims) - len(kept.claims))
            report.text, report.foreign = kept.text, kept.foreign
            report.claims, report.order = kept.claims, kept.order
        return rest, report

    @property
    def progress(self) -> Progress:
        """How many sentences came, and what became of them so far."""
        held_back = len(self._found.claims) - len(self._kept.claims)
        return Progress(self._sentences, held_back, self._found.removed.count("sentence"))

    @property
    def is_hopeless(self) -> bool:
        """Whether so many sentences came, and none of them is borne out, that no more need come."""
        supported = any(claim.supported for claim in self._found.claims)
        return self._must_cite and self._sentences >= _HOPELESS and not supported

    @property
    def _must_cite(self) -> bool:
        """Whether the model can name sources: it was shown their numbers, or has named some."""
        cites = self._found.foreign or any(claim.sources for claim in self._found.claims)
        return self._numbered or bool(cites)

    @property
    def _sentences(self) -> int:
        return len(self._found.claims) + self._found.removed.count("sentence")

    def _take(self, units: list[Unit]) -> str:
        for unit in units:
            self._add(unit, self._judge(unit))
            report = self._found
            if report.believed:
                claims, order = [*report.claims], [*report.order]
                self._kept = replace(report, claims=claims, order=order)
        # White space at the end waits for what it parts from.
        shown = self._kept.text.rstrip()
        new, self._given = shown[self._given :], max(self._given, len(shown))
        return new

    def _add(self, unit: Unit, shown: str) -> None:
        """Append what is left of a unit; what was removed leaves no hole."""
        text = self._found.text
        if shown.strip():
            self._found.text = text + shown if text else shown.lstrip("\n")
        elif "\n" in unit.text and text:
            ends = "\n\n" if unit.kind == BLANK else "\n"
            self._found.text = text if text.endswith(ends) else text + "\n"

    def _judge(self, unit: Unit) -> str:
        self._rows = self._rows + 1 if unit.kind == ROW else 0
        text = without_controls(unit.text)
        text = self._without_reasoning(text)
        if unit.kind == BLANK or not text.strip():
            return ""
        if unit.kind == FENCE:
            return self._fence(text)
        text = outside_code(lambda part: TEMPLATE_TOKEN.sub("", part), text)
        if unit.begins and self._lists_sources(text):
            return ""
        return self._sentence(unit.kind, text)

    def _strike(self, what: str) -> str:
        self._found.removed.append(what)
        return ""

    def _without_reasoning(self, text: str) -> str:
        """Cut out what stands between marks of reasoning, over the ends of units too. One that only
        ends was begun where nobody saw it: all before it was reasoning."""
        kept, at = "", 0
        for mark in _THINK.finditer(text):
            if self._state != "thinking":
                kept += text[at : mark.start()]
            if not mark[0].startswith("</"):
                self._strike("reasoning")
                self._state = "thinking"
            elif self._state == "thinking":
                self._state = ""
            elif not self._kept.text:
                kept, self._found = "", Verification(removed=[*self._found.removed, "reasoning"])
            at = mark.end()
        return kept if self._state == "thinking" else kept + text[at:]

    def _lists_sources(self, text: str) -> bool:
        """Return whether a line belongs to a list of sources of the model's own."""
        if _SOURCES.match(text.strip()) or _DEFINITION.match(text):
            if self._state != "sources":
                self._strike("sources")
            self._state = "sources"
        elif self._state == "sources" and not _ENTRY.match(text):
            self._state = ""
        return self._state == "sources"

    def _fence(self, text: str) -> str:
        """Code is a quotation: it stands as it is when the notes hold its lines."""
        first, _, code = text.partition("\n")
        if not any(first.strip() in e.text for e in self._window):
            text = f"{first[: len(first) - len(first.lstrip('`~ '))]}\n{code}"  # no words there
        if all(any(e.says(line) for e in self._window) for line in code.split("\n")):
            return text
        if self._is_foreign(text):
            return self._strike("sentence")
        self._found.claims.append(Claim(text.strip()))
        return f"{text.rstrip()}\n{self._marks.no_source}\n"

    def _sentence(self, kind: str, text: str) -> str:
        lead = _LEAD.match(text) if kind not in (HEADING, ROW) else None
        start = lead.end() if lead else 0
        stop = len(text.rstrip())
        body, tail = text[start:stop], text[stop:]
        cited, false = self._cited(body)
        if is_not_found(without_citations(body)):
            self._found.refused = self._says_not_found = True
            return ""
        if kind == ROW and _ROW_RULE.match(body):
            return text if self._found.text.rstrip().endswith("|") else ""
        self._refusals += is_refusal(body)
        self._found.removed += false
        body, doubtful = self._without_fabrications(body, cited, kind == QUOTE)
        bare = without_citations(body)
        spoken = bare.replace(self._marks.no_quotation, " ").replace(self._marks.no_address, " ")
        plain = not has_words(bare) or bare.strip(" .!。！、,*_").lower() in _BARE_REPLY
        supported, why = ([], "") if doubtful or plain else self._supporting(bare, cited)
        self._before = bare
        if not supported and not plain and self._is_foreign(spoken):
            self._found.foreign += bool(cited)
            return self._strike("sentence")
        body = outside_code(lambda part: self._renumber(part, supported), body)
        if not body.strip():
            return ""
        is_head = kind == HEADING or (kind == ROW and self._rows == 1)
        if plain or (not cited and (is_head or bare.rstrip("*_ ").endswith((":", "：")))):
            return text[:start] + body + tail
        shown = tuple(self._number(n) for n in cited)
        if not cited:
            body = _marked(body, self._marks.no_source, kind)
        self._found.claims.append(Claim(body.strip(), shown, bool(supported), why))
        return text[:start] + body + tail

    def _without_fabrications(self, body: str, cited: list[int], quoted: bool) -> tuple[str, bool]:
        """Return a sentence without quotations and addresses that stand in no source; and if it
        is doubtful, as one is whose quotation stands in another source than those it names."""
        is_doubtful = False

        def check(whole: str, inside: str) -> str:
            nonlocal is_doubtful
            holders = self._holders(without_citations(inside))
            if holders is None:
                is_doubtful = True
                self._strike("quotation")
                return self._marks.no_quotation + "".join(c[0] for c in CITATION.finditer(inside))
            is_doubtful |= bool(cited and not holders & set(cited))
            return whole

        def check_address(whole: str, address: str, instead: str) -> str:
            nonlocal is_doubtful
            address = address.casefold()
            if any(address in e.text.casefold() for e in (*self._window, self._question)):
                return whole
            is_doubtful = True
            self._strike("address")
            return instead

        def check_addresses(part: str) -> str:
            part = CITATION.sub(lambda c: c[0].removesuffix(c["address"] or ""), part)
            part = _LINK.sub(lambda m: check_address(m[0], m["target"], m["text"]), part)
            mark = self._marks.no_address
            return _ADDRESS.sub(lambda m: check_address(m[0], m[0].strip(_AROUND), mark), part)

        body = outside_code(check_addresses, body)
        if quoted:
            body = check(body, body)
        else:  # what is code inside a quotation belongs to it
            body = _QUOTATION.sub(lambda match: check(match[0], match[0][1:-1]), body)
        return body, is_doubtful

    def _holders(self, quotation: str) -> set[int] | None:
        """Return the sources in which a quotation stands, all of them for the question's own words;
        `None` when it was invented. A few words that stand in none may be meant otherwise."""
        if self._question.says(quotation):
            return {*range(1, len(self._window) + 1)}
        holders = {n for n, source in enumerate(self._window, 1) if source.says(quotation)}
        wide = sum(char > "\u2e80" for char in quotation)
        is_long = wide >= _MIN_CHARACTERS or len(quotation.split()) >= _MIN_WORDS
        return holders if holders or not is_long else None

    def _cited(self, body: str) -> tuple[list[int], list[str]]:
        cited: list[int] = []
        false: list[str] = []

        def note(part: str) -> str:
            for citation in CITATION.finditer(part):
                good, bad = named_sources(citation, len(self._window))
                cited.extend(good)
                false.extend(bad)
            return part

        outside_code(note, body)
        return list(dict.fromkeys(cited)), false

    def _is_foreign(self, text: str) -> bool:
        """Return whether neither the sources nor the question speak of what a sentence says."""
        terms, language = claims(text) - FRAME, tongue(text)
        if language == self._tongue and language not in self._tongues:
            return False  # a Japanese answer from English notes: their words cannot be compared
        if len(terms) < _FEW_ENDINGS and _ENDINGS.fullmatch("".join(terms)):
            return False
        return share(terms, self._known) < MIN_SHARE

    def _supporting(self, text: str, cited: list[int]) -> tuple[list[int], Doubt]:
        """Return those of the cited sources that support a sentence, none if they do not; and
        why, where they speak of the same and say something else."""
        sources = {n: self._window[n - 1] for n in cited}
        numbers = [number for number in read_quantities(text) if not number.loose]
        numbers_there = [q for e in (self._question, *sources.values()) for q in e.quantities]
        if not cited:
            return [], ""
        if not all(any(number.agrees(q) for q in numbers_there) for number in numbers):
            return [], "number"
        if not all(
            any(e.names(name) for e in (self._question, *self._window)) for name in names(text)
        ):
            return [], "name"
        terms, language = claims(text) - FRAME, tongue(text)
        # Words of a language can be compared with those of a source in it; too short to tell: yes.
        is_latin = len(language) == 2 and language != "ja"
        readable = {
            n: e
            for n, e in sources.items()
            if not language or language in e.tongues or (is_latin and not e.tongues)
        }
        if not readable:
            return cited if language == self._tongue else [], ""
        if not terms:
            return (cited if numbers else []), ""
        if share(terms, frozenset().union(*(e.terms for e in readable.values()))) < MIN_SHARE:
            return [], ""
        context = context_of(self._question.text, self._before, self._found.believed)
        if why := doubt(text, [e.clauses for e in readable.values()], context):
            return [], why
        return [
            n
            for n in cited
            if n not in readable or share(terms, readable[n].terms) >= _MIN_CITED_SHARE
        ], ""

    def _renumber(self, part: str, supported: list[int]) -> str:
        """Write citations with the numbers of the answer; a false one goes, and the space before
        it."""

        def write(match: re.Match[str]) -> str:
            good, _ = named_sources(match, len(self._window))
            shown = "".join(f"[{self._number(n)}{'' if n in supported else '?'}]" for n in good)
            return match["space"] + shown if shown else ""

        return _SPACED_CITATION.sub(write, part)

    def _number(self, source: int) -> int:
        """Return the number of a source in the answer: they count as they are first named."""
        if source not in self._found.order:
            self._found.order.append(source)
        return self._found.order.index(source) + 1


def _marked(body: str, mark: str, kind: str) -> str:
    """Put a mark behind a sentence; in a row of a table, into its last cell."""
    if kind == ROW and body.endswith("|"):
        return f"{body[:-1].rstrip()} {mark} |"
    return f"{body} {mark}"
