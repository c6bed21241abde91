"""Which language a text is in, as far as answers need to know, and what is said in it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from rag.text.scripts import is_japanese as is_japanese
from rag.text.scripts import main_script

# Small words tell languages of one alphabet apart; words that two of them share are left out.
_SMALL_WORDS = {
    "en": "the and is are of to it that for with this not you we how what when who why do does",
    "de": "der das und ist nicht ein eine wie für mit auf den dem zu wird werden wann warum ich",
    "fr": "le les des est une que pas pour dans et du sont comment quand pourquoi ce cette il nous",
    "es": "el los las una es por cómo cuándo qué y del se son cuánto dónde están hay",
    "it": "il che è di una per non come quando sono gli della del perché cosa",
    "pt": "os uma não é do da em por como quando são você quanto está",
    "nl": "het een van niet en zijn hoe wanneer waarom met voor wordt ik wij",
}
_LANGUAGES: dict[str, set[str]] = {}
for _language, _words in _SMALL_WORDS.items():
    for _word in _words.split():
        _LANGUAGES.setdefault(_word, set()).add(_language)


def language_of(question: str) -> Literal["ja", "en"]:
    """Return the language that a question is answered in, apart from what a model writes."""
    return "ja" if is_japanese(question) else "en"


def tongue(text: str) -> str:
    """Return the language of a text (`ja`, `en`, `de`, …), else its script, else "".

    Latin text that has no small word of a language that is known here has none.
    """
    script = "ja" if len(text) < 400 and is_japanese(text) else main_script(text)
    if script != "latin":
        return script
    words = re.findall(r"[^\W\d_]+", text.lower())
    hits: Counter[str] = Counter()
    for word in words:
        for language in _LANGUAGES.get(word, ()):
            hits[language] += 1
    return max(hits, key=hits.__getitem__) if hits else ""


@dataclass(frozen=True, slots=True)
class Marks:
    """What is written into an answer where something of it cannot be believed."""

    no_source: str
    no_quotation: str
    no_address: str
    left_out: str


_ENGLISH = Marks(
    "[no source]",
    "[a quotation that is not in the notes]",
    "[an address that is not in the notes]",
    "[left out]",
)
_JAPANESE_MARKS = Marks("[出典なし]", "[ノートにない引用]", "[ノートにないアドレス]", "[省略]")


def marks_for(question: str) -> Marks:
    """Return the marks in the language of the question."""
    return _JAPANESE_MARKS if is_japanese(question) else _ENGLISH
