"""What a sentence claims: its clauses, relations, whether it affirms or denies, opposites; and
what a source can support: its words, its numbers, its wording."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

from rag.answers.notices import tongue
from rag.answers.quantities import Quantity, quantities, read_quantities, without_quantities
from rag.text.tokenizer import STOP_TERMS, TOKEN, cleaned, stem
from rag.vault.markdown import plain
from rag.vault.sentences import sentence_spans

# Where a negation turns one into the other: "not allowed" is prohibited.
AXES = {
    "allowed": (
        r"\b(?:may|can|could|allow(?:s|ed)?|permit(?:s|ted)?|possible|permissible|able to)\b"
        r"|(?<!不)許可|許され|認められ|でき|出来|(?<!不)可能|(?<!不許)(?<![許不])可(?!能)",
        r"\b(?:prohibit(?:s|ed)?|forbid(?:s|den)?|bann?(?:ed)?|disallow(?:s|ed)?|impossible)\b"
        r"|禁止|禁じ|不可|不許可|厳禁",
    ),
    "needed": (
        r"\b(?:must|ha(?:ve|s|d) to|require[sd]?|need(?:s|ed)?|necessary|mandatory|obligatory"
        r"|compulsory)\b|(?<!不)必要|必須|義務|要る|要ります|要し",
        r"\b(?:optional|voluntary|unnecessary|unneeded|superfluous)\b"
        r"|不要|任意|不必要|いらな|要らな",
    ),
    "on": (
        r"\b(?:enable[sd]?|activated?|active|(?:switched|turned) on)\b|有効|オン",
        r"\b(?:disable[sd]?|deactivated?|inactive|(?:switched|turned) off)\b|無効|オフ",
    ),
    "there": (
        r"\b(?:available|present|includ(?:es?|ed|ing)|contain(?:s|ed)?|cover(?:s|ed)?)\b"
        r"|含む|含み|含ま|補償|対象(?!外)|付属",
        r"\b(?:unavailable|absent|exclud(?:es?|ed|ing))\b|対象外|除外|除く|別途|別料金",
    ),
    "success": (
        r"\b(?:succeed(?:s|ed)?|passe[sd]|accept(?:s|ed)?|approve[sd]?)\b"
        r"|成功|承認|(?<!不)合格|(?<!不)採用",
        r"\b(?:fail(?:s|ed)?|reject(?:s|ed)?|refuse[sd]?|den(?:y|ies|ied))\b"
        r"|失敗|却下|不合格|拒否|不採用",
    ),
}
# Where it does not: what is not longer need not be shorter.
POLES = {
    "cost": (
        r"\b(?:gratis|free(?! of\b| from\b))\b|無料|無償|ただで",
        r"\b(?:pay(?:s|ing)?|paid|costs?|charged?|fees?|price[sd]?|fare)\b"
        r"|有料|料金|[\d千万]円|運賃|かかる",
    ),
    "much": (
        r"\bmore\b|\bmany\b|多[いくめか]|増[えやし加]",
        r"\b(?:less|fewer|few)\b|少[なし]?|減[っらりる少]",
    ),
    "long": (r"\blong(?:er|est)\b|長[いくめ]", r"\bshort(?:er|est)?\b|短[いくめ縮]"),
    "large": (r"\b(?:larg|bigg|great)e(?:r|st)\b|大き", r"\bsmall(?:er|est)?\b|小さ"),
    "heavy": (r"\bheav(?:y|ier|iest)\b|重[いくめか]", r"\blight(?:er|est)?\b|軽[いくめ]"),
    "high": (r"\bhigh(?:er|est)?\b|高[いくめ]", r"\blow(?:er|est)?\b|低[いくめ]"),
    "early": (
        r"\b(?:earl(?:y|ier|iest)|before|precede[sd]?)\b|早[いくめ]|以前|事前|[間後年月日の]前に?",
        r"\b(?:later?|latest|after|follow(?:s|ed))\b|遅[いくめ]|以降|事後|[間年月日の]後に?",
    ),
    "growth": (
        r"\b(?:increase[sd]?|raise[sd]?|rose|grew|grows?)\b|増|上げ|上が",
        r"\b(?:decrease[sd]?|lower(?:s|ed)|reduce[sd]?|fell|shrank|shrinks?|cut)\b|減|下げ|下が",
    ),
    "odd": (r"\bodd\b|奇数", r"\beven (?=\w+s\b)|偶数"),
}
# In what time something recurs.
PERIODS = {
    "day": r"\b(?:a|per|each|every|of the) (?:working )?day\b|\b(?:daily|nightly|every night)\b"
    r"|毎[日晩朝]|[一1]日に|日に[\d一二三]|[一1]日(?=[\d一二三]+[回度])",
    "week": r"\b(?:a|per|each|every) week\b|\bweekly\b|毎週|週に?(?=[\d一二三])",
    "month": r"\b(?:a|per|each|every|of the) month\b|\bmonthly\b"
    r"|毎月|(?<!\d)月に?(?=[\d一二三,]+[円回度])",
    "year": r"\b(?:a|per|each|every) year\b|\b(?:yearly|annual(?:ly)?)\b"
    r"|毎年|年に?(?=[\d一二三]+[回度日])|年間",
}
# What looks like a negation and is none, or says in several words what one word says.
READ_AS = (
    (
        r"\b(?:free of charge|without (?:paying|payment|charge|cost|a fee)|no (?:charge|fee|cost)"
        r"|costs? nothing)\b",
        " gratis ",
    ),
    (
        r"(?:ねば|なければ|なくては)(?:なら(?:ない|ず|ぬ)|なりません|いけない|いけません)"
        r"|ないと(?:いけない|いけません)",
        "必須",
    ),
    (r"(?:ても|でも)(?:かまわない|構わない|かまいません|構いません|よい|良い|いい)", "許可"),
    (r"かもしれ(?:ない|ません)|だけで(?:は)?なく|のみならず", ""),
    (r"(?:少|すく|危|もったい|つまら|切|幼)な(?:い|く)", "少"),
)
NEGATION = (
    r"\b(?:not|never|nobody|none|nothing|nowhere|neither|nor|cannot|hardly)\b|n't\b"
    r"|ない|なかっ|なく|ませんで|ません|ずに|[わらまさたかが]ず(?=[、。\s]|$)|無[理断]|不[在明評]"
    r"|未(?=[設定完実対確解使])"
)
# What is said to be missing: the next words (English) or those before it.
WITHOUT = (
    r"\b(?:without|no|excluding|except|lacks?|lacking) (?P<after>(?:[\w'-]+ ?){1,3})"
    r"|(?P<before>[^\s、。はがも]{1,8})(?:な[しく]で|なしに|無し|抜きで?)"
)
# The ends of other words in -est: west, guest, interest …
SUPERLATIVE = (
    r"\b(?:the|its|their|our|my|your) (?:\w+ )?(?:most|best|worst"
    r"|\w{2,}(?<!inter)(?<!requ)(?<!for)(?<!gu)(?<!t)(?<!w)est)\b"
    r"|最[もも大小高低良悪強弱古](?![\d限])|一番(?!目|号|線)|随一"
)


_READ_AS = tuple((re.compile(pattern), instead) for pattern, instead in READ_AS)
_NEGATION, _WITHOUT, _SUPERLATIVE = map(re.compile, (NEGATION, WITHOUT, SUPERLATIVE))
_AXIS_WORDS, _POLE_WORDS = (
    {name: re.compile(f"(?P<plus>{plus})|(?:{minus})") for name, (plus, minus) in table.items()}
    for table in (AXES, POLES)
)
_PERIOD_WORDS = {name: re.compile(pattern) for name, pattern in PERIODS.items()}
# The words that only make a clause a yes or a no; those of "there" say what it is about, too.
_SAYS_HOW = re.compile(
    "|".join(
        (
            *(words for name in AXES if name != "there" for words in AXES[name]),
            *PERIODS.values(),
            NEGATION,
            r"\b(?:gratis|no|without|yes)\b|[無有]料|無償",
        )
    )
)


@dataclass(frozen=True, slots=True)
class Stance:
    """What a clause says yes and no to: 1 or -1 by axis, negation included, and by pole; whether it
    is negative as a whole; the words that are said to be missing; and what something is per: "day"
    …"""

    axes: dict[str, int]
    negative: bool
    poles: dict[str, int]
    without: tuple[str, ...]
    periods: frozenset[str]

    def opposes(self, other: Stance) -> bool:
        """Return whether one says what the other denies, `without` apart."""
        shared = self.axes.keys() & other.axes.keys()
        if any(self.axes[axis] != other.axes[axis] for axis in shared):
            return True
        if not shared and self.negative != other.negative:
            return True
        return bool(self.periods and other.periods and not self.periods & other.periods)

    def flips(self, other: Stance, whole: Stance) -> int:
        """Return on how many poles the two stand opposite each other.

        :param whole: the other's whole sentence, for the poles that the clause does not name.
        """
        poles = whole.poles | other.poles
        return sum(sign * poles.get(pole, 0) < 0 for pole, sign in self.poles.items())


@lru_cache(maxsize=4096)
def stance(text: str) -> Stance:
    """Return the stance of a clause in normal form (`cleaned`)."""
    text = _read(text)
    words = [
        (name, m.start(), -1 if m["plus"] is None else 1)
        for name, pattern in _AXIS_WORDS.items()
        for m in pattern.finditer(text)
    ]
    negations = [m.start() for m in _NEGATION.finditer(text)]
    turned = [_nearest(words, at, forward=text[at].isascii()) for at in negations]
    axes: dict[str, int] = {}
    for number, (name, _, sign) in enumerate(words):
        sign *= (-1) ** turned.count(number)
        axes[name] = sign if axes.get(name, sign) == sign else 0
    poles = {}
    for name, pattern in _POLE_WORDS.items():
        signs = {-1 if m["plus"] is None else 1 for m in pattern.finditer(text)}
        if len(signs) == 1:
            poles[name] = signs.pop()
    return Stance(
        axes={name: sign for name, sign in axes.items() if sign},
        negative=(len(negations) + sum(sign < 0 for *_, sign in words)) % 2 == 1,
        poles=poles,
        without=tuple((m["after"] or m["before"]).strip() for m in _WITHOUT.finditer(text)),
        periods=frozenset(n for n, pattern in _PERIOD_WORDS.items() if pattern.search(text)),
    )


def _nearest(words: list[tuple[str, int, int]], at: int, forward: bool) -> int:
    """Return the number of the word that a negation turns round: the next one (English) or the one
    before it; the other way where there is none. -1 without any."""

    def distance(number: int) -> tuple[bool, int]:
        way = words[number][1] - at
        return (way < 0) == forward, abs(way)

    return min(range(len(words)), key=distance, default=-1)


def without_stance(text: str) -> str:
    """Return a clause in normal form without the words that only make it a yes or a no."""
    return _SAYS_HOW.sub(" ", _read(text))


def _read(text: str) -> str:
    """Return a text with what is said in several words said in one."""
    for pattern, instead in _READ_AS:
        text = pattern.sub(instead, text)
    return text


def is_superlative(text: str) -> bool:
    """Return whether a text in normal form says that something is the most or best of its kind."""
    return _SUPERLATIVE.search(text) is not None


_CUT = re.compile(
    r"[;；、]|[,:](?!\d)|\s[–—-]\s|\s(?:and|but|while|whereas|which|because|unless|although)\s"
    r"|(?<=[うくすつぬむるいただ])が(?=\W)|(?<=[うくすつぬむるいたな])ので|けれど"
)
_ROW = re.compile(r"\s*\|(.+)\|\s*$")
_RULE = re.compile(r"[\s|:-]+$")
# Characters of one script in a row are taken for a word; hiragana are endings and particles.
_WIDE_WORD = re.compile("[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff]+|[\u30a1-\u30fa\u30fc]+")
_WIDE_SMALL = frozenset("各全約毎両同当")
_SMALL = STOP_TERMS | {stem(word) for word in ("even", "still", "already", "either", "however")}
_MATCHED = 0.5  # of a word's terms: 大崎行き is 大崎

Word = frozenset[str]


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in normal form: the number of its `sentence`, and the `whole` of it, with the terms
    `around`; those of the title and heading above it are `soft`.

    :param words: what it speaks of, each as its terms: a stem, or pairs of Japanese characters.
    :param head: the words at the head of its column, whose terms are among its own.
    """

    text: str
    words: tuple[Word, ...]
    terms: frozenset[str]
    quantities: tuple[Quantity, ...]
    sentence: int = 0
    whole: str = ""
    around: frozenset[str] = frozenset()
    soft: frozenset[str] = frozenset()
    head: tuple[Word, ...] = ()

    @property
    def stance(self) -> Stance:
        """What it says yes and no to."""
        return stance(self.text)

    def unmatched(self, terms: frozenset[str]) -> list[Word]:
        """Return the words of it that are not among some terms."""
        return [word for word in self.words if not holds(terms, word)]


def holds(terms: frozenset[str], word: Word) -> bool:
    """Return whether a word is among some terms."""
    return len(word & terms) >= _MATCHED * len(word)


def weight(words: Iterable[Word], terms: frozenset[str]) -> float:
    """Return how many of some words are among the terms; parts of a word count in part."""
    return sum(len(word & terms) / len(word) for word in words)


def words_of(text: str) -> tuple[Word, ...]:
    """Return the words with which a text in normal form says something."""
    words: dict[Word, None] = {}
    for run, word in TOKEN.findall(text):
        if word:
            term = stem(word)
            if term not in _SMALL and not word.isdigit():
                words[frozenset({term})] = None
            continue
        for wide in _WIDE_WORD.findall(run):
            if wide in _WIDE_SMALL:
                continue
            words[frozenset(_pairs(wide))] = None
    return tuple(words)


def said_clauses(sentence: str) -> list[Clause]:
    """Return the clauses of one sentence of an answer."""
    return list(_clauses(sentence, 0, frozenset()))


def source_clauses(label: str, text: str) -> list[Clause]:
    """Return the clauses of a source.

    :param label: what it is called; all of it stands under that.
    """
    title = _terms(words_of(cleaned(label)))
    soft, head = title, list[str]()
    clauses: list[Clause] = []
    spans = sentence_spans(text)
    sentences = [*filter(None, (text[start:end].strip() for start, end in spans)), ""]
    for number, (sentence, after) in enumerate(pairwise(sentences)):
        row = _ROW.match(sentence)
        if not row:
            head = []
            if sentence.startswith("#"):
                soft = title | _terms(words_of(cleaned(sentence)))
            clauses += _clauses(sentence, number, soft)
        elif not _RULE.match(sentence):
            cells = [cell.strip() for cell in row[1].split("|")]
            if "-" in after and _RULE.match(after):
                head = cells
            else:
                clauses += _row(cells, head, number, soft)
    return clauses


def _row(cells: list[str], head: list[str], number: int, soft: frozenset[str]) -> Iterator[Clause]:
    """Yield a clause for each cell, with the row's first cell before it."""
    whole = cleaned(plain(" ".join(cells)))
    around = _terms(words_of(whole))
    for at, cell in enumerate(cells):
        above = head[at] if at < len(head) else ""
        text = cell if at == 0 else f"{cells[0]} {cell}"
        if text.strip():
            clause = _clause(cleaned(plain(text)), number, whole, around, soft)
            words = words_of(cleaned(plain(above)))
            yield replace(clause, terms=clause.terms | _terms(words), head=words)


def _clauses(sentence: str, number: int, soft: frozenset[str]) -> Iterator[Clause]:
    text = cleaned(plain(sentence))
    around = _terms(words_of(text))
    for part in _parts(text):
        yield _clause(part, number, text, around, soft)


def _parts(text: str) -> list[str]:
    """Cut a sentence, and put together again what does not stand alone: "dogs | and cats"."""
    cuts = [0, *(cut.end() for cut in _CUT.finditer(text)), len(text)]
    parts: list[str] = []
    waiting = ""
    for start, end in pairwise(cuts):
        part = waiting + text[start:end]
        waiting = ""
        count = len(words_of(without_stance(part)))
        is_telling = count == 1 and (stance(part).negative or part[-1:] in "、が")
        if count > 1 or is_telling or quantities(part):
            parts.append(part)
        elif end < len(text):
            waiting = part
        elif parts:
            parts[-1] += part
        else:
            parts.append(part)
    return parts


def _clause(
    text: str, number: int, whole: str, around: frozenset[str], soft: frozenset[str]
) -> Clause:
    words = words_of(without_stance(without_quantities(text)))
    return Clause(
        text=text,
        words=words,
        terms=_terms(words),
        quantities=quantities(text),
        sentence=number,
        whole=whole,
        around=around,
        soft=soft,
    )


def _terms(words: Iterable[Word]) -> frozenset[str]:
    return frozenset().union(*words)


# Which of two things is preferred, and which is more: what stands on the far side of the word.
_FAR = (
    re.compile(
        r"\b(?:over|instead of|rather than) (?P<after>(?:[\w'-]+ ?){1,3})"
        r"|(?P<before>[^\s、。はがをの]{1,12})(?:で(?:は)?なく|じゃなく|に代わり|に代えて)"
    ),
    re.compile(
        r"\bthan (?P<after>(?:[\w'-]+ ?){1,3})|(?P<before>[^\s、。はがをの]{1,12})より(?!も?後)"
    ),
)
_CHANGED = re.compile(
    r"\b(?:moved?|change[sd]?|rais(?:es?|ed)|increase[sd]?|lower(?:s|ed)|reduced?|cut|extended"
    r"|postponed|shifted|switched|went|rose|fell|grew)\b.{0,60}?\bfrom (?P<old>.{1,60}?) to "
    r"|(?P<before>[^、。はが]{1,30}?)から[^、。]{1,30}?[にへ](?:変|移|延|増|減|上|下|引き|改|切り替)"
)


def count_swapped(claim: str, stands: str) -> int:
    """Return how many comparisons of one sentence have the other's things the other way round.

    Both are in normal form: "A rather than B" and "B rather than A" have one.
    """
    count = 0
    claimed, stated = (_terms(words_of(text)) for text in (claim, stands))
    for pattern in _FAR:
        matches = [match for text in (claim, stands) if (match := pattern.search(text))]
        if len(matches) == 2:
            mine, theirs = (_terms(words_of((m["after"] or m["before"]).strip())) for m in matches)
            # What is on the far side in one stands on the near side in the other.
            count += bool(mine & stated and theirs & claimed and not mine & theirs)
    return count


def former_quantities(sentence: str) -> tuple[Quantity, ...]:
    """Return the quantities that a sentence in normal form says were changed to others."""
    changed = _CHANGED.search(sentence)
    return quantities(changed["old"] or changed["before"]) if changed else ()


# -- sources and citations ---------------------------------------------------------------

# A sentence is borne out when its source holds this share of the words it says something with.
# Models rephrase, so it is far from all of them; a sentence about something else has fewer.
MIN_SHARE = 0.4
_IDENTIFIER = re.compile(
    r"(?<![\w.,])(?:[A-Za-z]+(?:[+_][\w+]*\w)|[A-Za-z]+\d[A-Za-z\d]*)(?!\w)", re.ASCII
)
_NAME = re.compile(rf"{_IDENTIFIER.pattern}|(?<=[a-z0-9,;] )[A-Z][\w-]*[a-z][\w-]*")
_WIDE_NAME = re.compile(rf"{_IDENTIFIER.pattern}|(?<![\w.,])[A-Za-z]{{3,}}(?!\w)", re.ASCII)


def claims(text: str) -> frozenset[str]:
    """Return the terms with which a text says something: stems of words, and in scripts without
    spaces pairs of characters of one script; hiragana, which are endings and particles, count only
    where there is nothing else."""
    text = cleaned(text)
    if words := words_of(text):
        return _terms(words)
    runs = [run for run, _ in TOKEN.findall(text)]
    return frozenset(pair for run in runs for pair in _pairs(run))


def names(text: str) -> list[str]:
    """Return what a text calls by name: keys and identifiers (`Ctrl+P`, `max_size`, X3), words with
    a capital inside an English sentence, and Latin words in a Japanese one."""
    pattern = {"en": _NAME, "ja": _WIDE_NAME}.get(tongue(text), _IDENTIFIER)
    return [match[0] for match in pattern.finditer(text)]


def _pairs(run: str) -> set[str]:
    return {run[at : at + 2] for at in range(len(run) - 1)} if len(run) > 1 else {run} - {""}


def fold(text: str) -> str:
    """Return the words of a text, parted by spaces, so that one wording can be found in another.

    Case, width, white space, punctuation and Markdown's marks make no difference; the characters
    of scripts without spaces are words of their own.
    """
    words: list[str] = []
    for run, word in TOKEN.findall(cleaned(plain(text))):
        words += [word] if word else run
    return f" {' '.join(words)} "


@dataclass(frozen=True)
class Evidence:
    """One source, as far as a model was shown it; prompt injections are not in it."""

    text: str

    @cached_property
    def terms(self) -> frozenset[str]:
        """What it speaks of."""
        return claims(self.text)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The numbers in it with their units, in digits and in words."""
        return read_quantities(self.text)

    @cached_property
    def clauses(self) -> list[Clause]:
        """Its clauses; its first paragraph is what it is called."""
        label, _, text = self.text.partition("\n\n")
        return source_clauses(label, text)

    @cached_property
    def folded(self) -> str:
        """Its wording."""
        return fold(self.text)

    @cached_property
    def tongues(self) -> frozenset[str]:
        """The languages that a good part of it is written in."""
        sizes: Counter[str] = Counter()
        for line in self.text.split("\n"):
            sizes[tongue(line)] += len(line)
        del sizes[""]
        return frozenset(name for name in sizes if sizes[name] >= 0.3 * sizes.total())

    def names(self, name: str) -> bool:
        """Return whether it holds a name, in whatever form."""
        return self.says(name) or claims(name) <= self.terms

    def says(self, quotation: str) -> bool:
        """Return whether it holds a quotation word for word; `…` may stand for left out words."""
        parts = [fold(part) for part in re.split(r"\[?(?:…|\.{3,})\]?", quotation)]
        at = 0
        for part in filter(str.strip, parts):
            at = self.folded.find(part, at)
            if at < 0:
                return False
            at += len(part) - 1
        return True


def share(terms: frozenset[str], among: frozenset[str]) -> float:
    """Return which part of some terms is among others; 0 when there are none."""
    return len(terms & among) / len(terms) if terms else 0.0


_LABEL = r"(?:(?:sources?|notes?|出典|資料|ソース|ノート)\s*[:：#]?\s*)?"
_NUMBER = r"[-−]?[0-9０-９]+"
_ITEM = rf"{_LABEL}{_NUMBER}(?:\s*[-–—~〜～]\s*{_LABEL}{_NUMBER})?"
# [1], [1, 3], [1-3], [[1]], [^1], ［１］, 【1】, 【1†source】, [Source 1], \[1\], [1](address)
CITATION = re.compile(
    rf"(?:\\?[\[［【]){{1,2}}\s*\^?(?P<items>{_ITEM}(?:\s*[,，、;；&]\s*\^?{_ITEM})*)\s*"
    r"(?:†[^\]］】\n]{0,80})?(?:\\?[\]］】]){1,2}(?P<address>\([^()\s]*\))?",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"({_NUMBER})(?:\s*[-–—~〜～]\s*{_LABEL}({_NUMBER}))?", re.IGNORECASE)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)


def named_sources(citation: re.Match[str], count: int) -> tuple[list[int], list[str]]:
    """Return the sources that a citation names, and what it names that is not among `count`.

    A range that is not wholly among them names nothing.
    """
    valid: list[int] = []
    false: list[str] = []
    for item in _RANGE.finditer(unicodedata.normalize("NFKC", citation["items"])):
        first, last = (_number(text) for text in (item[1], item[2] or item[1]))
        if 1 <= first <= last <= count:
            valid += range(first, last + 1)
        else:
            false.append(f"[{item[0]}]"[:40])
    return list(dict.fromkeys(valid)), false


def _number(text: str) -> int:
    return int(text.replace("−", "-")[:9])


def outside_code(change: Callable[[str], str], text: str) -> str:
    """Return a text with everything outside its `code spans` changed."""
    parts: list[str] = []
    at = 0
    for span in _CODE_SPAN.finditer(text):
        parts += [change(text[at : span.start()]), span[0]]
        at = span.end()
    return "".join([*parts, change(text[at:])])


def without_citations(text: str) -> str:
    """Return what a sentence says, without the sources it names."""
    return outside_code(lambda part: CITATION.sub(" ", part), text).strip()
