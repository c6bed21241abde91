"""PDF, Office, web pages and text that are made to take the machine, or to break who reads them.

`FILES` maps the name of a file to what makes it, and to a part of what is said of it; "" for one
whose text is read. `SLOW` are those that take more than a third of a second.
"""

import zlib
from collections.abc import Callable
from io import BytesIO
from zipfile import ZipFile

from document_files import archive, docx, fpdf_pdf, pdf_of_objects, pptx, raw_pdf, with_parts, xlsx

PAGES = ["# Plan\n\nThe beacon is lit at dusk.", "# Costs\n\nItem | Euro\nOil | 30"]
DEEP = 50_000
LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha">'
    + b"".join(b'<!ENTITY %c "%b">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(12))
    + b"]><a>&m;</a>"
)
OUTSIDE = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
MACRO = {"word/vbaProject.bin": b"\xd0\xcf\x11\xe0" + bytes(500)}
SHEET = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    b'<dimension ref="A1:XFD1048576"/><sheetData>%b</sheetData></worksheet>'
)


def _blank() -> bytes:
    """What an archive packs into 100 KB."""
    return b" " * 101_000_000


def _cell(name: str, text: str) -> bytes:
    row = "".join(filter(str.isdigit, name))
    text = f'<c r="{name}" t="inlineStr"><is><t>{text}</t></is></c>'
    return f'<row r="{row}">{text}</row>'.encode()


def _sheet(rows: bytes) -> bytes:
    return with_parts(xlsx("t", PAGES), {"xl/worksheets/sheet1.xml": SHEET % rows})


def _packed_pdf(size: int) -> bytes:
    """Return a PDF whose one page is that many bytes of text, packed."""
    text = zlib.compress(b"BT /F1 9 Tf 9 9 Td " + b"(ab) Tj " * (size // 8) + b" ET", 1)
    page = b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /MediaBox [0 0 9 9] >>"
    stream = b"<< /Length %d /Filter /FlateDecode >> stream\n%b\nendstream" % (len(text), text)
    return pdf_of_objects(
        [b"<< /Pages 2 0 R >>", b"<< /Kids [3 0 R] /Count 1 /Type /Pages >>", page, stream]
    )


def _looping_bookmarks() -> bytes:
    outline = b"/Outlines 9 0 R /Type /Catalog"
    entries = [
        b"<< /First 10 0 R /Last 10 0 R /Count 1 >>",
        b"<< /Title (a) /Parent 9 0 R /Next 10 0 R /First 10 0 R /Dest [5 0 R /Fit] >>",
    ]
    return raw_pdf("t", PAGES, extra=entries).replace(b"/Type /Catalog", outline)


def _lying_archive() -> bytes:
    """Return an archive that says its part has 9 bytes, where it has 9 MB."""
    raw = archive({"word/document.xml": b"<a>" + b"x" * 9_000_000})
    return raw.replace((9_000_003).to_bytes(4, "little"), (9).to_bytes(4, "little"))


def _slides(count: int) -> bytes:
    raw = pptx("t", PAGES)
    shown = ZipFile(BytesIO(raw)).read("ppt/presentation.xml")
    start, end = shown.index(b"<p:sldId "), shown.index(b"</p:sldIdLst>")
    one = shown[start : shown.index(b"/>", start) + 2]
    return with_parts(raw, {"ppt/presentation.xml": shown[:start] + one * count + shown[end:]})


FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "bomb.docx": (
        lambda: archive({"word/document.xml": _blank()}),
        "too large when it is unpacked",
    ),
    "bomb.xlsx": (
        lambda: with_parts(xlsx("t", PAGES), {"xl/sharedStrings.xml": _blank()}),
        "too large when it is unpacked",
    ),
    "bomb.pptx": (lambda: archive({"ppt/presentation.xml": _blank()}), "too large when"),
    "bomb.pdf": (lambda: _packed_pdf(40_000_000), "the process that read it ended"),
    "lying.docx": (_lying_archive, "it is damaged"),
    "laughs.docx": (lambda: archive({"word/document.xml": LAUGHS}), "declares entities"),
    "laughs.pptx": (lambda: archive({"ppt/presentation.xml": LAUGHS}), "declares entities"),
    "laughs.xlsx": (lambda: archive({"xl/workbook.xml": LAUGHS}), "it is damaged"),
    "laughing properties.xlsx": (
        lambda: with_parts(xlsx("t", PAGES), {"docProps/core.xml": LAUGHS}),
        "declares entities",
    ),
    "laughing styles.docx": (
        lambda: with_parts(docx("t", PAGES), {"word/styles.xml": LAUGHS}),
        "it is damaged",
    ),
    "laughing strings.xlsx": (
        lambda: with_parts(xlsx("t", PAGES), {"xl/sharedStrings.xml": LAUGHS}),
        "",
    ),
    "outside.pptx": (lambda: archive({"ppt/presentation.xml": OUTSIDE}), "declares entities"),
    "outside.xlsx": (
        lambda: with_parts(xlsx("t", PAGES), {"xl/worksheets/sheet1.xml": OUTSIDE}),
        "it is damaged",
    ),
    "loop of pages.pdf": (lambda: raw_pdf("t", PAGES, kids="2 0 R"), "its pages hold no text"),
    "page in itself.pdf": (lambda: raw_pdf("t", PAGES, kids="5 0 R 2 0 R"), ""),
    "loop of bookmarks.pdf": (_looping_bookmarks, ""),
    "billions of pages.pdf": (
        lambda: raw_pdf("t", PAGES).replace(b"/Count 2", b"/Count 2000000000"),
        "",
    ),
    "deep.pdf": (lambda: pdf_of_objects([b"[" * DEEP]), "it is damaged"),
    "ten thousand pages.pdf": (lambda: raw_pdf("t", ["One page of many."] * 10_000), ""),
    "encrypted.pdf": (lambda: fpdf_pdf("t", PAGES, password="s3cret"), "it is encrypted"),
    "macro.docm": (lambda: with_parts(docx("t", PAGES), MACRO), ""),
    "macro.xlsm": (lambda: with_parts(xlsx("t", PAGES), MACRO), ""),
    "far cell.xlsx": (lambda: _sheet(_cell("A1", "beacon") + _cell("B1048576", "dusk")), ""),
    "wide row.xlsx": (lambda: _sheet(_cell("A1", "beacon") + _cell("XFD2", "dusk")), ""),
    "one slide again.pptx": (lambda: _slides(20_000), ""),
    "deep.html": (lambda: b"<div>" * 20_000 + b"beacon", "it is damaged"),
    "open tags.html": (lambda: b"<b><i><a href=x>beacon " * 5_000, "it is damaged"),
    "deep list.html": (lambda: b"<ul><li>beacon" * 3_000, "it is damaged (RecursionError"),
    "comments.html": (lambda: b"<p>beacon<!--" * 60_000, "that takes more than 10 seconds"),
    "entities.html": (lambda: b"<p>&#12;[page 2]&#0;&#x1b;[31mbeacon" * 2_000, ""),
    "wide table.html": (lambda: b"<table><tr>" + b"<td>beacon" * 20_000, ""),
    "one line.txt": (lambda: b"beacon " * 500_000, ""),
    "form feeds.txt": (lambda: b"\f[page 7]\n\f beacon\n" * 1_000, ""),
    "nothing but zeros.txt": (lambda: bytes(1_000_000), "it is no text"),
    "one quote.csv": (lambda: b'a,b\n"' + b"beacon\n" * 200_000, ""),
    "quotes.csv": (lambda: b'"a","' * 100_000, ""),
    "columns.csv": (lambda: b"beacon;" * 500_000, ""),
    "blanks.org": (lambda: b"* beacon" + b" " * 100_000 + b"x\n", ""),
    "stars.org": (lambda: b"* a :b\n" * 100_000, ""),
    "rules.rst": (lambda: b"beacon\n" + b"=" * 500_000 + b"x\n" + b"~~~\n" * 50_000, ""),
    "picture.pdf": (lambda: b"\x89PNG\r\n\x1a\n" + bytes(900), "it is no text"),
    "page.pdf": (lambda: b"<!doctype html><p>beacon", ""),
    "word.pdf": (lambda: docx("t", PAGES), ""),
    "packed.xlsx": (lambda: archive({"a.txt": b"beacon"}), "it is an archive"),
    "cut a quarter.pdf": (lambda: _cut(raw_pdf("t", PAGES), 0.25), "it is damaged"),
    "cut at the end.pdf": (lambda: _cut(raw_pdf("t", PAGES), 0.99), ""),
    "cut in half.docx": (lambda: _cut(docx("t", PAGES), 0.5), "it is damaged"),
    "cut in half.pptx": (lambda: _cut(pptx("t", PAGES), 0.5), "it is damaged"),
    "cut at the end.xlsx": (lambda: _cut(xlsx("t", PAGES), 0.99), "it is damaged"),
}


def _cut(raw: bytes, share: float) -> bytes:
    return raw[: int(len(raw) * share)]


SLOW = {
    *("bomb.docx", "bomb.xlsx", "bomb.pptx", "bomb.pdf", "lying.docx", "comments.html"),
    *("ten thousand pages.pdf", "far cell.xlsx", "one slide again.pptx", "deep.html"),
    *("open tags.html", "entities.html", "wide table.html", "one quote.csv"),
}
