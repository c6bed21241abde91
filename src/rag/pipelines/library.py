"""The indexing pipeline, and the functions that run it over vaults."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from haystack import Document as HaystackDocument
from haystack import Pipeline

from rag.config import RAGConfig, load_config
from rag.exceptions import IndexingError, RAGError
from rag.index.manifest import DAMAGE
from rag.index.vault_registry import configured_vaults
from rag.indexing.changes import preview
from rag.indexing.note_reader import NoteReader, chunk_meta, cut_note, is_wanted
from rag.indexing.pipeline import VECTORS
from rag.indexing.run import IndexRun
from rag.support.pipeline_parts import component_of
from rag.vault import Note, note_id, read_note, scan_folder
from rag.vault.discovery import spans_of_copies
from rag.vault.frontmatter import split_front_matter
from rag.vault.note import split_lines


@dataclass
class DocumentMeta:
    """What a note's front matter says of it; `file_id` is the UUID of the note."""

    tags: list[str] = field(default_factory=list)
    created: str = ""
    normalized: bool = False
    file_id: str = ""


@dataclass
class Document:
    """A note as `scan_vault` found it; `content` is its text below the front matter."""

    file_path: Path
    title: str
    content: str
    metadata: DocumentMeta
    vault_name: str
    note: Note | None = field(default=None, repr=False, compare=False)


@dataclass
class IndexingResult:
    """What indexing a vault did: notes found, notes (re)indexed, chunks written, what failed."""

    total_docs: int
    indexed_docs: int
    total_chunks: int
    errors: list[str] = field(default_factory=list)


def parse_frontmatter(content: str) -> tuple[dict[str, Any], str]:
    """Split a note's text into front matter and body.

    :returns: an empty dict when there is no front matter or it is broken.
    """
    lines = split_lines(content.removeprefix("\ufeff"))
    front = split_front_matter(lines)
    fields = {} if front.problem else front.fields
    return fields, "\n".join(lines[front.body_line :])


def scan_vault(
    vault_path: str | Path, vault_name: str, config: RAGConfig | None = None
) -> list[Document]:
    """Read every note of a vault; one that cannot be read is left out.

    :raises IndexingError: when the folder does not exist.
    """
    root = Path(vault_path)
    if not root.is_dir():
        raise IndexingError(f"vault folder {vault_path} does not exist")
    config = config or load_config()
    index, respect = config.index, config.obsidian.respect_ignore
    files = scan_folder(str(root), index.ignore, respect_obsidian=respect).notes
    copied = spans_of_copies(file.mtime_ns for file in files)
    reader = NoteReader(str(root), vault_name, index, copied)
    documents = []
    for file in files:
        try:
            _, note = reader.open(file)
        except OSError:
            continue
        if is_wanted(note, index):
            meta = DocumentMeta(
                tags=note.tags,
                created=note.created,
                normalized=note.fields.get("normalized") is True,
                file_id=note_id(note.vault, note.path),
            )
            content = "\n".join(note.lines[note.body_line :])
            path = root / file.file
            documents.append(Document(path, note.title, content, meta, note.vault, note))
    return documents


def chunk_document(
    doc: Document, chunk_size: int = 512, overlap: int = 50
) -> list[HaystackDocument]:
    """Cut a note into Haystack documents, sizes in tokens. Their `meta` holds `file_path, title,
    vault, tags, created, file_id, position, heading, line_start, line_end`, and `repeated` where
    the content begins with so many lines from the head of a long fence or table.

    :raises ValueError: unless 0 <= overlap < chunk_size.
    """
    note = doc.note or replace(
        read_note(doc.content.encode("utf-8", "replace"), doc.vault_name, str(doc.file_path), 0.0),
        title=doc.title,
        tags=doc.metadata.tags,
        created=doc.metadata.created,
    )
    file_id = doc.metadata.file_id or note_id(note.vault, note.path)
    chunks = cut_note(note, chunk_size, overlap)
    return [
        HaystackDocument(id=chunk.id, content=chunk.text, meta=chunk_meta(note, chunk, file_id))
        for chunk in chunks
    ]


def chunk_documents(
    docs: list[Document], chunk_size: int = 512, overlap: int = 50
) -> list[HaystackDocument]:
    """Cut notes into Haystack documents, in the order of the notes."""
    return [chunk for doc in docs for chunk in chunk_document(doc, chunk_size, overlap)]


def index_vault(
    pipeline: Pipeline,
    vault_path: str | Path,
    vault_name: str,
    dry_run: bool = False,
    rag_config_override: RAGConfig | None = None,
) -> IndexingResult:
    """Bring one vault up to date in the index that the pipeline writes to, and publish it; with
    vectors, where its settings name who makes them. What failed is in `errors` of the result, and
    not raised.

    :param dry_run: say what would be done, and do nothing.
    :raises IndexingError: when the folder does not exist.
    """
    if not Path(vault_path).is_dir():
        raise IndexingError(f"vault folder {vault_path} does not exist")
    return _index(pipeline, {vault_name: Path(vault_path)}, dry_run, rag_config_override)[
        vault_name
    ]


def index_all_vaults(
    pipeline: Pipeline,
    vaults_dir: str | Path | None = None,
    vault_names: list[str] | None = None,
    dry_run: bool = False,
) -> dict[str, IndexingResult]:
    """Bring every folder of `vaults_dir` up to date; without it, every vault there is.

    :param vault_names: only these.
    :returns: what was done, by vault; a vault without a folder has an error.
    """
    config = load_config()
    if vaults_dir is None:
        vaults = configured_vaults(config)
    else:
        base = Path(vaults_dir)
        if not base.is_dir():
            raise IndexingError(f"vaults folder {vaults_dir} does not exist")
        vaults = {p.name: p for p in sorted(base.iterdir()) if p.is_dir() and p.name[0] != "."}
    wanted = {n: vaults[n] for n in (vault_names or vaults) if n in vaults}
    results = _index(pipeline, wanted, dry_run, config)
    for name in vault_names or []:
        if name not in vaults:
            results[name] = IndexingResult(0, 0, 0, [f"no vault named {name!r}"])
    return results


def _index(
    pipeline: Pipeline, vaults: dict[str, Path], dry_run: bool, config: RAGConfig | None
) -> dict[str, IndexingResult]:
    writer: Any = pipeline.get_component("writer")
    directory = writer.document_store.directory
    config = config or load_config()
    results = {}
    if dry_run:
        for changes in preview(directory, vaults, config):
            changed = len(changes.added) + len(changes.changed)
            results[changes.vault] = IndexingResult(changed + changes.unchanged, changed, 0)
        return results
    with IndexRun(config, directory, pipeline) as run:
        name = ""
        try:
            with run.directory.disk_in_view():
                for name, root in vaults.items():
                    results[name] = IndexingResult(0, 0, 0)
                    report = run.index_vault(name, root)
                    errors = [f"{path}: {why}" for path, why in report.failed.items()]
                    errors += [report.problem] if report.problem else []
                    written = report.added + report.changed
                    results[name] = IndexingResult(
                        report.total, written, report.chunks_written, errors
                    )
                run.publish()
                if models := getattr(component_of(pipeline, VECTORS), "config", None):
                    from rag.indexing.chunk_embedding import embed_chunks

                    embed_chunks(run, models=models)
        except (RAGError, *DAMAGE) as error:
            # The next run completes what this one began.
            for result in results.values():
                result.errors.append(str(error))
    return results
