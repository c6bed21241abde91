"""Files as other programs write them: PDF by three of them, Office, web pages, tables, outlines.

A page is a text whose blocks are parted by empty lines: a heading begins with `# `, a table has a
row of cells parted by ` | ` on each line, notes of a speaker begin with `Notes: `, and all else is
a paragraph.
"""

import csv
import html
import io
import textwrap
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from unicodedata import east_asian_width

Pages = Sequence[str]
AUTHOR = "Rosa Lindqvist"


def write_document(file: Path, title: str, pages: Pages, program: str = "") -> None:
    """Write a file of the kind that its suffix says; a PDF by `reportlab`, `fpdf` or `raw`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".pdf":
        file.write_bytes(_PDF_PROGRAMS[program or "reportlab"](title, pages))
    else:
        file.write_bytes(_PROGRAMS[file.suffix](title, pages))


def _blocks(pages: Pages) -> Iterator[str]:
    for page in pages:
        yield from (block for block in page.strip().split("\n\n") if block)


def _rows(block: str) -> list[list[str]]:
    return [line.split(" | ") for line in block.split("\n")] if " | " in block else []


def reportlab_pdf(
    title: str, pages: Pages, columns: int = 1, head: str = "", bookmarks: bool = True
) -> bytes:
    """Return a PDF, in the font of Japanese where a page holds such text.

    :param head: stands above each page, with its number.
    """
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.utils import simpleSplit
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfgen.canvas import Canvas

    pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3"))
    font = "Helvetica" if "".join(pages).isascii() else "HeiseiMin-W3"
    raw, (page_width, top) = io.BytesIO(), A4
    canvas = Canvas(raw, pagesize=A4)
    canvas.setTitle(title)
    canvas.setAuthor(AUTHOR)
    width = (page_width - 100 - 30 * (columns - 1)) / columns
    for number, page in enumerate(pages, 1):
        left, y = 50.0, top - 80
        if head:
            canvas.setFont(font, 9)
            canvas.drawString(50, top - 40, f"{head} {number}")
        for block in _blocks([page]):
            text, size = block.removeprefix("# "), 16 if block.startswith("# ") else 11
            if size == 16 and bookmarks:
                canvas.bookmarkPage(text)
                canvas.addOutlineEntry(text, text)
            canvas.setFont(font, size)
            lines = (
                simpleSplit(text, font, size, width)
                if font == "Helvetica"
                else textwrap.wrap(text, int(width / size))
            )
            for line in lines:
                if y < 80 and columns > 1:
                    left, y = left + width + 30, top - 80
                canvas.drawString(left, y, line)
                y -= size * 1.3
            y -= 10
        canvas.showPage()
    canvas.save()
    return raw.getvalue()


def fpdf_pdf(title: str, pages: Pages, password: str = "") -> bytes:
    """Return a PDF in English, encrypted where there is a password."""
    from fpdf import FPDF

    pdf = FPDF()
    pdf.set_title(title)
    pdf.set_author(AUTHOR)
    if password:
        pdf.set_encryption(owner_password=password, user_password=password)
    for page in pages:
        pdf.add_page()
        for block in _blocks([page]):
            is_heading = block.startswith("# ")
            pdf.set_font("Helvetica", "B" if is_heading else "", 16 if is_heading else 11)
            if is_heading:
                pdf.start_section(block[2:])
            pdf.multi_cell(0, 6, block.removeprefix("# "), new_x="LMARGIN", new_y="NEXT")
            pdf.ln(4)
    return bytes(pdf.output())


def raw_pdf(title: str, pages: Pages, kids: str = "", extra: Sequence[bytes] = ()) -> bytes:
    """Return a PDF in English with one object a page and its text.

    :param kids: takes the place of the references to its pages.
    :param extra: further objects, numbered from 5 + twice the number of pages.
    """
    numbers = range(5, 5 + 2 * len(pages), 2)
    kids = kids or " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) /Author ({AUTHOR}) /CreationDate (D:20240305101500Z) >>".encode(),
    ]
    for number, page in zip(numbers, pages, strict=True):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (number + 1)
        )
        lines = [line for block in _blocks([page]) for line in (*textwrap.wrap(block, 80), "")]
        shown = "".join(f"({_pdf_string(line.removeprefix('# '))}) Tj T*\n" for line in lines)
        text = f"BT /F1 11 Tf 50 780 Td 14 TL\n{shown}ET".encode("latin-1", "replace")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text))
    return pdf_of_objects([*objects, *extra], info=4)


def pdf_of_objects(objects: Sequence[bytes], info: int = 0) -> bytes:
    """Return a PDF of numbered objects, the first its catalogue."""
    raw, places = b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(raw))
        raw += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count, start = len(objects) + 1, len(raw)
    about = b" /Info %d 0 R" % info if info else b""
    raw += b"xref\n0 %d\n0000000000 65535 f \n%s" % (count, table)
    return raw + b"trailer\n<< /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF\n" % (
        count,
        about,
        start,
    )


def _pdf_string(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def docx(title: str, pages: Pages) -> bytes:
    """Return a file of Word."""
    from docx import Document

    document, raw = Document(), io.BytesIO()
    document.core_properties.title, document.core_properties.author = title, AUTHOR
    for block in _blocks(pages):
        if block.startswith("# "):
            document.add_heading(block[2:], 1)
        elif rows := _rows(block):
            table = document.add_table(len(rows), len(rows[0]))
            for line, row in zip(table.rows, rows, strict=True):
                for cell, text in zip(line.cells, row, strict=True):
                    cell.text = text
        else:
            document.add_paragraph(block)
    document.save(raw)
    return raw.getvalue()


def pptx(title: str, pages: Pages) -> bytes:
    """Return a file of PowerPoint, a slide for each page."""
    from pptx import Presentation
    from pptx.util import Inches

    show, raw = Presentation(), io.BytesIO()
    show.core_properties.title, show.core_properties.author = title, AUTHOR
    for page in pages:
        slide = show.slides.add_slide(show.slide_layouts[1])
        body = []
        for block in _blocks([page]):
            if block.startswith("# "):
                slide.shapes.title.text = block[2:]
            elif block.startswith("Notes: "):
                slide.notes_slide.notes_text_frame.text = block.removeprefix("Notes: ")
            elif rows := _rows(block):
                place = [Inches(inches) for inches in (1, 4, 8, 2)]
                table = slide.shapes.add_table(len(rows), len(rows[0]), *place).table
                for at, row in enumerate(rows):
                    for column, text in enumerate(row):
                        table.cell(at, column).text = text
            else:
                body.append(block)
        slide.placeholders[1].text = "\n".join(body)
    show.save(raw)
    return raw.getvalue()


def xlsx(title: str, pages: Pages) -> bytes:
    """Return a file of Excel, a sheet for each page: its heading and its table."""
    from openpyxl import Workbook

    book, raw = Workbook(), io.BytesIO()
    book.properties.title, book.properties.creator = title, AUTHOR
    book.remove(book.active)
    for page in pages:
        heading, *blocks = _blocks([page])
        sheet = book.create_sheet(heading.removeprefix("# "))
        for row in (row for block in blocks for row in _rows(block) or [[block]]):
            sheet.append(row)
    book.save(raw)
    return raw.getvalue()


def web_page(title: str, pages: Pages) -> bytes:
    """Return a page of the web, with what stands around the text on most of them."""
    body = []
    for block in _blocks(pages):
        if block.startswith("# "):
            body.append(f"<h2>{html.escape(block[2:])}</h2>")
        elif rows := _rows(block):
            cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
            body.append(f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>")
        else:
            body.append(f"<p>{html.escape(block)}</p>")
    text = f"""<!DOCTYPE html><html><head><title>{html.escape(title)}</title>
    <meta charset="utf-8"><meta name="author" content="{AUTHOR}"><style>p {{ margin: 0 }}</style>
    </head><body><nav><a href="/">Start</a> <a href="/all">All pages</a></nav>
    <main><h1>{html.escape(title)}</h1>{"".join(body)}</main>
    <footer>Imprint</footer><script>track("visit")</script></body></html>"""
    return text.encode()


def comma_separated(title: str, pages: Pages) -> bytes:
    """Return a table of the rows of all pages."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(row for block in _blocks(pages) for row in _rows(block))
    return text.getvalue().encode()


def plain_text(title: str, pages: Pages) -> bytes:
    """Return text in short lines, headings in capitals."""
    blocks = (
        block[2:].upper() if block.startswith("# ") else _filled(block) for block in _blocks(pages)
    )
    return "\n\n".join([title, *blocks, ""]).encode()


def _filled(block: str) -> str:
    is_wide = any(east_asian_width(char) == "W" for char in block)
    return block if is_wide or " | " in block else textwrap.fill(block, 72)


def org(title: str, pages: Pages) -> bytes:
    """Return an outline as Emacs keeps it."""
    blocks = (f"* {block[2:]}" if block.startswith("# ") else block for block in _blocks(pages))
    return "\n\n".join([f"#+TITLE: {title}\n#+AUTHOR: {AUTHOR}", *blocks, ""]).encode()


def rst(title: str, pages: Pages) -> bytes:
    """Return text with headings that are underlined."""
    blocks = (
        f"{block[2:]}\n{'-' * 2 * len(block)}" if block.startswith("# ") else block
        for block in _blocks(pages)
    )
    return "\n\n".join([f"{title}\n{'=' * 2 * len(title)}", *blocks, ""]).encode()


def archive(parts: Mapping[str, bytes]) -> bytes:
    """Return an archive of some parts."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return raw.getvalue()


def with_parts(raw: bytes, parts: Mapping[str, bytes]) -> bytes:
    """Return a file of Office in which some parts are others, or more."""
    with zipfile.ZipFile(io.BytesIO(raw)) as packed:
        return archive({name: packed.read(name) for name in packed.namelist()} | dict(parts))


_PDF_PROGRAMS = {"reportlab": reportlab_pdf, "fpdf": fpdf_pdf, "raw": raw_pdf}
_PROGRAMS = {
    ".docx": docx,
    ".pptx": pptx,
    ".xlsx": xlsx,
    ".html": web_page,
    ".csv": comma_separated,
    ".txt": plain_text,
    ".org": org,
    ".rst": rst,
}
