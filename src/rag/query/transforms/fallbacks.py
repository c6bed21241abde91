"""What takes the place of a model's text when there is none: made of the query's own words."""

from __future__ import annotations

import re

from rag.text.ngrams import UNSEGMENTED
from rag.text.normalize import normalize
from rag.text.scripts import HIRAGANA, KATAKANA
from rag.text.stopwords import JAPANESE_QUESTION, STOP_TERMS
from rag.text.tokenizer import stem

_KANJI = "\u3005\u3400-\u4dbf\u4e00-\u9fff"
# Runs of kanji and of katakana are words, or nearly. A kanji alone is one before a particle; before
# other hiragana it is a verb's or adjective's.
_WORD = re.compile(
    f"[{KATAKANA}]{{2,}}|[{_KANJI}]{{2,}}|[{_KANJI}](?![{HIRAGANA}])"
    f"|[{_KANJI}](?=[のをはがにでとへもや])"
    rf"|\d+(?:[.,]\d+)+|(?:(?![{UNSEGMENTED}])[\w.+#'’/-])+"
)
_NUMBER = re.compile(r"\d[\d.,:/-]*(?:年度?|月|日|時間?|分|秒|円|人|個|件|回|台|歳|つ)?")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|「[^」]*」|『[^』]*』")
_NAMED = f"[{KATAKANA}{_KANJI}A-Za-z0-9]"
_SEAM = re.compile(
    r"((?<=[?？])\s*|[。；;]\s*|と?、|,\s+|\s+(?:and|as well as|及び|および)\s+|及び|および"
    rf"|(?<={_NAMED})と(?={_NAMED}))",
    re.IGNORECASE,
)


def subject_words(query: str) -> list[str]:
    """Return the words that name what a query is about, each once, as they are written.

    >>> subject_words("How do I roll back a bad deploy?")
    ['roll', 'back', 'bad', 'deploy']
    >>> subject_words("証明書の更新はいつですか？")
    ['証明書', '更新']
    """
    words: dict[str, str] = {}
    for match in _WORD.finditer(JAPANESE_QUESTION.sub(" ", query)):
        word = match[0].strip(".'’/-")
        key = normalize(word)
        if any(map(str.isalnum, key)) and stem(key) not in STOP_TERMS:
            words.setdefault(key, word)
    return list(words.values())


def bare_words(query: str) -> list[str]:
    """Return the query's subject words as one variation of it; none when that is the query.

    >>> bare_words("How do I roll back a bad deploy?"), bare_words("roll back")
    (['roll back bad deploy'], [])
    """
    bare = " ".join(subject_words(query))
    same = normalize(bare).split() == normalize(query).strip("?？!.。 ").split()
    return [] if same or not bare else [bare]


def parts_of(query: str, count: int) -> list[str]:
    """Split a query where it asks for several things; each part names something.

    >>> parts_of("How is TLS renewed, and who owns the backups?", 5)
    ['How is TLS renewed', 'who owns the backups?']
    >>> parts_of("バックアップと復元の手順は？", 5)
    ['バックアップ', '復元の手順は？']
    """
    first, *rest = _SEAM.split(query)
    parts = [first]
    for seam, text in zip(rest[::2], rest[1::2], strict=True):
        if len(parts) < count and subject_words(text) and subject_words(parts[-1]):
            parts.append(text)
        else:
            parts[-1] += seam + text
    trimmed = [re.sub(r"^(?:and|or|but)\s+", "", part.strip(), flags=re.I) for part in parts]
    return list(dict.fromkeys(trimmed)) if len(parts) > 1 else [query]


def without_specifics(query: str) -> str:
    """Return the query's subject words without numbers and quotations; if none is left, the query.

    >>> without_specifics('Why did "api-7" fail on 2024-03-05 in Berlin?')
    'fail Berlin'
    """
    words = subject_words(_NUMBER.sub("0 ", _QUOTED.sub(" ", query)))
    return " ".join(word for word in words if not any(map(str.isdigit, word))) or query
