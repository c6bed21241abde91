"""Whatever is typed: no query fails, and no result breaks a condition that stands in it.

A slow check of its own judges each note by reading it, without an index.
"""

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.exceptions import QueryError, UsageError

FORMS = {"walruses": "walrus", "climbed": "climb", "climbing": "climb", "cafés": "cafe"}


@dataclass
class Note:
    """A note as the slow check reads it."""

    vault: str
    path: str
    title: str
    sections: dict[str, str]
    tags: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)

    @property
    def file(self) -> str:
        sections = "".join(f"\n## {head}\n\n{text}\n" for head, text in self.sections.items())
        return f"---\ntags: {self.tags}\naliases: {self.aliases}\n---\n# {self.title}\n{sections}"

    @property
    def texts(self) -> list[str]:
        return [self.title, *self.aliases, *self.sections, *self.sections.values()]

    def words(self) -> set[str]:
        return {base(word) for text in self.texts for word in re.findall(r"\w+", text.lower())}

    def holds(self, phrase: str) -> bool:
        """Tell whether a word in any form, or a phrase as it is written, stands in the note."""
        wanted = re.findall(r"\w+", phrase.lower())
        if not phrase.isascii() and "é" not in phrase:
            return any(phrase in text for text in self.texts)
        if len(wanted) == 1:
            return base(wanted[0]) in self.words()
        return any(in_a_row(phrase) in in_a_row(text) for text in self.texts)

    def has_word_from(self, beginning: str) -> bool:
        """Tell whether a word begins so; in Japanese, whether the characters stand anywhere."""
        if not beginning.isascii():
            return self.holds(beginning)
        words = [word for text in self.texts for word in re.findall(r"\w+", text.lower())]
        return any(word.startswith(beginning) for word in words)

    def has_tag(self, tag: str) -> bool:
        return any(mine == tag or mine.startswith(f"{tag}/") for mine in self.tags)

    def lies_at(self, fragment: str) -> bool:
        whole = f"{self.vault}/{self.path}"
        if "*" in fragment:
            return fnmatchcase(self.path, fragment) or fnmatchcase(whole, fragment)
        return folded(fragment) in folded(whole)

    def is_called(self, name: str) -> bool:
        return any(folded(name) in folded(own) for own in (self.title, *self.aliases))


def in_a_row(text: str) -> str:
    return f" {' '.join(re.findall(r'[a-zé]+', text.lower()))} "


def base(word: str) -> str:
    return folded(FORMS.get(word, word))


def folded(name: str) -> str:
    return name.lower().replace("é", "e")


NOTES = [
    Note("sea", "a.md", "Walrus", {"Diet": "clams, shrimp"}, ["animal", "log/north"]),
    Note("sea", "b.md", "Icebergs", {"One": "The walruses sleep", "Two": "Fog; cold water"}),
    Note("sea", "deep/c.md", "Diving", {"Gear": "cold water suit"}, ["log"], ["Under ice"]),
    Note("sea", "deep/d.md", "Cold", {"Air": "water of ice, cold"}, ["log/south"]),
    Note("land", "e.md", "Mountains", {"Up": "We climbed in fog"}, ["animal"]),
    Note("land", "deep/Été.md", "Cafés", {"Menu": "shrimp soup"}, [], ["Climbing diary"]),
    Note("land", "g.md", "証明書の更新", {"手順": "有効期限を確認する。"}, ["運用"]),
    Note("land", "h.md", "Soup", {"期限": "桜を見た。cold water and 更新"}, ["運用", "log"]),
]
BY_PLACE = {(note.vault, note.path): note for note in NOTES}

WORDS = [
    *("walrus", "walruses", "climb", "climbing", "fog", "cold", "water", "shrimp", "cafe"),
    *("cafés", "期限", "更新", "walrsu"),
]
PHRASES = [
    "cold water",
    "water cold",
    "Under ice",
    "climbed in fog",
    "有効期限",
    "shrimp",
    "期限を",
    "を",  # in the index only where it stands alone
]
BEGINNINGS = ["wal", "cl", "climb", "co", "shr", "期限", "証明"]
VALUES = {
    "tag": (["log", "log/south", "animal", "運用", "none"], Note.has_tag),
    "vault": (["sea", "land"], lambda note, name: note.vault == name),
    "path": (["deep", "sea/", "A.md", "ete", "deep/*.md", "*.md", "none"], Note.lies_at),
    "title": (["walrus", "cold", "iar", "CAFE", "更新", "none"], Note.is_called),
}


@dataclass(frozen=True)
class Part:
    """A part of a query: how it is written, and what it asks of a note."""

    text: str
    kind: str
    value: str
    negated: bool = False

    def lets_through(self, note: Note) -> bool:
        if self.kind in ("word", "beginning"):
            return True
        return self.judge(note) is not self.negated

    def judge(self, note: Note) -> bool:
        if self.kind.endswith("beginning"):
            return note.has_word_from(self.value)
        return (VALUES[self.kind][1] if self.kind in VALUES else Note.holds)(note, self.value)


words = st.one_of(
    st.sampled_from(WORDS).map(lambda w: Part(w, "word", w)),
    st.sampled_from(BEGINNINGS).map(lambda b: Part(f"{b}*", "beginning", b)),
)
phrases = st.sampled_from(PHRASES).map(lambda p: Part(f'"{p}"', "phrase", p))
excluded = st.one_of(
    st.sampled_from(WORDS).map(lambda w: Part(f"-{w}", "excluded", w, True)),
    st.sampled_from(PHRASES).map(lambda p: Part(f'-"{p}"', "excluded", p, True)),
    st.sampled_from(BEGINNINGS).map(lambda b: Part(f"-{b}*", "excluded beginning", b, True)),
)
fields = st.one_of(
    st.builds(
        lambda value, minus, name=name: Part(f"{minus}{name}:{value}", name, value, bool(minus)),
        st.sampled_from(values),
        st.sampled_from(["", "-"]),
    )
    for name, (values, _) in VALUES.items()
)
queries = st.lists(words | phrases | excluded | fields, min_size=1, max_size=5)


@pytest.fixture(scope="module")
def find(searching):
    vaults: dict[str, dict[str, str]] = {}
    for note in NOTES:
        vaults.setdefault(note.vault, {})[note.path] = note.file
    return searching(vaults, top_k=50)


def is_let_through(note: Note, parts: list[Part]) -> bool:
    """Tell whether a note meets all parts; of several `vault:` one is enough."""
    vaults = [part for part in parts if part.kind == "vault" and not part.negated]
    others = [part for part in parts if part not in vaults]
    return all(part.lets_through(note) for part in others) and (
        not vaults or any(part.lets_through(note) for part in vaults)
    )


@settings(max_examples=examples(300))
@given(queries)
def test_results_are_the_notes_that_meet_every_condition(find, parts):
    results = find(" ".join(part.text for part in parts)).results
    found = {(result.vault, result.file_path) for result in results}
    assert len(found) == len(results)
    allowed = {place for place, note in BY_PLACE.items() if is_let_through(note, parts)}
    assert found <= allowed
    words = [part for part in parts if part.kind in ("word", "beginning")]
    # Whatever has the phrases and titles is found; plain words alone are searched for.
    if words and not any(p.kind in ("phrase", "title") and not p.negated for p in parts):
        allowed = {place for place in allowed if any(p.judge(BY_PLACE[place]) for p in words)}
    assert found >= allowed


@settings(max_examples=examples(300))
@example("walrus \udcff")  # a shell passes bytes that are no UTF-8 so
@example('"\udcff" -\udcff path:\udcff')
@example('TAG:""')
@example("path:*\\")
@example("tag:#")
@example("-tag:#")
@given(
    st.one_of(
        st.text(max_size=30),
        st.lists(
            st.sampled_from(
                [
                    *('"', "“", "”", "-", "－", "tag:", "vault:", "path:", "title:", "*", "?"),
                    *("[", "]", " ", "\u3000", "\\", "/", "!", "#", "\0", "é"),
                    *("walrus", "期限", "あ", "sea"),
                ]
            ),
            max_size=8,
        ).map("".join),
    )
)
def test_no_text_fails(find, query):
    try:
        response = find(query)
    except UsageError as error:
        assert "no vault named" in str(error)
        assert re.search("vault[:：]", query, re.IGNORECASE)
    except QueryError as error:
        assert str(error) == "the query is empty"
        assert not re.search(r"[^\W_]", re.sub("(?i)(tag|vault|path|title)[:：]", "", query))
    else:
        scores = [result.score for result in response.results]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score < 1 for score in scores)
