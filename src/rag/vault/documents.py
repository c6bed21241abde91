"""The text of files that are no Markdown: PDF, Office, web pages, tables, plain text.

Each becomes lines of Markdown with headings and tables, so that all else treats it as a note. A
page or slide begins with a line that `page_line` makes. The libraries that read them are imported
when such a file is read, in a process of its own: see `rag.vault.document_process`.
"""

from __future__ import annotations

import csv
import io
import re
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from posixpath import join, normpath
from typing import IO, TYPE_CHECKING, Any
from unicodedata import normalize

from rag.support.file_kinds import PAGED, kind_by_name
from rag.support.files import open_file
from rag.vault.limits import MOST_HEADINGS
from rag.vault.markdown import page_line
from rag.vault.note import decode, split_lines

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MOST_PAGES = 2_000  # of a PDF, and slides
MOST_ROWS = 20_000  # of all tables of a file
_MOST_CELLS = 100  # of a row
_LONGEST_CELL = 1_000  # characters
_MOST_UNPACKED = 200_000_000  # bytes that the parts of an archive may have together
_LARGEST_PART = 100_000_000  # bytes of the largest of them
_LARGEST_TEXT = 10_000_000  # bytes of a file of text, of a page or a table
_IN_MEMORY = 10_000_000  # bytes of a PDF that is held as a whole
_SECONDS = 7.0  # of a processor, after which no further page or row is read
_LONGEST_FIELD = 300  # characters of a title, a name, or what is wrong with a file

# What became of a file: why nothing of it was read,
EMPTY, ENCRYPTED, TOO_LARGE, DAMAGED = "empty", "encrypted", "too large", "damaged"
UNREADABLE, NO_TEXT, SCAN = "unreadable", "no text in it", "scan"
# that some of its pages wait for OCR, or that it has read them.
PARTLY, OCR = "partly a scan", "read by OCR"
WITH_TEXT = ("", PARTLY, OCR)
ENDED = "the process that read it ended"
NOT_READ = "nothing of it was read: "  # begins a problem of a file that is known by its name alone


class UnreadableError(Exception):
    """Nothing of a file can be read; the message says why, and `state` in a word."""

    def __init__(self, why: str, state: str = UNREADABLE) -> None:
        super().__init__(why)
        self.state = state


@dataclass
class Document:
    """What a file says: its lines in Markdown, and its own properties, as front matter has them:
    `type`, and `title`, `author`, `created` and `modified` where it names them. `state` is what
    became of it, "" for a file that was read, and `scans` are the pages that only OCR can read."""

    lines: list[str] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    state: str = ""
    scans: list[int] = field(default_factory=list)
    texts: Mapping[int, str] = field(default_factory=dict)  # of scanned pages that were read


def read(path: str, texts: Mapping[int, str] | None = None) -> Document:
    """Return the text of a file, told by its content and then by its suffix; what went wrong is
    among its problems.

    :param texts: what its scanned pages say, by their numbers, as far as they were read.
    :raises OSError: when it cannot be read.
    """
    named = kind_by_name(path)
    document = Document(fields={"type": named}, texts=texts or {})
    try:
        with open_file(path) as stream:
            kind = kind_by_content(stream, named)
            _READERS[kind](stream, document)
        if kind != named:
            document.problems.append(f"it is {kind}, whatever its name says")
        if not any(map(str.strip, document.lines)):
            raise UnreadableError("it is empty", EMPTY)
        document.state = PARTLY if document.scans else OCR if document.texts else ""
    except UnreadableError as error:
        document.lines = []
        document.state = SCAN if document.scans else error.state
        document.problems.append(f"{NOT_READ}{error}")
    except (OSError, MemoryError):
        raise
    except BaseException as error:  # whatever a library says of a damaged file, RecursionError too
        document.lines, document.state = [], DAMAGED
        why = f"{type(error).__name__}: {error}".split("\n")[0].replace(path, "the file")
        document.problems.append(f"{NOT_READ}it is damaged ({why[:_LONGEST_FIELD]})")
    return document


def nothing_of(path: str, error: UnreadableError) -> Document:
    """Return what is known of a file that is not read."""
    problems = [f"{NOT_READ}{error}"]
    return Document(fields={"type": kind_by_name(path)}, problems=problems, state=error.state)


def kind_by_content(stream: IO[bytes], named: str) -> str:
    """Return what a file is by its content; `named` is what its suffix says.

    :raises UnreadableError: for what is none of the kinds that are read.
    """
    head = stream.read(1 << 16)
    stream.seek(0)
    if not head:
        raise UnreadableError("it is empty", EMPTY)
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(stream) as archive:
            names = {*archive.namelist()}
        stream.seek(0)
        for kind, part in _PARTS.items():
            if part in names:
                return kind
        raise UnreadableError("it is an archive")
    if head.startswith(b"\xd0\xcf\x11\xe0"):  # what holds encrypted files, and those of old Office
        is_old = "EncryptedPackage".encode("utf-16-le") not in head + stream.read(1 << 20)
        if is_old:
            raise UnreadableError("it is of an older Office: save it anew")
        raise UnreadableError("it is encrypted", ENCRYPTED)
    if named == "image" and (head.startswith(_PICTURES) or head[8:12] == b"WEBP"):
        return "image"
    is_wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    if b"\0" in head and not is_wide:
        raise UnreadableError("it is no text")
    if re.match(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head)\b", head, re.IGNORECASE):
        return "html"
    if named in ("pdf", "image", *_PARTS):
        raise UnreadableError(f"it is no {named}")
    return named


_PICTURES = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"BM")

_PARTS = {"docx": "word/document.xml", "pptx": "ppt/presentation.xml", "xlsx": "xl/workbook.xml"}


class _Deadline:
    """The time for one file; `passed` notes what was read until then."""

    def __init__(self, document: Document) -> None:
        self._document, self._until = document, time.process_time() + _SECONDS

    def passed(self, read: str) -> bool:
        """Return whether the time is over, and say of the document that only this was read."""
        if time.process_time() < self._until:
            return False
        self._document.problems.append(f"it takes too long: only {read} were read")
        return True


def _text(stream: IO[bytes], document: Document) -> str:
    raw = stream.read(_LARGEST_TEXT + 1)
    if len(raw) > _LARGEST_TEXT:
        document.problems.append(f"only its first {_LARGEST_TEXT // 10**6} MB were read")
        raw = raw[: raw.rfind(b"\n", 0, _LARGEST_TEXT) + 1 or _LARGEST_TEXT]
    return decode(raw, document.problems)


def _set(document: Document, **properties: Any) -> None:
    """Keep properties of a file that say something."""
    for name, value in properties.items():
        if isinstance(value, datetime):
            value = value.replace(tzinfo=None, microsecond=0).isoformat()
        text = " ".join(str(value or "").replace("\0", " ").split())[:_LONGEST_FIELD]
        if text and text.strip("()").lower() not in ("anonymous", "unspecified", "untitled"):
            document.fields[name] = text


_MEANS = re.compile(r"\s{0,3}(?:#{1,6}(?:\s|$)|`{3}|~{3}|(?:=+|-+)\s*$|>)")


def escaped(line: str) -> str:
    """Return a line of text that means nothing in Markdown: no heading, fence or rule."""
    line = line.replace("\0", " ").replace("\f", " ").rstrip()
    if _MEANS.match(line):
        return f"\\{line.lstrip()}"
    return line


# -- PDF -----------------------------------------------------------------------------------

_ENDS = re.compile(r"[.!?:;。！？：」』）)]$")
_ITEM = re.compile(r"\s*(?:[-•‣●○■▪*·]\s|\(?\d{1,3}[.)]\s|[（(]?[一二三四五六七八九十]+[）)、])")
_TYPED = re.compile(r"\.(?:docx?|pptx?|xlsx?|tex|indd|pages|md|html?|dvi|pdf)$|^Microsoft \w+ - ")
_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]"
)
_FEW_LETTERS = 8  # of a line that numbers pages: Page 3 of 10
_FULL = 0.75  # of the usual width of a line, from which the next line goes on with its paragraph


def _pdf(stream: IO[bytes], document: Document) -> None:
    """Read the pages of a PDF, its bookmarks as headings."""
    import pypdfium2  # type: ignore[import-untyped]

    try:
        head = stream.read(_IN_MEMORY)  # to be asked for each part takes longer
        pdf = pypdfium2.PdfDocument(stream if stream.read(1) else head)
    except pypdfium2.PdfiumError as error:
        is_locked = "assword" in str(error)
        why = ("it is encrypted", ENCRYPTED) if is_locked else ("it is damaged", DAMAGED)
        raise UnreadableError(*why) from error
    facts = pdf.get_metadata_dict()
    title = facts.get("Title", "")
    _set(
        document,
        title="" if _TYPED.search(title) else title,
        author=facts.get("Author"),
        created=_pdf_date(facts.get("CreationDate", "")),
        modified=_pdf_date(facts.get("ModDate", "")),
    )
    count, deadline = len(pdf), _Deadline(document)
    pages: list[list[str]] = []
    for number in range(min(count, MOST_PAGES)):
        if number % 16 == 0 and deadline.passed(f"the first {number:,} of {count:,} pages"):
            break
        text = ""
        with suppress(pypdfium2.PdfiumError):  # one page may be damaged
            page = pdf[number]
            held = page.get_textpage()
            text = held.get_text_range() if held.count_chars() < _LARGEST_TEXT else ""
            held.close()
            if not text.strip() and any(True for _ in page.get_objects(max_depth=1)):
                text = _scanned(document, number + 1)
            page.close()
        # U+FFFE stands for the hyphen at the end of a line whose word goes on, and for its end.
        text = re.sub("\ufffe(?:\r\n)?", "-\n", text)
        pages.append([escaped(line) for line in text.splitlines()])
    if count > MOST_PAGES:
        document.problems.append(f"only the first {MOST_PAGES:,} of {count:,} pages were read")
    if not any(map(any, pages)):
        raise UnreadableError("its pages hold no text (a scan?)", NO_TEXT)
    headings: dict[int, list[tuple[int, str]]] = {}
    for bookmark in islice(pdf.get_toc(max_depth=6), MOST_HEADINGS):
        target = bookmark.get_dest()
        index = target.get_index() if target else None
        if index is not None:
            headings.setdefault(index, []).append((bookmark.level + 1, bookmark.get_title()))
    for number, lines in enumerate(_without_running_heads(pages)):
        document.lines += [page_line(PAGED[".pdf"], number + 1)]
        if number in headings:
            lines = _with_headings(lines, headings[number])
        document.lines += _paragraphs(lines)


def _scanned(document: Document, page: int) -> str:
    """Return what a scanned page says; note one that nobody has read."""
    if page not in document.texts:
        document.scans.append(page)
    return document.texts.get(page, "")


def _image(stream: IO[bytes], document: Document) -> None:
    lines = [escaped(line) for line in _scanned(document, 1).splitlines()]
    if not lines:
        raise UnreadableError("nothing that is written was seen in it", NO_TEXT)
    document.lines = [*_paragraphs(lines)]


def _pdf_date(text: str) -> datetime | None:
    """Return a date such as `D:20261125`, to the day or the second."""
    if match := re.match(r"D:(\d{4}(?:\d\d){0,5})", text):
        with suppress(ValueError):
            return datetime.strptime(match[1] + "00000101000000"[len(match[1]) :], "%Y%m%d%H%M%S")
    return None


def _without_running_heads(pages: list[list[str]]) -> list[list[str]]:
    """Return pages without the lines at their heads and feet that half of them have, whatever page
    number stands in them, but for the first such line; of those that are little else than a number
    all go. No page becomes empty."""
    ends: list[dict[int, str]] = []  # of each page, the first and last two lines that hold anything
    for number, lines in enumerate(pages, 1):
        full = [at for at, line in enumerate(lines) if line.strip()]
        ends.append({at: _running(lines[at], number) for at in (*full[:2], *full[-2:])})
    counts = Counter(key for page in ends for key in {*page.values()})
    running = {key for key, count in counts.items() if count >= max(3, len(pages) // 2)}
    seen, kept = {key for key in running if _is_number(key)}, list[list[str]]()
    for lines, page in zip(pages, ends, strict=True):
        gone = {at for at, key in page.items() if key in running & seen}
        seen.update(page.values())
        rest = [line for at, line in enumerate(lines) if at not in gone]
        kept.append(rest if any(map(str.strip, rest)) else lines)
    return kept


def _running(line: str, page: int) -> str:
    """Return what a line at the head or foot of a page is compared by."""
    key = line.strip()
    return re.sub(r"\d+" if _is_number(key) else rf"(?<!\d){page}(?!\d)", "#", key)


def _is_number(line: str) -> bool:
    return len(re.sub(r"[\W\d_]", "", line)) <= _FEW_LETTERS


def _with_headings(lines: list[str], headings: Sequence[tuple[int, str]]) -> list[str]:
    """Return the lines of a page with bookmarks as headings: where a line is called so, else at its
    head."""

    def key(text: str) -> str:
        return re.sub(r"[\W\d_]+", "", normalize("NFKC", text)).casefold()

    places = {key(line): at for at, line in reversed([*enumerate(lines)]) if line}
    marked, above = {}, []
    for level, title in headings:
        heading = f"{'#' * min(level, 6)} {' '.join(title.split())}"
        at = places.get(key(title)) if key(title) else None
        if at is None:
            above.append(heading)
        else:
            marked[at] = heading
    return above + [marked.get(at, line) for at, line in enumerate(lines)]


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a page joined to paragraphs, an empty line behind each: a line goes on
    with the one before where that is about as wide as lines of this page are."""
    widths = [*map(_width, lines)]
    full = sorted(filter(None, widths))
    usual = full[len(full) * 4 // 5] if full else 0
    text = ""
    for line, width in zip(lines, widths, strict=True):
        is_heading = line.startswith("#")
        if text and (is_heading or not line.strip() or _ITEM.match(line)):
            yield from (text, "")
            text = ""
        if is_heading:
            yield from (line, "")
            continue
        text = _joined(text, line.strip())
        if text and (width < _FULL * usual or (width < 0.9 * usual and _ENDS.search(line))):
            yield from (text, "")
            text = ""
    if text:
        yield from (text, "")


def _width(line: str) -> int:
    return len(line) + (0 if line.isascii() else len(_WIDE.findall(line)))


def _joined(text: str, more: str) -> str:
    """Return two lines as one: without a blank between characters of scripts that have none, and
    without the hyphen of a word that goes on."""
    if not text or not more:
        return text or more
    if _WIDE.match(text[-1]) and _WIDE.match(more):
        return text + more
    if text[-1] == "-" and text[-2:-1].isalpha() and more[0].islower():
        return text[:-1] + more
    return f"{text} {more}"


# -- Office --------------------------------------------------------------------------------


def _xml(archive: zipfile.ZipFile, name: str) -> Element:
    """Return the root of a part of an archive.

    :raises UnreadableError: where it declares entities, of which a few may stand for millions.
    """
    from xml.etree.ElementTree import fromstring

    raw = archive.read(name)
    if b"<!ENTITY" in raw or b"<!DOCTYPE" in raw:
        raise UnreadableError("it declares entities")
    return fromstring(raw)


def _office(stream: IO[bytes], document: Document) -> zipfile.ZipFile:
    """Open a file of Office, and keep what it says of itself.

    :raises UnreadableError: for one that is much larger than it seems.
    """
    archive = zipfile.ZipFile(stream)
    sizes = [one.file_size for one in archive.infolist()]
    if sum(sizes) > _MOST_UNPACKED or max(sizes, default=0) > _LARGEST_PART or len(sizes) > 20_000:
        raise UnreadableError("it is too large when it is unpacked", TOO_LARGE)
    if "docProps/core.xml" in archive.namelist():
        facts = {one.tag.rpartition("}")[2]: one.text for one in _xml(archive, "docProps/core.xml")}
        _set(
            document,
            title=facts.get("title"),
            author=facts.get("creator"),
            created=(facts.get("created") or "").rstrip("Z"),
            modified=(facts.get("modified") or "").rstrip("Z"),
        )
    return archive


def _docx(stream: IO[bytes], document: Document) -> None:
    import mammoth  # type: ignore[import-untyped]

    archive = _office(stream, document)
    _xml(archive, "word/document.xml")  # which may not declare entities
    nothing = mammoth.images.img_element(lambda image: {})
    html = mammoth.convert_to_html(stream, convert_image=nothing).value
    _html(html, document)


_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDE = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def _pptx(stream: IO[bytes], document: Document) -> None:
    """Read slides in their order: title, text, tables, and the notes of the speaker."""
    archive = _office(stream, document)
    parts = _related(archive, "ppt/presentation.xml")
    ids = _xml(archive, "ppt/presentation.xml").iter(f"{_SLIDE}sldId")
    slides = [parts.get(one.get(f"{_RELATION}id", ""), "") for one in ids]
    deadline = _Deadline(document)
    for number, name in enumerate(islice(slides, MOST_PAGES), 1):
        if deadline.passed(f"the first {number - 1:,} of {len(slides):,} slides"):
            break
        document.lines += [page_line(PAGED[".pptx"], number)]
        if name not in archive.namelist():
            continue
        notes = [part for part in _related(archive, name).values() if "notesSlide" in part]
        for part in (name, *notes[:1]):
            if part in archive.namelist():
                document.lines += _slide_lines(_xml(archive, part), is_notes=part != name)


def _related(archive: zipfile.ZipFile, name: str) -> dict[str, str]:
    """Return the parts that a part of an archive names, by their ids."""
    folder, _, file = name.rpartition("/")
    relations = f"{folder}/_rels/{file}.rels"
    if relations not in archive.namelist():
        return {}
    targets = {one.get("Id", ""): one.get("Target", "") for one in _xml(archive, relations)}
    return {key: normpath(join("/", folder, to)).lstrip("/") for key, to in targets.items()}


def _slide_lines(root: Element, is_notes: bool) -> Iterator[str]:
    for shape in root.iter():
        if shape.tag == f"{_DRAWN}tbl":
            rows = [
                [_runs(cell) for cell in row.iter(f"{_DRAWN}tc")]
                for row in shape.iter(f"{_DRAWN}tr")
            ]
            yield from (*table(rows), "")
        if shape.tag != f"{_SLIDE}sp":
            continue
        place = shape.find(f".//{_SLIDE}ph")
        kind = "" if place is None else place.get("type", "body")
        if kind in ("sldNum", "dt", "ftr", "sldImg"):
            continue
        paragraphs = [_runs(one).strip() for one in shape.iter(f"{_DRAWN}p")]
        if kind in ("title", "ctrTitle") and not is_notes and any(paragraphs):
            yield from (f"# {' '.join(filter(None, paragraphs))}", "")
        else:
            yield from (escaped(one) for one in filter(None, paragraphs))
            yield ""


def _runs(element: Element) -> str:
    return " ".join("".join(one.text or "" for one in element.iter(f"{_DRAWN}t")).split())


def _xlsx(stream: IO[bytes], document: Document) -> None:
    """Read sheets as tables, each below a heading with its name."""
    import openpyxl  # type: ignore[import-untyped]

    _office(stream, document)
    book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
    left, is_over, deadline = MOST_ROWS, False, _Deadline(document)
    for sheet in book.worksheets:
        rows: list[list[str]] = []
        for number, row in enumerate(sheet.iter_rows(values_only=True, max_col=_MOST_CELLS)):
            if row.count(None) < len(row):  # above a cell far below are a million empty rows
                rows.append([_cell(value) for value in row])
            is_over = number % 256 == 0 and deadline.passed("its first rows")
            if is_over or left <= len(rows):
                break
        left -= len(rows)
        document.lines += [f"# {escaped(sheet.title)}", "", *table(rows), ""]
        if left <= 0:
            document.problems.append(f"only its first {MOST_ROWS:,} rows were read")
        if is_over or left <= 0:
            break


def _cell(value: object) -> str:
    if isinstance(value, datetime) and not (value.hour or value.minute or value.second):
        return value.date().isoformat()
    return "" if value is None else str(value)


# -- tables, pages and text ----------------------------------------------------------------


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows, the first of them with the names of columns, as a table in Markdown; columns
    that hold nothing are left out."""
    width = max(map(len, rows), default=0)
    full = [[*row, *[""] * (width - len(row))] for row in rows if any(map(str.strip, row))]
    used = [column for column in range(width) if any(row[column].strip() for row in full)]
    lines = [f"| {' | '.join(_in_table(row[column]) for column in used)} |" for row in full]
    return [*lines[:1], f"|{' --- |' * len(used)}", *lines[1:]] if lines else []


def _in_table(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())[:_LONGEST_CELL].replace("|", "\\|")


def _csv(stream: IO[bytes], document: Document) -> None:
    text = _text(stream, document)
    try:
        dialect: Any = csv.Sniffer().sniff(text[:10_000], ",;\t|")
    except csv.Error:
        dialect = csv.excel
    csv.field_size_limit(_LARGEST_TEXT)
    rows = [*islice(csv.reader(io.StringIO(text, newline=""), dialect), MOST_ROWS + 1)]
    if len(rows) > MOST_ROWS:
        document.problems.append(f"only its first {MOST_ROWS:,} rows were read")
    document.lines = table([row[:_MOST_CELLS] for row in rows[:MOST_ROWS]])


_UNREAD = ("script", "style", "noscript", "template", "svg", "nav", "aside", "form", "iframe")
_BLOCKS = (
    *("p", "ul", "ol", "dl", "table", "div", "section", "pre", "blockquote", "hr", "form"),
    *("h1", "h2", "h3", "h4", "h5", "h6"),
)
# The elements that need no end tag, by what begins behind them, and what may stand between.
_WITHOUT_END = {
    **dict.fromkeys(_BLOCKS, (("p",), ("body", "div", "section", "li", "dd", "td", "th"))),
    "li": (("li",), ("ul", "ol")),
    **dict.fromkeys(("dt", "dd"), (("dt", "dd"), ("dl",))),
    **dict.fromkeys(("tr", "thead", "tbody", "tfoot"), (("tr",), ("table",))),
    **dict.fromkeys(("td", "th"), (("td", "th"), ("tr", "table"))),
}


def _ended_by(name: str, current: Any) -> str:
    """Return the element that a start tag ends without an end tag; "" for none."""
    ended, around = _WITHOUT_END.get(name, ((), ()))
    for tag in chain([current], current.parents) if ended else ():
        if tag.name in ended:
            return str(tag.name)
        if tag.name in around:
            break
    return ""


def _html(html: IO[bytes] | str, document: Document) -> None:
    """Read a page: its title and author, and what its main part says."""
    from bs4 import BeautifulSoup, Comment
    from markdownify import MarkdownConverter

    class Page(BeautifulSoup):
        def handle_starttag(self, name: str, *more: Any, **options: Any) -> Any:
            if ended := _ended_by(name, self.currentTag):
                self.handle_endtag(ended)
            return super().handle_starttag(name, *more, **options)

    page = Page(html if isinstance(html, str) else html.read(_LARGEST_TEXT), "html.parser")
    said = {
        str(tag.get("name") or tag.get("property") or "").lower(): str(tag.get("content") or "")
        for tag in page.find_all("meta")
    }
    if page.title:
        _set(document, title=page.title.get_text(), author=said.get("author"))
        _set(document, created=said.get("article:published_time", "")[:10])
    for tag in page.find_all(_UNREAD):
        tag.decompose()
    for comment in page.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    main = page.find("main") or page.find("article") or page.body or page
    if main is page.body:
        for tag in main.find_all(("header", "footer"), recursive=False):
            tag.decompose()
    text = MarkdownConverter(
        heading_style="atx",
        bullets="-",
        strip=["img", "a"],
        autolinks=False,
        escape_misc=False,
        table_infer_header=True,
    ).convert_soup(main)
    lines = split_lines(text.replace("\0", " ").replace("\f", " "))
    blank = [not line.strip() for line in lines]
    document.lines = [
        line.rstrip() for at, line in enumerate(lines) if not (blank[at] and at and blank[at - 1])
    ]


def _plain(stream: IO[bytes], document: Document) -> None:
    document.lines = [escaped(line) for line in split_lines(_text(stream, document))]


_KEYWORD = re.compile(r"#\+(title|author|date):\s*(.*)", re.IGNORECASE)
_BLOCK = re.compile(r"\s*#\+(begin|end)_(?:src|example)\b\s*(\S*)", re.IGNORECASE)
_HEADLINE = re.compile(r"(\*{1,9})\s+(?:(?:TODO|DONE|NEXT|WAITING)\s+)?(.*?)(?:\s:[\w:@]+:)?$")
_DRAWER = re.compile(r"\s*:(?:properties|logbook|end):\s*$", re.IGNORECASE)


def _org(stream: IO[bytes], document: Document) -> None:
    """Read an outline of Org, line by line, so that a line keeps its number."""
    is_in_drawer = False
    for line in split_lines(_text(stream, document)):
        if keyword := _KEYWORD.match(line):
            name = keyword[1].lower().replace("date", "created")
            _set(document, **{name: keyword[2].strip("<>[] ")})
            line = ""
        elif _DRAWER.match(line):
            is_in_drawer, line = ":end:" not in line.lower(), ""
        elif is_in_drawer or line.startswith("# "):
            line = ""
        elif block := _BLOCK.match(line):
            line = f"```{block[2]}" if block[1].lower() == "begin" else "```"
        elif star := _HEADLINE.match(line.rstrip()):
            line = f"{'#' * min(6, len(star[1]))} {star[2].rstrip()}"
        document.lines.append(line)


_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")


def _rst(stream: IO[bytes], document: Document) -> None:
    """Read headings of reStructuredText, line by line, so that a line keeps its number: a mark's
    level is where it comes first."""
    lines, levels = split_lines(_text(stream, document)), dict[str, int]()
    for at, line in enumerate(lines):
        rule = _UNDERLINE.match(line)
        above = lines[at - 1] if at else ""
        is_heading = rule and above.strip() and not above.startswith((" ", "#", ".."))
        if rule and is_heading and len(line.rstrip()) >= len(above.rstrip()) // 2:
            level = levels.setdefault(rule[1], min(6, len(levels) + 1))
            lines[at - 1], lines[at] = f"{'#' * level} {above.strip()}", ""
        elif rule and (at + 2 < len(lines)) and lines[at + 2].rstrip() == line.rstrip():
            lines[at] = ""  # above a heading
    document.lines = [line.replace("\0", " ").replace("\f", " ") for line in lines]


_READERS: dict[str, Callable[[IO[bytes], Document], None]] = {
    "pdf": _pdf,
    "image": _image,
    "docx": _docx,
    "pptx": _pptx,
    "xlsx": _xlsx,
    "html": _html,
    "csv": _csv,
    "text": _plain,
    "org": _org,
    "rst": _rst,
}
