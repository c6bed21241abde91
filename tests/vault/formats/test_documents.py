"""PDF, Office, web pages, tables and plain text: what is read of each kind of file."""

import io
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdfium2 import PdfDocument

import document_files as files
from rag.support.file_kinds import DOCUMENTS
from rag.vault.documents import Document, read
from tables import rows

HOUSE = [
    "# Boiler\n\nThe boiler in the cellar was serviced in October by Marsh and Son, who replaced"
    " the pressure valve and asked us to bleed the radiators before the first frost of the year."
    "\n\nThe contract ends in May.",
    "# Roof\n\nFour slates on the north side are loose.",
]
GUIDE = [
    "# 証明書\n\n証明書は毎年三月に更新する。更新を忘れると全ての利用者が接続できなくなるため、"
    "担当者は二月の末までに新しい証明書を申請しておくこと。申請には上長の承認が必要である。\n\n費用は無料。",
    "# 障害対応\n\n障害が起きたときはまず連絡網に従って電話をかける。",
]
MADE_BY = {"reportlab": files.reportlab_pdf, "fpdf": files.fpdf_pdf, "raw": files.raw_pdf}


@pytest.fixture
def read_raw(tmp_path) -> Callable[[str, bytes], Document]:
    """Read a file of some bytes: `read_raw("a.pdf", raw)`."""

    def write_and_read(name: str, raw: bytes) -> Document:
        (tmp_path / name).write_bytes(raw)
        return read(str(tmp_path / name))

    return write_and_read


Read = Callable[[str, bytes], Document]


# -- PDF -----------------------------------------------------------------------------------


@rows("program", MADE_BY)
def test_a_pdf_of_any_program_is_read_page_by_page(read_raw, program):
    document = read_raw("a.pdf", MADE_BY[program]("House", HOUSE))
    roof = document.lines.index("\f[page 2]")
    assert document.lines[0] == "\f[page 1]"
    assert "The contract ends in May." in document.lines[:roof]
    assert "Four slates on the north side are loose." in document.lines[roof:]


@rows("program", MADE_BY)
def test_lines_of_a_pdf_are_joined_to_paragraphs(read_raw, program):
    document = read_raw("a.pdf", MADE_BY[program]("House", HOUSE))
    assert HOUSE[0].split("\n\n")[1] in document.lines


def test_lines_in_japanese_are_joined_without_a_blank(read_raw):
    document = read_raw("a.pdf", files.reportlab_pdf("手引き", GUIDE))
    assert GUIDE[0].split("\n\n")[1] in document.lines


def test_a_word_that_goes_on_in_the_next_line_loses_its_hyphen(read_raw):
    lines = [
        "The valve was replaced in spring and the radi-",
        "ators were bled once more before the frost,",
    ]
    raw = files.raw_pdf("House", ["\n\n".join([*lines, *["which came early. " * 3] * 9])])
    [paragraph] = filter(None, read_raw("a.pdf", raw.replace(b"() Tj T*\n", b"")).lines[1:])
    assert "and the radiators were bled once more before the frost, which came early." in paragraph


@rows("program", "reportlab", "fpdf")
def test_bookmarks_of_a_pdf_are_its_headings(read_raw, program):
    document = read_raw("a.pdf", MADE_BY[program]("House", HOUSE))
    assert [line for line in document.lines if line.startswith("#")] == ["# Boiler", "# Roof"]


def test_two_columns_are_read_one_after_the_other(read_raw):
    items = [f"Sentence {number} of the long list stands here by itself." for number in range(90)]
    document = read_raw("a.pdf", files.reportlab_pdf("List", ["\n\n".join(items)], columns=2))
    text = " ".join(document.lines)
    places = [text.index(f"Sentence {number} ") for number in range(90)]
    assert places == sorted(places)


def test_what_stands_at_the_head_of_every_page_is_read_once(read_raw):
    pages = [f"Paragraph about room {word} of the house." for word in ("one", "two", "three")]
    raw = files.reportlab_pdf("House", pages, head="Marsh and Son, page")
    text = " ".join(read_raw("a.pdf", raw).lines)
    assert text.count("Marsh and Son") == 1
    assert all(page in text for page in pages)


def test_lines_that_differ_in_their_numbers_are_kept(read_raw):
    totals = [f"Invoice {4000 + n} total {31 * n} euros" for n in range(6)]
    lines = read_raw("a.pdf", files.raw_pdf("Invoices", totals)).lines
    assert [line for line in lines if line.startswith("Invoice")] == totals


def test_a_title_that_only_names_the_file_is_none(read_raw):
    titles = ["Microsoft Word - plan_v3.docx", "untitled", "draft.indd", "(anonymous)"]
    raws = [files.fpdf_pdf(title, ["Some text."]) for title in titles]
    assert [read_raw("a.pdf", raw).fields.get("title") for raw in raws] == [None] * 4


def test_a_pdf_without_text_is_said_to_be_a_scan(read_raw):
    document = read_raw("a.pdf", files.fpdf_pdf("Scan", ["", ""]))
    assert document.lines == [] and "a scan?" in document.problems[0]


# -- what files say of themselves ----------------------------------------------------------


@rows("name", "a.pdf", "a.docx", "a.pptx", "a.xlsx", "a.html", "a.org")
def test_title_and_author_are_those_of_the_file_itself(tmp_path, name):
    files.write_document(tmp_path / name, "Our house", ["# Rooms\n\nRoom | Size\n\nHall | 9"])
    fields = read(str(tmp_path / name)).fields
    assert (fields["title"], fields["author"]) == ("Our house", files.AUTHOR)
    assert fields["type"] == DOCUMENTS[Path(name).suffix]


def test_dates_are_those_of_the_file_itself(read_raw):
    from docx import Document as WordFile

    word, raw = WordFile(), io.BytesIO()
    word.add_paragraph("Some text.")
    word.core_properties.created = datetime(2023, 4, 1, 9, 30)
    word.core_properties.modified = datetime(2024, 2, 29, 18, 5)
    word.save(raw)
    fields = read_raw("a.docx", raw.getvalue()).fields
    assert (fields["created"], fields["modified"]) == ("2023-04-01T09:30:00", "2024-02-29T18:05:00")
    fields = read_raw("a.pdf", files.raw_pdf("House", ["Some text."])).fields
    assert fields["created"] == "2024-03-05T10:15:00"


# -- Office --------------------------------------------------------------------------------


def test_a_word_file_keeps_its_headings_and_tables(read_raw):
    raw = files.docx("House", ["# Rooms\n\nWe have two.\n\nRoom | Size\nHall | 9"])
    assert [line for line in read_raw("a.docx", raw).lines if line] == [
        *("# Rooms", "We have two.", "| Room | Size |", "| --- | --- |", "| Hall | 9 |")
    ]


def test_slides_have_a_title_their_tables_and_the_notes_of_the_speaker(read_raw):
    pages = ["# Plan\n\nWe begin in May.", "# Costs\n\nYear | Euro\n2024 | 300\n\nNotes: Ask Ida."]
    lines = read_raw("a.pptx", files.pptx("Talk", pages)).lines
    assert [line for line in lines if line] == [
        *("\f[slide 1]", "# Plan", "We begin in May.", "\f[slide 2]", "# Costs"),
        *("| Year | Euro |", "| --- | --- |", "| 2024 | 300 |", "Ask Ida."),
    ]


def test_slides_come_in_the_order_of_the_show(read_raw):
    from pptx import Presentation

    show, raw = Presentation(io.BytesIO(files.pptx("Talk", ["# One", "# Two"]))), io.BytesIO()
    slides = show.slides._sldIdLst
    slides.append(slides[0])
    show.save(raw)
    lines = read_raw("a.pptx", raw.getvalue()).lines
    assert [line for line in lines if line] == ["\f[slide 1]", "# Two", "\f[slide 2]", "# One"]


def test_sheets_are_tables_below_their_names(read_raw):
    from openpyxl import Workbook

    book, raw = Workbook(), io.BytesIO()
    book.active.title = "Costs"
    for row in (["Day", "Euro", None], [datetime(2024, 3, 5), 12.5, None], ["a|b", True, None]):
        book.active.append(row)
    book.create_sheet("予算").append(["項目", "金額"])
    book.save(raw)
    assert [line for line in read_raw("a.xlsx", raw.getvalue()).lines if line] == [
        *("# Costs", "| Day | Euro |", "| --- | --- |", "| 2024-03-05 | 12.5 |"),
        *("| a\\|b | True |", "# 予算", "| 項目 | 金額 |", "| --- | --- |"),
    ]


def test_a_cell_far_below_the_others_is_read(read_raw):
    from openpyxl import Workbook

    book, raw = Workbook(), io.BytesIO()
    book.active["A1"], book.active["B1048576"] = "Day", "stray"
    book.save(raw)
    lines = read_raw("a.xlsx", raw.getvalue()).lines
    assert lines[2:5] == ["| Day |  |", "| --- | --- |", "|  | stray |"]


# -- tables, pages and text ----------------------------------------------------------------


@rows("raw", b"Room;Size\nHall;9,5\n", b"Room\tSize\nHall\t9,5\n", b'Room,Size\nHall,"9,5"\n')
def test_a_table_of_text_is_read_whatever_parts_its_columns(read_raw, raw):
    assert read_raw("a.csv", raw).lines == ["| Room | Size |", "| --- | --- |", "| Hall | 9,5 |"]


def test_of_a_web_page_only_the_main_part_is_read(read_raw):
    document = read_raw("a.html", files.web_page("House", ["# Rooms\n\nWe have two."]))
    assert [line for line in document.lines if line] == ["# House", "## Rooms", "We have two."]


def test_a_web_page_in_another_encoding_is_decoded(read_raw):
    raw = '<html><head><meta charset="shift_jis"></head><body>費用は無料</body></html>'
    assert "費用は無料" in read_raw("a.html", raw.encode("shift_jis")).lines


def test_elements_of_a_web_page_need_no_end_tags(read_raw):
    items = b"<ul>" + b"<li><p>Hall <b>nine</b>\n" * 400 + b"</ul>"
    table = b"<table>" + b"<tr><td>Hall<td>9\n" * 400 + b"</table>"
    raw = b"<html><body><p>One<p>Two" + items + b"<h2>Sizes</h2>" + table
    lines = [line for line in read_raw("a.html", raw).lines if line]
    assert lines[:4] == ["One", "Two", "- Hall **nine**", "- Hall **nine**"]
    assert lines.count("- Hall **nine**") == lines.count("| Hall | 9 |") == 400


def test_an_outline_keeps_the_numbers_of_its_lines(read_raw):
    raw = (
        b"#+TITLE: House\n* TODO Boiler :cellar:\n:PROPERTIES:\n:ID: 7\n:END:\nServiced.\n** Pump\n"
    )
    assert read_raw("a.org", raw).lines[:7] == ["", "# Boiler", "", "", "", "Serviced.", "## Pump"]


def test_a_headline_of_an_outline_may_be_as_long_as_it_likes(read_raw):
    raw = b"* Boiler" + b" " * 100_000 + b"pump  :cellar:house:  \n"
    assert read_raw("a.org", raw).lines[0] == f"# Boiler{' ' * 100_000}pump"


def test_underlined_headings_keep_the_numbers_of_their_lines(read_raw):
    raw = b"=====\nHouse\n=====\n\nBoiler\n------\nServiced.\n\nRoof\n----\n"
    lines = ["", "# House", "", "", "## Boiler", "", "Serviced.", "", "## Roof", ""]
    assert read_raw("a.rst", raw).lines[:10] == lines


def test_plain_text_means_nothing_in_markdown(read_raw):
    raw = b"# no heading\n```\n> no quote\nA line\n---\n  - item\n"
    lines = ["\\# no heading", "\\```", "\\> no quote", "A line", "\\---", "  - item"]
    assert read_raw("a.txt", raw).lines[:6] == lines


def test_plain_text_in_another_encoding_is_decoded(read_raw):
    text = "証明書は毎年三月に更新する。担当者は二月の末までに申請しておくこと。"
    assert read_raw("a.txt", text.encode("shift_jis")).lines[0] == text
    assert read_raw("b.txt", text.encode("utf-16")).lines[0] == text


# -- files that are not what they should be ------------------------------------------------


def test_the_content_of_a_file_counts_more_than_its_suffix(read_raw):
    document = read_raw("a.docx", files.raw_pdf("House", HOUSE))
    assert document.fields["type"] == "docx" and document.lines[0] == "\f[page 1]"
    assert document.problems == ["it is pdf, whatever its name says"]


OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4096)


@rows(
    "name, raw, why",
    ("empty.pdf", b"", "it is empty"),
    ("blank.txt", b" \n\n\t\n", "it is empty"),
    ("old.docx", OLD_OFFICE, "of an older Office"),
    ("locked.xlsx", OLD_OFFICE + "EncryptedPackage".encode("utf-16-le"), "it is encrypted"),
    ("locked.pdf", lambda: files.fpdf_pdf("House", HOUSE, "s3cret"), "it is encrypted"),
    ("archive.docx", files.archive({"a.md": b"text"}), "it is an archive"),
    ("text.pdf", b"only text", "it is no pdf"),
    ("picture.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is no text"),
    ("cut.pdf", files.raw_pdf("House", HOUSE)[:60], "it is damaged"),
    ("cut.docx", lambda: files.docx("House", HOUSE)[:900], "it is damaged"),
    ("hollow.xlsx", files.archive({"xl/workbook.xml": b"<a"}), "it is damaged"),
)
def test_of_a_file_that_cannot_be_read_the_reason_is_said(read_raw, name, raw, why):
    document = read_raw(name, raw if isinstance(raw, bytes) else raw())
    assert document.lines == []
    assert len(document.problems) == 1
    assert document.problems[0].startswith("nothing of it was read: ")
    assert why in document.problems[0]


def test_a_pdf_whose_table_of_objects_is_misplaced_is_read_all_the_same(read_raw):
    whole = files.raw_pdf("House", HOUSE)
    document = read_raw("a.pdf", whole[: whole.rindex(b"startxref")] + b"startxref\n9\n%%EOF\n")
    assert "Four slates on the north side are loose." in document.lines


# What files begin with, and what stands in them: bytes that readers look for.
PIECES = st.sampled_from(
    [
        *(b"%PDF-1.7\n", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"<html><table><td>", b"\xff\xfe"),
        *(b"\0", b"\f", b"\f[page 3]\n", b"\xe3\x81", b"#+BEGIN_SRC\n", b"* a\n", b"====\n", b'"'),
        *(b"\r", b"\x85", "\u2028".encode(), b"a,b;c\n", b"&#12;&#0;", b"<title>", b"1 0 obj\n"),
        *(files.raw_pdf("a", ["b\fc"]), files.web_page("a", ["b"])),
    ]
)
ANY_BYTES = st.one_of(st.binary(max_size=300), st.lists(st.one_of(PIECES, st.binary(max_size=20))))


@given(
    st.sampled_from(sorted(DOCUMENTS)),
    ANY_BYTES.map(lambda raw: b"".join([*raw]) if isinstance(raw, list) else raw),
)
def test_whatever_bytes_a_file_has_it_is_lines_without_strange_characters(
    tmp_path_factory, suffix, raw
):
    file = tmp_path_factory.getbasetemp() / f"any{suffix}"
    file.write_bytes(raw)
    document = read(str(file))
    assert isinstance(document, Document) and document.fields["type"]
    assert document.lines or document.problems
    for line in document.lines:
        assert not any(char in line for char in "\0\n\r")
        assert "\f" not in line or line.startswith(("\f[page ", "\f[slide "))


def test_the_pdfs_of_these_tests_are_whole():
    raw = {name: make("House", HOUSE) for name, make in MADE_BY.items()}
    assert {name: len(PdfDocument(pdf)) for name, pdf in raw.items()} == dict.fromkeys(raw, 2)
