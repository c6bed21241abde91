"""Words and runs: how text is cut in any language, without an analyser.

Scripts that put spaces between words give words: lower case, accents folded, English and Russian
endings stemmed. An emoji is a word. Scripts that do not (Japanese, Chinese, Thai, …) give runs;
what compares texts as they stand (quotations, highlighting, near-duplicates) sees every character
of a run and every pair of neighbours, while the index weighs them by script (`rag.text.ngrams`).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from operator import add

import Stemmer

from rag.support.unicode_forms import compose
from rag.text.ngrams import UNSEGMENTED

# Zero-width characters that editors leave behind; NFKC keeps them and they split words.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
# Some ligatures stand for whole words, two of Arabic for phrases of many letters; no text consists
# of them. What grows to more than so many times its length, and some characters more, is cut.
_MOST_GROWTH, _GRACE = 2, 200
# Letters that are written in two ways, and have no marks that could be taken off: Swiss German has
# no ß, Russian mostly leaves the dots of ё out.
_OTHER_SPELLINGS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ё": "е"}
)
_LAST_LATIN = "\u024f"
# A letter with what may be a mark of it.
_MARKED_LATIN = re.compile(f"[\0-{_LAST_LATIN}](?![\0-\u02ff])\\W")


def normalize(text: str) -> str:
    """Return `text` in NFKC and lower case, without zero-width characters.

    Full-width `ＰＤＦ` and half-width `ﾌﾟﾗｸﾞｲﾝ` become what a reader takes them for.
    """
    if text.isascii():
        return text.lower()
    longest = _MOST_GROWTH * len(text) + _GRACE
    lower = compose(_INVISIBLE.sub("", text), "NFKC")[:longest].lower()
    # A few letters have a composed form in lower case only (T̈ stays two characters, ẗ does not).
    return unicodedata.normalize("NFC", lower)


def name_key(name: str) -> str:
    """Return what two spellings of a note's name have in common."""
    return " ".join(normalize(name).split())


def fold_accents(word: str) -> str:
    """Drop the accents of Latin letters (`café` -> `cafe`); other scripts stay as they are.

    An accent on a Cyrillic or Devanagari letter makes another letter, so only a mark that
    follows a Latin base letter is dropped; of `ё` the dots are, since few write them. `ß` becomes
    `ss`, and so with a few more that stand for two letters or for a crossed one.
    """
    if word.isascii():
        return word
    apart = compose(word.translate(_OTHER_SPELLINGS), "NFD")
    is_marked = _MARKED_LATIN.search(apart)
    return unicodedata.normalize("NFC", _without_marks(apart) if is_marked else apart)


def spelling_key(name: str) -> str:
    """Return what the spellings of a name have in common, with and without accents."""
    return fold_accents(name_key(name))


def _without_marks(apart: str) -> str:
    """Drop every mark of a Latin letter from a text in NFD."""
    kept: list[str] = []
    latin = False
    for char in apart:
        if unicodedata.combining(char):
            if latin:
                continue
        else:
            latin = char <= _LAST_LATIN
        kept.append(char)
    return "".join(kept)


# Marks that belong to the letter before them but are no letters to `re`: combining
# accents, Hebrew and Arabic points, and the vowel signs of the Indic scripts.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u096f\u0971-\u0dff"
# Pictures, without the marks of skin colour that may follow one.
EMOJI = "\u2600-\u27bf\u2b50\u2b55\U0001f1e6-\U0001f1ff\U0001f300-\U0001f3fa\U0001f400-\U0001faff"
_RUN = f"[{UNSEGMENTED}]+"
_WORD = f"(?:(?![{UNSEGMENTED}])[^\\W_]|[{_MARKS}])+"
# C++, C# and F# are words to those who write them, with a version after them too.
_SYMBOL_WORD = rf"(?:(?<!\w)|(?<=[{UNSEGMENTED}]))[a-z](?:\+\+|#)(?=[{UNSEGMENTED}]|(?![^\W\d]))"
TOKEN = re.compile(f"({_RUN})|({_SYMBOL_WORD}|{_WORD}|[{EMOJI}])")
# The words of text without unsegmented scripts, and of ASCII text: several times as fast.
SPACED_WORD = f"{_SYMBOL_WORD}|(?:[^\\W_]|[{_MARKS}])+|[{EMOJI}]"
ASCII_SYMBOL_WORD = r"\b[a-z](?:\+\+|#)(?![a-z_])"
ASCII_WORD = f"{ASCII_SYMBOL_WORD}|[a-z0-9]+"
_POSSESSIVE = re.compile(r"(?<=\w)['\u2019]s\b")

MAX_WORD = 64  # longer "words" are base64, hashes and rulers; their head identifies them
_stem_english = Stemmer.Stemmer("english", 0).stemWord
_stem_russian = Stemmer.Stemmer("russian", 0).stemWord
_CYRILLIC = ("\u0400", "\u0530")


def stem_letters(letters: str) -> str:
    """Return the index term of a word without accents, cut to `MAX_WORD`."""
    first, last = _CYRILLIC
    stem: str = (_stem_russian if first <= letters < last else _stem_english)(letters)
    return stem


@lru_cache(1 << 18)
def stem(word: str) -> str:
    """Return the index term of one normalised word."""
    return stem_letters(fold_accents(word[:MAX_WORD]))


def cleaned(text: str) -> str:
    """Return `text` in its normal form, without possessive endings."""
    text = normalize(text)
    return _POSSESSIVE.sub("", text) if "'" in text or "\u2019" in text else text


def run_grams(run: str) -> list[str]:
    """Return every character of `run` and every pair of neighbours."""
    return [*run, *map(add, run, run[1:])]


def terms(text: str) -> list[str]:
    """Return the index terms of `text`: stemmed words, and 1- and 2-grams of runs."""
    pieces = TOKEN.findall(cleaned(text))
    return [term for run, word in pieces for term in (run_grams(run) if run else [stem(word)])]


def has_words(text: str) -> bool:
    """Return whether there is anything in `text` that an index could hold."""
    return TOKEN.search(cleaned(text)) is not None


_ENGLISH = """
a about all also am an and any are as at be been being both but by can could did do does
doing each for from get had has have he her here him his how i if in into is it its itself
just let me more most my no nor not of on or our out over own shall she should so some such
than that the their them then there these they this those to too under up us very was we
were what when where which while who whom whose why will with would you your
aren couldn d didn doesn don hadn hasn haven isn ll m re s shouldn t ve wasn weren won wouldn
"""

STOP_TERMS = frozenset(stem(word) for word in _ENGLISH.split())

# What Japanese questions are asked with: particles and copulas are left to the IDF, which
# sees how common they are; these phrases are rare in notes and would weigh too much.
JAPANESE_QUESTION = re.compile(
    "(?:とは)?(?:何|なん|なに)(?:です|でしょう|だろう)?か?|どのように|どうやって|どうすれば|どうしたら|"
    "教えて(?:ください|下さい)?|ください|下さい|でしょうか|ですか|ますか|ましたか|のですか|いつ|どこ|だれ|誰|なぜ|どの"
)
