"""Drawings of the Excalidraw plugin: the user's text is indexed, the drawing itself is not."""

from hypothesis import given
from hypothesis import strategies as st

from rag.vault import Note, chunk_note, read_note
from rag.vault.note import blank_drawing
from tables import rows

TODAY = """---
excalidraw-plugin: parsed
tags: [excalidraw]
---
==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu of this document. ⚠== You can decompress

My own words about rollback.

```json
{"mine": 1}
```

# Excalidraw Data

## Text Elements
Deploy first ^abc123

Then [[Rollback]] #ops ^def456

%%
## Drawing
```compressed-json
N4KAkARALgngDgUwgLgAQQQDwMYEMA2AlgCYBOuA7hADTgQBuCmAdgC

bGdoaXQ
```
%%
"""
OLDER = """---
excalidraw-plugin: raw
---
%%
# Text Elements
Deploy first ^abc123

%%
# Drawing
```json
{"type": "excalidraw", "elements": [{"text": "dataonly"}]}
```
%%
"""


def read(source: str, path: str = "art/Sketch.excalidraw.md") -> Note:
    return read_note(source.encode(), "v", path, 0.0)


def words(note: Note) -> str:
    return "\n".join(chunk.text for chunk in chunk_note(note, 512, 0, len))


def test_the_users_text_and_the_text_elements_are_indexed():
    text = words(read(TODAY))
    for part in ("My own words", "Deploy first", "[[Rollback]]"):
        assert part in text
    assert [*read(TODAY).links] == ["Rollback"] and read(TODAY).tags == ["excalidraw", "ops"]


@rows("source", TODAY, OLDER, TODAY.rpartition("```")[0])
def test_the_drawing_and_the_plugins_notice_are_not(source):
    text = words(read(source))
    for part in ("N4KAk", "bGdo", "dataonly", "compressed-json", "Drawing", "EXCALIDRAW", "%%"):
        assert part not in text


def test_an_own_heading_and_front_matter_are_its_title_as_of_any_note():
    assert read("# My sketch\n\n# Excalidraw Data\n").title == "My sketch"
    assert read("---\ntitle: Named\n---\n# Excalidraw Data\n").title == "Named"


def test_other_notes_keep_what_looks_like_a_drawing():
    plain = read("# Drawing\n```json\n{}\n```\n", "Notes.md")
    assert plain.title == "Drawing" and "```json" in words(plain)


@given(st.lists(st.sampled_from([*TODAY.split("\n"), *OLDER.split("\n"), "~~~json", "#"])))
def test_no_line_is_lost_or_changed(lines):
    left = [*lines]
    blank_drawing(left, 0)
    assert len(left) == len(lines)
    assert all(line in ("", before) for line, before in zip(left, lines, strict=True))


WITH_TABLES = """---
excalidraw-plugin: parsed
---
# Embedded Files
my own list

# Excalidraw Data

## Text Elements
Deploy first ^abc123

## Element Links
abc123: [[Rollback]]

## Embedded Files
def456: [[picture.png]]

%%
## Drawing
```compressed-json
N4KAk
```
%%
"""


def test_the_plugins_tables_and_headings_are_no_text():
    chunks = chunk_note(read(WITH_TABLES), 512, 0, len)
    assert [chunk.heading for chunk in chunks] == [("Embedded Files",)]
    text = words(read(WITH_TABLES))
    assert "my own list" in text and "Deploy first" in text
    for part in ("Excalidraw Data", "Text Elements", "Element Links", "abc123:", "picture"):
        assert part not in text
