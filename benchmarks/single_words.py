"""Choose words that stand in one note only, at random but the same ones every time.

    python benchmarks/single_words.py FOLDER... > benchmarks/questions/single-words.jsonl

FOLDER are the help vaults of the seven languages, called obsidian-help-de and so on; odd-notes
lies beside the question sets. Whoever looks for such a word wants that note first, though other
notes hold words of the same stem ("geared" stands once, "gear" in many), and half of the words or
more are of that kind.

A word is a run of letters, case and width folded; in Japanese and Chinese a run of kanji, or of
katakana. It is taken from prose, and stands in no other note of its help vault or odd-notes, not in
a path, a link or a property either; and in Japanese and Chinese not inside a longer run.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

import Stemmer

ODD_NOTES = Path(__file__).parent / "questions" / "vaults" / "odd-notes"
COUNTS = {"en": 16, "de": 13, "fr": 13, "ru": 13, "ko": 9, "ja": 8, "zh": 8}
STEMMERS = {"en": "english", "de": "german", "fr": "french", "ru": "russian"}
SEED = 20261123

_LETTERS = re.compile(r"[^\W\d_]+")
_WORDS = {
    "ru": re.compile(r"(?<!\w)[а-яё]{4,}(?!\w)"),
    "ko": re.compile(r"(?<!\w)[가-힣]{2,}(?!\w)"),
    "ja": re.compile(
        r"(?<![一-鿿々])[一-鿿々]{2,4}(?![一-鿿々])|(?<![ァ-ヿ])[ァ-ヿ]{3,8}(?![ァ-ヿ])"
    ),
    "zh": re.compile(r"(?<![一-鿿])[一-鿿]{2,3}(?![一-鿿])"),
}
_LATIN = re.compile(r"(?<![\w'’])[^\W\d_]{4,}(?![\w'’])")
_GRAMMAR = frozenset(
    "的了在是和与及或请个并仅以中从将为对被把就也都可会"
)  # a run with these is no word
# Front matter, code, HTML, links and their targets: not prose.
_NOT_PROSE = re.compile(
    r"\A---\n.*?\n---\n|^```.*?^```|`[^`\n]*`|<[^>\n]*>|!?\[\[[^\]\n]*\]\]|\]\([^)\n]*\)"
    r"|\w+://\S+|\S+@\S+|^\s*\^[\w-]+",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Choice:
    """A word that stands in one note only; `mate`: whether others hold one of the same stem."""

    word: str
    note: str
    mate: bool


def fold(text: str) -> str:
    """Fold case and width."""
    return normalize("NFKC", text).casefold()


def main() -> None:
    for folder in map(Path, sys.argv[1:]):
        language = folder.name[-2:]
        chosen = choose(language, read(folder) | read(ODD_NOTES), COUNTS[language])
        for number, choice in enumerate(chosen, 1):
            line = {
                "id": f"single-{language}-{number:02}",
                "query": choice.word,
                "relevant": [choice.note],
                "category": "stem elsewhere" if choice.mate else "alone",
                "language": language,
            }
            print(json.dumps(line, ensure_ascii=False))


def read(folder: Path) -> dict[str, str]:
    """Return the notes of a vault by their paths, which begin with the vault's name."""
    return {
        f"{folder.name}/{file.relative_to(folder).as_posix()}": file.read_text("utf-8")
        for file in sorted(folder.rglob("*.md"))
    }


def choose(language: str, notes: dict[str, str], count: int) -> list[Choice]:
    """Choose `count` words of different notes, and of those with mates as many as of the others."""
    found = list(single_words(language, notes))
    random.Random(SEED).shuffle(found)
    chosen: dict[str, Choice] = {}
    for mate, most in ((True, (count + 1) // 2), (False, count)):
        for choice in found:
            if choice.mate == mate and choice.note not in chosen and len(chosen) < most:
                chosen[choice.note] = choice
    return list(chosen.values())


def single_words(language: str, notes: dict[str, str]) -> Iterator[Choice]:
    """Yield the words of prose that stand in one note only."""
    whole = {path: fold(f"{path}\n{text}") for path, text in notes.items()}
    held: dict[str, set[str]] = defaultdict(set)  # what other notes are looked through for
    for path, text in whole.items():
        for word in _LETTERS.findall(text):
            held[word].add(path)
    stem = _stem(language)
    mates: dict[str, set[str]] = defaultdict(set)
    for word, paths in held.items():
        mates[stem(word)] |= paths
    prose = {path: _prose_words(language, text) for path, text in notes.items()}
    written = Counter(word for words in prose.values() for word in words)
    for path in notes:
        for word in prose[path] if _is_of(language, path) else ():
            if written[word] == 1 and _paths(language, fold(word), whole, held) == {path}:
                yield Choice(word, path, bool(mates[stem(fold(word))] - {path}))


def _prose_words(language: str, text: str) -> list[str]:
    """Return the words of a note's prose, each once, sorted; lower case keeps "ß", as typed."""
    prose = normalize("NFKC", _NOT_PROSE.sub(" ", text)).lower()
    words = sorted(set(_WORDS.get(language, _LATIN).findall(prose)))
    return [word for word in words if language != "zh" or not _GRAMMAR & set(word)]


def _is_of(language: str, path: str) -> bool:
    """Whether a note is in that language: those of odd-notes lie in a folder of its name."""
    vault, _, rest = path.partition("/")
    folder = rest.partition("/")[0]
    return vault != ODD_NOTES.name or (folder if len(folder) == 2 else "en") == language


def _paths(language: str, word: str, whole: dict[str, str], held: dict[str, set[str]]) -> set[str]:
    """Return the notes that hold a word; Japanese and Chinese have no spaces to tell where."""
    if language in ("ja", "zh"):
        return {path for path, text in whole.items() if word in text}
    return held[word]


def _stem(language: str) -> Callable[[str], str]:
    """Return what is the same in words of one stem: without a stemmer, how they begin."""
    if language in STEMMERS:
        stemmer = Stemmer.Stemmer(STEMMERS[language])
        return lambda word: str(stemmer.stemWord(word))
    return lambda word: word[:2]


if __name__ == "__main__":
    main()
