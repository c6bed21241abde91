"""The chunks a note is cut into: `chunk_note`, `note_id`."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.text.token_estimate import count_tokens
from rag.vault import Chunk, Note, chunk_note, note_id, read_note
from rag.vault.markdown import Kind
from tables import rows

EVERYTHING = 10_000


def note(source: str | bytes, path: str = "日記/a.md", vault: str = "v") -> Note:
    return read_note(source if isinstance(source, bytes) else source.encode(), vault, path, 0.0)


def chunks(source: str | bytes, size: int = EVERYTHING, overlap: int = 0) -> list[Chunk]:
    """Cut by characters: what a chunk costs is its length."""
    return chunk_note(note(source), size, overlap, len)


def texts(source: str, size: int = EVERYTHING, overlap: int = 0) -> list[str]:
    return [chunk.text for chunk in chunks(source, size, overlap)]


def spans(source: str | bytes, size: int = EVERYTHING) -> list[tuple[int, int]]:
    return [(chunk.line_start, chunk.line_end) for chunk in chunks(source, size)]


# Sections and their headings


def test_a_note_without_headings_is_one_section():
    (chunk,) = chunks("一行目\n\nsecond\n")
    assert (chunk.heading, chunk.text) == ((), "一行目\n\nsecond")
    assert (chunk.line_start, chunk.line_end, chunk.position) == (1, 3, 0)


def test_each_section_knows_the_headings_above_it():
    found = chunks("intro\n# 一\na\n## Two\nb\n### 三\nc\n## Four\nd\n# 五\ne\n")
    assert [(chunk.heading, chunk.text.split("\n")[-1]) for chunk in found] == [
        *(((), "intro"), (("一",), "a"), (("一", "Two"), "b"), (("一", "Two", "三"), "c")),
        *((("一", "Four"), "d"), (("五",), "e")),
    ]
    assert [chunk.position for chunk in found] == [0, 1, 2, 3, 4, 5]


def test_a_setext_heading_begins_a_section_with_both_its_lines():
    found = chunks("a\n\n題名\n====\n本文\n\nSub\n---\nb")
    assert [(chunk.heading, chunk.text) for chunk in found] == [
        ((), "a"),
        (("題名",), "題名\n====\n本文"),
        (("題名", "Sub"), "Sub\n---\nb"),
    ]


def test_a_heading_with_nothing_but_headings_below_makes_no_chunk_of_its_own():
    assert texts("# 親\n\n## 子\ntext") == ["## 子\ntext"]


@rows("source", "", "\n\n", "---\ntags: [空]\n---\n", "\u3000\n\u00a0\n")
def test_a_note_without_text_gives_one_empty_chunk(source):
    (chunk,) = chunks(source)
    assert (chunk.heading, chunk.text) == ((), "")
    assert 1 <= chunk.line_start == chunk.line_end <= max(1, source.count("\n"))


# Lines


def test_lines_are_those_of_the_file_below_front_matter():
    assert spans("---\ntitle: 題\ntags:\n  - a\n---\n\n# 見出し\n本文\n") == [(7, 8)]


# Cutting


def test_a_long_section_is_cut_between_paragraphs():
    assert texts("first one\nstill\n\n二段落目。です。\n\nthird", size=20) == [
        "first one\nstill",
        "二段落目。です。\n\nthird",
    ]


@rows(
    "paragraph, size, expected",
    ("One two. Three four. Five six.", 21, ["One two. Three four.", "Five six."]),
    ("一つ目の文。二つ目の文！三つ目の文？", 12, ["一つ目の文。二つ目の文！", "三つ目の文？"]),
    ("- 項目一\n- item two\n- 三", 17, ["- 項目一\n- item two", "- 三"]),
)
def test_a_long_paragraph_is_cut_between_lines_and_sentences(paragraph, size, expected):
    assert texts(paragraph, size) == expected


FENCE = "```py\n" + "".join(f"x{n} = {n}\n\n" for n in range(20)) + "```"
TABLE = "| 名前 | 値 |\n|---|---|\n" + "".join(f"| a{n} | {n} |\n" for n in range(20)).rstrip()


@rows("block", FENCE, TABLE)
def test_a_fence_or_table_that_fits_a_chunk_is_not_cut(block):
    found = texts(f"前の文。\n\n{block}\n\nafter", size=len(block))
    assert found == ["前の文。", block, "after"]


def test_each_part_of_a_table_repeats_the_names_of_its_columns():
    first, *parts = chunks(f"前の文。\n\n{TABLE}\n\nafter", size=60)[1:-1]
    header = "| 名前 | 値 |\n|---|---|\n"
    assert all(chunk.text.startswith(header) for chunk in (first, *parts))
    assert (first.repeated, first.line_start) == (0, 3)
    assert {chunk.repeated for chunk in parts} == {2}
    assert parts[0].line_start == first.line_end + 1
    assert max(len(chunk.text) for chunk in (first, *parts)) <= 60


def test_each_part_of_a_fence_keeps_its_language_and_is_closed():
    parts = chunks(f"before\n\n{FENCE}\n\nafter", size=60)[1:-1]
    assert len(parts) > 3
    for chunk in parts:
        assert chunk.text.startswith("```py\nx")
        assert chunk.text.endswith("\n```")
    assert [chunk.repeated for chunk in parts] == [0] + [1] * (len(parts) - 1)


def test_a_row_longer_than_a_chunk_stays_whole_up_to_twice_its_size():
    header, row = "| a |\n|---|\n", "| " + "x" * 90 + " |\n"
    found = texts(header + row + "| y |\n" + row, size=60)
    assert [text.split("\n")[-1] for text in found] == [row.strip(), "| y |", row.strip()]


def test_the_overlap_repeats_the_last_sentences_of_the_chunk_before():
    source = "一つ目の文。二つ目の文。三つ目の文。四つ目の文。"
    assert texts(source, size=18, overlap=6) == [
        "一つ目の文。二つ目の文。三つ目の文。",
        "三つ目の文。四つ目の文。",
    ]


@rows("size, overlap", (0, 0), (-1, 0), (10, 10), (10, -1))
def test_sizes_that_make_no_sense_are_refused(size, overlap):
    with pytest.raises(ValueError, match="chunk size"):
        chunks("a", size, overlap)


# Identity


def test_a_chunk_keeps_its_id_when_text_elsewhere_changes():
    before = chunks("# 一\na\n# 二\nb")
    after = chunks("new\n# 一\nlonger\n\ntext\n# 二\nb")
    assert [chunk.id for chunk in before] == [chunk.id for chunk in after[1:]]


def test_sections_under_duplicate_headings_have_ids_of_their_own():
    found = chunks("# 例\na\n# 例\na\n# 例\na")
    assert [chunk.heading for chunk in found] == [("例",)] * 3
    assert len({chunk.id for chunk in found}) == 3


def test_ids_differ_by_vault_and_path():
    notes = [note("a", "a.md", "v"), note("a", "b.md", "v"), note("a", "a.md", "w")]
    assert len({chunk_note(each, 9, 0, len)[0].id for each in notes}) == 3
    assert len({note_id(each.vault, each.path) for each in notes}) == 3


# Any note at all

LINE = st.one_of(
    st.sampled_from(
        ["", "", "  ", "\u3000", "# 見出し", "## Sub", "## Sub", "# a\x1fb", "```", "```", "~~~py",
         "> ```", "> quote", "- ```", "| a | b |", "|---|---|", "| 1 | [[x\\|y]] |", "題名", "===",
         "---", "%%", "A sentence. Another one! 三つ目の文。四つ目？", "- 項目", "    code",
         "語" * 40, "word " * 20, "x" * 90, "\u200b", "a\u00a0b"]
    ),
    st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=12),
)  # fmt: skip
NOTES = st.builds(
    lambda head, lines: note(head + "\n".join(lines)),
    st.sampled_from(["", "---\ntitle: 題\n---\n", "---\ntitle: a: b\n---\n", "---\n- a\n---\n"]),
    st.lists(LINE, max_size=40),
)
SIZES = st.integers(8, 120).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1)))
MEASURES = st.sampled_from([len, count_tokens])
many = settings(max_examples=examples(250))


def own_text(chunk: Chunk) -> str:
    """The text of a chunk without what it repeats."""
    lines = chunk.text.split("\n")[chunk.repeated :]
    return "\n".join(lines[: chunk.line_end - chunk.line_start + 1])


def solid_spans(found: Note) -> list[tuple[int, int]]:
    """The first and last lines, from 1, of each closed fence and each table."""
    spans = [(first + 1, last + 1) for first, last in found.outline.fences.items()]
    rows = [n for n, kind in enumerate(found.outline.kinds, 1) if kind == Kind.TABLE]
    for row in rows:
        if spans and spans[-1][1] == row - 1 and row - 1 in rows:
            spans[-1] = (spans[-1][0], row)
        else:
            spans.append((row, row))
    return spans


def heading_only_lines(found: Note) -> Iterator[int]:
    """The lines, from 1, of headings that have nothing below them before the next heading."""
    kinds, headings = found.outline.kinds, found.outline.headings
    ends = [*(heading.line for heading in headings[1:]), len(kinds)]
    for heading, end in zip(headings, ends):  # noqa: B905 - there may be no heading at all
        if not any(kinds[heading.last_line + 1 : end]):
            yield from range(heading.line + 1, heading.last_line + 2)


@many
@given(NOTES, SIZES, MEASURES)
def test_every_line_of_a_note_is_in_a_chunk(found, sizes, measure):
    cut = chunk_note(found, *sizes, measure)
    covered = {n for chunk in cut for n in range(chunk.line_start, chunk.line_end + 1)}
    body = {
        n for n, line in enumerate(found.lines, 1) if n > found.body_line and line.strip()
    } - set(heading_only_lines(found))
    assert body <= covered
    assert covered <= set(range(1, max(1, len(found.lines)) + 1))


@many
@given(NOTES, SIZES, MEASURES)
def test_cutting_loses_no_character(found, sizes, measure):
    cut = chunk_note(found, sizes[0], 0, measure)
    sections = chunk_note(found, 10**9, 0, measure)
    assert "".join("".join(own_text(chunk) for chunk in cut).split()) == "".join(
        "".join(chunk.text for chunk in sections).split()
    )


@many
@given(NOTES, SIZES, MEASURES)
def test_only_a_single_row_or_line_of_code_is_larger_than_the_limit(found, sizes, measure):
    solid = {n for first, last in solid_spans(found) for n in range(first, last + 1)}
    for chunk in chunk_note(found, *sizes, measure):
        cost = measure(chunk.text)
        assert cost <= sizes[0] or chunk.line_start in solid
        assert cost <= 2 * sizes[0]


@many
@given(NOTES, SIZES, MEASURES)
def test_a_chunk_begins_or_ends_inside_a_fence_or_table_only_where_that_fills_one(
    found, sizes, measure
):
    solid = [
        (first, last)
        for first, last in solid_spans(found)
        if measure("\n".join(found.lines[first - 1 : last])) <= sizes[0] - 2
    ]
    for chunk in chunk_note(found, *sizes, measure):
        for first, last in solid:
            assert not first < chunk.line_start <= last
            assert not first <= chunk.line_end < last


CELLS = st.lists(st.sampled_from(["語", "word", "1", "`x`", ""]), min_size=2, max_size=2)


@many
@given(st.lists(CELLS, max_size=30), SIZES, MEASURES)
def test_every_row_of_a_table_is_in_one_chunk_and_in_order(rows, sizes, measure):
    written = [f"| {n} | {a} | {b} |" for n, (a, b) in enumerate(rows)]
    found = note("\n".join(["---", "title: 表", "---", "| n | 甲 | b |", "|-|-|-|", *written]))
    size = sizes[0] + 40  # for a row and its header, at least
    cut = chunk_note(found, size, min(sizes[1], size // 2), measure)
    kept = [line for chunk in cut for line in own_text(chunk).split("\n") if line]
    assert kept == ["| n | 甲 | b |", "|-|-|-|", *written]
    assert all(measure(chunk.text) <= size for chunk in cut)
    assert all(chunk.text.startswith("| n | 甲 | b |\n|-|-|-|") for chunk in cut)
    for chunk in cut:
        assert own_text(chunk).split("\n") == found.lines[chunk.line_start - 1 : chunk.line_end]


# Large notes


@rows(
    "part",
    "## 見出し Heading\n\nText with a [[link|x]]. 日本語の文。二つ目の文。\n\n- 項目\n\n",
    "一つの段落が終わらない。改行もない。",
    "no end of words ",
    "あ",
    "a\n",
    "```\n# code\n```\n",
    "| a | b |\n|---|---|\n" + "| row | 語 |\n" * 600,
    "```py\n" + "code = 1\n" * 880 + "```\n",
)
def test_what_is_measured_grows_in_proportion_to_the_note(part):
    def measured(characters: int) -> int:
        total = 0

        def measure(text: str) -> int:
            nonlocal total
            total += len(text)
            return len(text)

        chunk_note(note(part * (characters // len(part)) + "end"), 100, 20, measure)
        return total

    assert 0 < measured(80_000) < 2.5 * measured(40_000)
