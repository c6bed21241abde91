"""The bounds of a note: what is kept beyond each, and what is said of it."""

from rag.vault import Note, chunk_note, limits, read_note
from tables import rows


def read(text: str) -> Note:
    return read_note(text.encode(), "work", "a.md", 0.0)


def cut(text: str, size: int = 50) -> tuple[Note, list[str]]:
    note = read(text)
    return note, [chunk.text for chunk in chunk_note(note, size, 0, lambda t: len(t.split()))]


def words(count: int, before: str = "") -> str:
    return " ".join(f"{before}w{number}" for number in range(count))


def test_only_the_first_lines_are_read():
    note = read("a\n" * (limits.MOST_LINES + 1))
    assert len(note.lines) == limits.MOST_LINES
    assert note.problems == ["more than 300,000 lines: only the first 300,000 are kept"]


@rows("text", words(1200, "#"), f"---\ntags: [{words(1200)}]\n---\n")
def test_tags_are_kept_up_to_their_number(text):
    note = read(text.replace(" ", ", ") if text.startswith("---") else text)
    if text.startswith("---"):
        note = read("---\ntags: [" + words(1200).replace(" ", ", ") + "]\n---\n")
    assert note.tags == [f"w{number}" for number in range(limits.MOST_TAGS)]
    assert note.problems == ["more than 1,000 tags: only the first 1,000 are kept"]


@rows(
    "tag, problem",
    ("a" * 201, "a tag is longer than 200 characters: it is left out"),
    ("a/" * 32 + "a", "a tag has more than 32 levels: it is left out"),
)
@rows("note", "#{} #kept", "---\ntags: [{}, kept]\n---\n")
def test_a_tag_too_long_or_too_deep_is_left_out(tag, problem, note):
    found = read(note.format(tag))
    assert found.tags == ["kept"]
    assert found.problems == [problem]


def test_aliases_are_kept_up_to_their_number_and_length():
    names = ", ".join(["a" * 201, *(f"n{number}" for number in range(1200))])
    note = read(f"---\naliases: [{names}]\n---\n")
    assert note.aliases == [f"n{number}" for number in range(limits.MOST_ALIASES)]
    assert note.problems == [
        "a alias is longer than 200 characters: it is left out",
        "more than 1,000 aliases: only the first 1,000 are kept",
    ]


@rows("link", "[[w{}]]", "[a](w{}.md)")
def test_links_are_kept_up_to_their_number(link):
    note = read("\n".join(link.format(number) for number in range(limits.MOST_LINKS + 9)))
    assert len(note.links) == limits.MOST_LINKS
    assert note.problems == ["more than 10,000 links: only the first 10,000 are kept"]


def test_the_beginning_of_a_long_heading_is_kept():
    note = read("# " + "a" * 600 + "\n\ntext")
    assert note.title == note.outline.headings[0].text == "a" * limits.LONGEST_HEADING
    assert note.problems == ["a heading is longer than 500 characters: only its first 500 are kept"]


def test_the_beginning_of_a_long_title_is_kept():
    note = read("---\ntitle: " + "a" * 600 + "\n---\n")
    assert note.title == "a" * limits.LONGEST_TITLE
    assert note.problems == ["a title is longer than 500 characters: only its first 500 are kept"]


def test_of_long_front_matter_the_beginning_is_read():
    note = read("---\ntags: [kept]\n" + "a: b\n" * 400 + "c: " + "d" * 60_000 + "\n---\n# Body")
    assert (note.tags, note.title) == (["kept"], "Body")
    assert note.problems == ["front matter: only its first 50,000 characters are read"]


@rows(
    "block, problem",
    ("a: " + "[" * 40 + "]" * 40, "front matter: nested deeper than 32 levels"),
    ("a: &a [*a]", "front matter: aliases are not read"),
)
def test_what_front_matter_holds_besides_what_is_refused_is_kept(block, problem):
    note = read(f"---\ntitle: Kept\n{block}\ntags: [x]\n---\n")
    assert (note.title, note.tags) == ("Kept", ["x"])
    assert note.problems == [problem]


def test_a_reason_that_quotes_all_of_a_note_is_cut_short():
    note = read("---\na: 1:" + "9" * 30_000 + "\nb: !!int " + "x" * 30_000 + "\n---\n")
    assert all(len(problem) < 300 for problem in note.problems)


def test_chunks_past_their_number_are_left_out():
    note, chunks = cut("a\n\n" * (limits.MOST_CHUNKS + 5), size=1)
    assert len(chunks) == limits.MOST_CHUNKS
    assert note.problems == ["more than 4,500 chunks: only the first 4,500 are kept"]


def test_past_the_most_sentences_the_text_is_cut_at_spaces(monkeypatch):
    monkeypatch.setattr(limits, "MOST_SENTENCES", 100)
    _, chunks = cut("ab cd. " * 150, size=3)
    assert [chunk.split() for chunk in chunks[:100]] == [["ab", "cd."]] * 100
    assert " ".join(chunks[100:]).split() == ["ab", "cd."] * 50
    assert len(chunks) < 150
