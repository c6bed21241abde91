"""Whether everything that `rag` relies on is well: settings, vaults, the index, models, a server,
and the programs around it.

No check takes the writer's lock, or writes more than a note of damage for the next `rag index`.
Each ends: what waits for a model waits for about `ollama.query_timeout`.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from operator import mul
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import quote as quote_url

from rag.app.index_state import count_changed, open_index
from rag.app.program_start import BARE, program_start
from rag.app.service import how_often, read_service
from rag.app.watch_state import read_watcher
from rag.clients.factory import chat_provider, embedding_provider, read, reader_name, resolved
from rag.clients.protocols import ModelInfo, ModelProvider, ServerView
from rag.config import RAGConfig, settings, unknown_in_environment
from rag.exceptions import (
    LIST_SETTINGS,
    REBUILD_INDEX,
    RUN_INDEX,
    SHOW_SETTINGS,
    UPDATE_INDEX,
    IndexingError,
    IndexUnavailableError,
    ModelError,
    ModelMissingError,
    RAGError,
)
from rag.index.embedding_space import Embedded, maker, other_model, read_embedded
from rag.index.manifest import fingerprint
from rag.index.shard_files import find_damage
from rag.index.snapshots import CURRENT, LOCK, NO_INDEX, IndexDirectory, damaged_index
from rag.index.vault_registry import Registry, known_vaults, overlaps
from rag.indexing.changes import scan_vault
from rag.search.results import SearchMode
from rag.support import files
from rag.support.disk_space import disk_usage, free_room, require_room
from rag.support.json_reports import to_json
from rag.support.vector_digest import may_be_same, shortened
from rag.text.messages import plural
from rag.vault.discovery import HIDDEN

if TYPE_CHECKING:
    from haystack import Document

_SECONDS = 5.0  # for walking one vault, and for looking whether notes changed
_REPORT_IT = "If `rag index --rebuild` does not help, report it."
_DATA_DIR = "Name another with data_dir in rag.toml, or with RAG_DATA_DIR."

Status = Literal["pass", "warn", "fail"]


@dataclass(frozen=True)
class CheckResult:
    """One line of the report, in the names of schema 1.

    :param status: `fail` when something configured does not work or results would be wrong,
        `warn` when something is missing that search does without.
    :param hint: what to do about it, unless the check passed.
    :param facts: further fields of its JSON: the message in numbers and names.
    """

    name: str
    status: Status
    message: str
    hint: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the facts and the other fields as one object."""
        named = {"name": self.name, "status": self.status, "message": self.message}
        return {**self.facts, **named, "hint": self.hint}


def _pass(
    name: str, message: str, problems: Iterable[tuple[object, str, str]] = (), **facts: Any
) -> CheckResult:
    """Return a pass, or a warning of the first problem that there is; of each is given whether it
    is there, its message, and what to do about it."""
    for is_there, wrong, hint in problems:
        if is_there:
            return _warn(name, wrong, hint, **facts)
    return CheckResult(name, "pass", message, facts=facts)


def _warn(name: str, message: str, hint: str = "", **facts: Any) -> CheckResult:
    return CheckResult(name, "warn", message, hint, facts)


def _fail(name: str, message: str, hint: str, **facts: Any) -> CheckResult:
    return CheckResult(name, "fail", message, hint, facts)


def _from_error(name: str, error: RAGError, status: Status = "fail", **facts: Any) -> CheckResult:
    return CheckResult(name, status, str(error), error.hint or SHOW_SETTINGS, facts)


@dataclass(frozen=True)
class DoctorReport:
    """The results of all checks."""

    checks: list[CheckResult]

    def to_json(self) -> dict[str, Any]:
        """Return the results, and how many there are of each status."""
        statuses = [check.status for check in self.checks]
        counts = {status: statuses.count(status) for status in get_args(Status)}
        return {"checks": [check.to_json() for check in self.checks], **counts}


@dataclass
class Examination:
    """The settings, and what the checks so far have read.

    :param has_index: there is an index that can be read.
    :param embedded: what made its vectors, and how many there are; `None` without any.
    :param sample: chunks from all over it, with the vectors of their first sentences.
    :param servers: what the chosen providers of models tell of their servers.
    """

    config: RAGConfig
    has_index: bool = False
    embedded: Embedded | None = None
    sample: list[Document] = field(default_factory=list)
    servers: list[ServerView] = field(default_factory=list)

    @property
    def without_vectors(self) -> Status:
        """The status of having no vector of a query, which two modes of search insist on."""
        insists = self.config.search.mode in (SearchMode.DENSE, SearchMode.HYBRID)
        return "fail" if insists else "warn"


def run_checks(config: RAGConfig) -> Iterator[CheckResult]:
    """Yield the results of each check as soon as they are there; one that breaks is a failure.

    A data folder that cannot be read is one failure, and what it holds is then looked at no more.
    """
    examination, is_readable = Examination(config), True
    for name, check in CHECKS:
        if not is_readable and name in ("disk", "vault", "index", "files"):
            continue
        try:
            yield from check(examination)
        except RAGError as error:
            yield _from_error(name, error)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a panic of the engine is no Exception
            if is_readable and isinstance(error, OSError) and error.filename:
                is_readable = False
                hint = _DATA_DIR
                if isinstance(error, PermissionError):
                    chmod = f"`chmod -R u+rwX {quote(str(config.data_dir))}`"
                    hint = f"{chmod} makes it readable, or RAG_DATA_DIR names another."
                message = f"{error.filename} cannot be read: {error.strerror}"
                yield _fail("data folder", message, hint)
            else:
                text, *_ = str(error).split("\n")
                message = f"the check broke: {type(error).__name__}: {text[:300]}"
                yield _fail(name, message, _REPORT_IT)


# -- settings, and what they name: the data folder, its disk, the vaults ---------------------

_LITTLE = 1 << 30  # bytes; a disk with less free room is a warning


def check_configuration(examination: Examination) -> Iterator[CheckResult]:
    """Tell where the settings came from, and which do not count."""
    name, config = "configuration", examination.config
    origins = Counter(origin for origin in config.origins.values() if origin != "default")
    sources = ", ".join(f"{origin} ({count})" for origin, count in origins.items())
    message = f"settings from {sources}" if sources else "every setting is the default"
    yield _pass(name, message, settings=dict(origins))
    for setting, ask in config.left_out.items():
        message = f"{setting} is left out ({ask.value}): {ask.reason}"
        yield _warn(name, message, ask.hint, left_out=setting)
    for variable, near in unknown_in_environment(config, os.environ).items():
        hint = f"Did you mean {near}? {LIST_SETTINGS}" if near else LIST_SETTINGS
        yield _warn(name, f"{variable} in the environment is no setting", hint)


def check_data_folder(examination: Examination) -> Iterator[CheckResult]:
    """Tell whether the index can be read and written where it should be."""
    name, wanted, index = "data folder", examination.config.data_dir, examination.config.index_dir
    with suppress(FileNotFoundError):
        for path in (wanted, index):
            os.scandir(path).close()
    files.check_data_folder(wanted)
    if kind := files.strange_kind(lock := index / LOCK):
        yield _fail(name, f"{lock} is {kind}, not a file", "Move it away.", path=str(wanted))
        return
    # Path.exists fails where a folder above may not be entered.
    folder = next(p for p in (wanted, *wanted.parents) if os.path.exists(p))  # noqa: PTH110
    if os.access(folder, os.W_OK | os.X_OK):
        yield _pass(name, str(wanted), path=str(wanted))
    elif os.access(index / CURRENT, os.R_OK):
        message = f"{folder} cannot be written: it can be searched, and not be brought up to date"
        yield _warn(name, message, _DATA_DIR, path=str(wanted))
    else:
        yield _fail(name, f"{wanted}: {folder} cannot be written", _DATA_DIR, path=str(wanted))


def check_disk(examination: Examination) -> Iterator[CheckResult]:
    """Tell whether a disk that may be written has room for the copy that publishing makes."""
    directory = IndexDirectory(examination.config.index_dir)
    if os.path.exists(directory.path) and not os.access(directory.path, os.W_OK):  # noqa: PTH110
        return
    size, free = directory.size_of_copy(), free_room(directory.path)
    require_room(directory.path, directory.room_to_write())
    facts = {"free_bytes": free, "index_bytes": disk_usage(directory.path)}
    need = f"the next snapshot of the index takes about {size / 1e6:,.1f} MB"
    message, hint = f"{free / 1e9:,.1f} GB free; {need}", "Free some room, or move the index with"
    problem = (free < max(_LITTLE, 2 * size), f"only {message}", f"{hint} RAG_DATA_DIR.")
    yield _pass("disk", message, [problem], **facts)


def check_vaults(examination: Examination) -> Iterator[CheckResult]:
    """Tell of every known vault whether its notes can be read."""
    config = examination.config
    if config.vaults_dir:
        named = [("target_vaults", config.vaults_dir / name) for name in config.target_vaults]
        for setting, folder in [("vaults_dir", config.vaults_dir), *named]:
            if not folder.is_dir():
                hint = f"Mend {setting}: `rag config` says where it is set."
                yield _fail("vault", f"{setting}: {folder} is not a folder", hint)
    registry = Registry.load(config)
    if registry.notice:
        yield _warn("vault", registry.notice, _REBUILDS)
    try:
        with open_index(config) as manifest:
            indexed: dict[str, str] | None = manifest.vaults()
    except RAGError as error:  # which another check tells
        indexed = {} if error.message == NO_INDEX else None
    vaults = known_vaults(config, indexed or {}, registry)
    if not vaults:
        hint = "`rag init` looks for vaults; `rag index FOLDER` makes one."
        yield _warn("vault", "there is no vault yet", hint)
    for name, root in vaults.items():
        yield _check_vault(name, root, config, indexed is None or name in indexed)
    for inner, outer in overlaps(vaults):
        hint = f"`rag vault remove {quote(inner)}`"
        yield _warn("vault", f"{inner} lies in {outer}: its notes are found twice", hint)


def _check_vault(vault: str, root: Path, config: RAGConfig, is_indexed: bool) -> CheckResult:
    facts: dict[str, Any] = {"vault": vault, "path": str(root)}
    if not root.is_dir():
        hint = f"Is it mounted? `rag vault remove {quote(vault)}` forgets it."
        return _warn("vault", f"{vault}: the folder {root} is not there", hint, **facts)
    listing = f"`ls {quote(str(root))}`"
    try:
        scan = scan_vault(str(root), config, time.monotonic() + _SECONDS, everything=True)
    except IndexingError as error:
        return _fail("vault", f"{vault}: {error}", f"Make it readable: {listing}", **facts)
    except TimeoutError as error:
        slow = "A slow disk makes indexing slow; leave folders out with index.ignore."
        return _warn("vault", f"{vault}: {error}", slow, **facts)
    facts |= {"notes": len(scan.notes), "unreadable": scan.problems, "notices": scan.notices}
    facts["left_out"] = sum(file.reason != HIDDEN for file in scan.left_out)
    message = f"{vault}: {plural(len(scan.notes), 'note')} in {root}"
    if facts["left_out"]:
        others = plural(facts["left_out"], "other file")
        message += f", and {others} (`rag status --skipped`)"
    odd = f"{message}; {plural(len(scan.problems), 'path')} could not be looked at"
    problems = (
        (not scan.notes, f"{vault}: {root} holds no .md files", f"Is it the right one? {listing}"),
        (scan.problems, odd, "`rag status --problems` lists them."),
        (not is_indexed, f"{message}, not indexed yet", RUN_INDEX),
    )
    return _pass("vault", message, problems, **facts)


# -- the index: what its manifest says, whether its files are whole, what its store holds ----

_SAMPLE = 40  # chunks
_REBUILDS = "`rag index` rebuilds it."
_NAMED = 3  # damaged files that a message names


def check_index(examination: Examination) -> Iterator[CheckResult]:
    """Tell what the index holds, whether it is as the settings want it, and how old it is."""
    config, path = examination.config, str(examination.config.index_dir)
    with open_index(config) as manifest:
        examination.has_index, examination.embedded = True, read_embedded(manifest)
        (notes, chunks), since = manifest.totals(), manifest.get("indexed_at")
        indexed, wanted = json.loads(manifest.get("fingerprint")), json.loads(fingerprint(config))
        changed = count_changed(manifest, config, _SECONDS)
        problems = sum(1 for _ in manifest.notes("problems != '[]'"))
    size = disk_usage(config.index_dir)
    others = sorted(name for name in wanted if indexed.get(name) != wanted[name])
    add = "`rag vault list` shows what should be in it; `rag index FOLDER` adds to it."
    yield _pass(
        "index",
        f"{plural(notes, 'note')}, {plural(chunks, 'chunk')}, {size / 1e6:,.1f} MB",
        (
            (not chunks, f"it holds nothing ({path})", add),
            (others, f"it was made with other settings ({', '.join(others)})", _REBUILDS),
        ),
        path=path,
        notes=notes,
        chunks=chunks,
        bytes=size,
    )
    well = "whether notes changed is not known" if changed is None else "nothing changed"
    stale = (changed, f"{plural(changed or 0, 'note')} changed since {since}", RUN_INDEX)
    yield _pass("freshness", f"{well} since {since}", [stale], indexed_at=since, changed=changed)
    if problems:
        message = f"{plural(problems, 'note')} could not be read as meant"
        yield _warn("notes", message, "`rag status --problems` lists them.")


def check_files(examination: Examination) -> Iterator[CheckResult]:
    """Read every file of the current snapshot, and compare it with its checksum."""
    directory = IndexDirectory(examination.config.index_dir)
    try:
        snapshot = directory.open_current()
    except IndexUnavailableError:  # told already
        return
    with snapshot:
        names = find_damage(snapshot.path, all_read=True)
        damaged = [f"{snapshot.path.name}/{name}" for name in names]
    if damaged:  # which is noted for the next `rag index`
        error = damaged_index(directory.path, ", ".join(damaged[:_NAMED]))
        yield _from_error("files", error, damaged=damaged)
    else:
        yield _pass("files", "all files match their checksums", damaged=damaged)


def check_chunks(examination: Examination) -> Iterator[CheckResult]:
    """Count the store's chunks, and read some from all over the index, always the same."""
    from rag.stores import get_document_store

    if not examination.has_index:
        return
    on_server = bool(examination.config.store.url)
    with get_document_store(examination.config) as store, store.pinned():
        manifest, stored = store.manifest(), store.count_documents()
        expected = manifest.totals()[1] if manifest else None
        facts: dict[str, Any] = {"expected": expected, "found": stored}
        # More on a server are no harm: those that no note has are deleted by the next run.
        surplus = stored - (expected or 0)
        if manifest is None or surplus < 0 or (surplus and not on_server):
            message = f"the store holds {plural(stored, 'chunk')}, expected {expected}"
            hint = "`rag index` writes what is missing." if on_server else REBUILD_INDEX
            yield _fail("chunks", message, hint, **facts)
            return
        keys = [key.id for row in manifest.notes("length(chunks) > 0") for key in row.chunks]
        ids = keys[:: max(1, len(keys) // _SAMPLE)][:_SAMPLE]
        documents, vectors = store.get_documents(ids), store.embeddings_of(ids)
    examination.sample = [
        replace(document, embedding=vectors[document.id][0])
        for document in documents
        if document.id in vectors
    ]
    facts["sample"] = len(ids)
    if lost := len(ids) - len(documents):
        message = f"{lost} of {plural(len(ids), 'chunk')} that were looked up are not there"
        yield _fail("chunks", message, REBUILD_INDEX, **facts)
    else:
        yield _pass("chunks", f"{expected:,}, as the manifest says", **facts)


# -- the providers of models: servers, models, and the vectors that the index has of them ----

_MAKE = "`rag index --embed` makes them."
_MAKE_ANEW = "`rag index --embed` makes the vectors again."
_COMPARED = 8  # chunks that are embedded again
_ALIKE = 0.99  # cosine; the same text in another batch differs in the last digits


def check_servers(examination: Examination) -> Iterator[CheckResult]:
    """Tell of every server of the chosen providers whether it answers, then whether those that do
    have the models that are wanted of them."""
    config = examination.config = resolved(examination.config, maker(examination.embedded))
    providers: dict[str, ModelProvider] = {  # one of both kinds is asked once
        config.embedding.provider: embedding_provider(config),
        config.chat.asked: chat_provider(config),
    }
    for view in (view for provider in providers.values() for view in provider.survey()):
        examination.servers.append(view)
        name, milliseconds = view.provider, view.milliseconds
        facts: dict[str, Any] = {"server": view.server, "version": view.version}
        facts |= {"models": [*view.models], "milliseconds": round(milliseconds)}
        if view.is_off:
            lost = ["search is by words"] if config.embedding.provider == name else []
            lost += ["answers are quotations"] if config.chat.asked == name else []
            yield _pass(name, f"off ({name}.enabled = false): {', '.join(lost)}")
        elif view.error:
            yield _from_error(name, view.error, examination.without_vectors, **facts)
        else:
            message = f"{view.version} at {view.server}, {plural(len(view.models), 'model')}"
            yield _pass(name, f"{message}, {milliseconds:,.0f} ms".lstrip(), **facts)
    for kind in ("embedding", "chat"):
        for view in examination.servers:
            if model := getattr(view, kind):
                yield _check_model(kind, model, view, examination)


def _check_model(
    kind: str, model: ModelInfo | RAGError, view: ServerView, examination: Examination
) -> CheckResult:
    """Return how a model is; that there is none is a failure where the user chose or needs it."""
    name, url, is_chat = f"{kind} model", view.server, kind == "chat"
    if not isinstance(model, ModelInfo):
        names = (f"{view.provider}.{kind}_model", f"{kind}.model")
        setting = next(name for name in names if name in settings())
        is_chosen = examination.config.origins.get(setting, "default") != "default"
        status: Status = "warn" if is_chat else examination.without_vectors
        status = "fail" if is_chosen and isinstance(model, ModelMissingError) else status
        return _from_error(name, model, status, server=url)
    facts: dict[str, Any] = {"server": url, "model": model.name}
    if not is_chat:
        facts["digest"] = shortened(model.digest)
    facts["context"] = model.limit
    facts |= {"fixed": model.is_named} if is_chat else {"dimension": model.dimension}
    if model.unfit:
        return _from_error(name, model.unfit, **facts)
    at, reads = f"{model.name} at {url}", f"reads {model.limit:,} tokens" if model.limit else ""
    if is_chat:
        at += "" if model.is_named else ", the first that can write answers"
        return _pass(name, ": ".join(filter(None, (at, reads))), **facts)
    space = examination.embedded.space if examination.embedded else None
    if space and space.is_configured(embedding_provider(examination.config)):
        if model.dimension not in (0, space.dimension):
            at += f" gives {model.dimension:,} dimensions, the index has {space.dimension:,}"
            return _fail(name, at, _MAKE_ANEW, **facts)
        if not may_be_same(space.digest, model.digest):
            at += " is not the one that made the vectors of the index"
            return _fail(name, at, _MAKE_ANEW, **facts)
    dimensions = f"{at}: {model.dimension:,} dimensions"
    return _pass(name, ", ".join(filter(None, (dimensions, reads))), **facts)


def check_vectors(examination: Examination) -> Iterator[CheckResult]:
    """Tell how many chunks have vectors, and compare some with what the model gives now."""
    name, embedded = "vectors", examination.embedded
    if embedded is None:
        if examination.has_index:
            status: Status = "fail" if examination.without_vectors == "fail" else "pass"
            yield CheckResult(name, status, "none: search is by words", _MAKE)
        return
    space, provider = embedded.space, embedding_provider(examination.config, maker(embedded))
    facts = {**to_json(embedded), "digest": shortened(space.digest)}
    if not provider.is_configured:
        unused = "the index has vectors that are not used: search by meaning needs"
        yield _pass(name, f"{unused} {provider.lacking}", **facts)
        return
    if not space.is_configured(provider):
        yield _fail(name, str(other_model(space, provider)), _MAKE_ANEW, **facts)
        return
    message = f"{embedded.embedded:,} of {plural(embedded.chunks, 'chunk')}, by {space.model}"
    if embedded.unreadable:
        message += f"; {embedded.unreadable:,} are in a script that it does not read"
    missing = embedded.chunks - embedded.embedded - embedded.unreadable
    lacking = (missing > 0, f"{message}; {plural(missing, 'chunk')} without a vector", UPDATE_INDEX)
    yield _pass(name, message, [lacking], **facts)
    for view in examination.servers:
        if isinstance(view.embedding, ModelInfo) and examination.sample:
            yield _compare(examination, view, view.embedding.limit)
            return


def check_reader(examination: Examination) -> Iterator[CheckResult]:
    """Tell whether the built-in reader works, where there is one and vectors for it to go by."""
    if examination.embedded and (name := reader_name()):
        text, began = "The lamp was lit in 1893.", time.monotonic()
        if read("When was the lamp lit?", [(text, [(0, len(text))])]):
            milliseconds = 1000 * (time.monotonic() - began)
            yield _pass("reader", f"{name}: reads what may answer, {milliseconds:,.0f} ms")
        else:
            message = f"{name} does not run: questions are answered without it"
            yield _warn("reader", message, "Install `rag` and onnxruntime again.")


def _compare(examination: Examination, view: ServerView, limit: int) -> CheckResult:
    """Compare the vectors of chunks with new ones of their first sentences, while there is time."""
    from rag.index.searchable_text import sentence_texts

    name, seconds = "vector sample", examination.config.ollama.query_timeout
    provider = embedding_provider(examination.config, maker(examination.embedded))
    sample, cosines = examination.sample, list[float]()
    until = time.monotonic() + seconds
    try:
        with closing(provider.at(view.server, seconds)) as server:
            for document in sample[:: max(1, len(sample) // _COMPARED)][:_COMPARED]:
                if cosines and time.monotonic() > until:
                    break
                text = sentence_texts(document.meta, document.content)[0]
                for batch in server.embed_documents([text], limit, patient=False):
                    for _, why in batch.failures:
                        raise ModelError(why)
                    for _, new in batch.vectors:
                        length = math.hypot(*new) * math.hypot(*(held := document.embedding or []))
                        is_alike = len(new) == len(held)
                        cosines.append(sum(map(mul, new, held)) / length if is_alike else 0.0)
    except RAGError as error:
        return _from_error(name, error, "warn", server=view.server)
    least = round(min(cosines), 4)
    facts: dict[str, Any] = {"server": view.server, "compared": len(cosines), "least_cosine": least}
    if wrong := sum(cosine < _ALIKE for cosine in cosines):
        message = f"{wrong} of {len(cosines)} vectors are of another model or text"
        return _fail(name, message, _MAKE_ANEW, **facts)
    return _pass(name, f"{plural(len(cosines), 'chunk')} embedded again: same vectors", **facts)


# -- the Qdrant server of `store.url` ---------------------------------------------------------

_PATIENCE = 3.0  # seconds for each request


def check_server(examination: Examination) -> Iterator[CheckResult]:
    """Tell of each configured address whether Qdrant reads the collection there: a node that was
    restarted is not ready for minutes. Where one does, another that does not is a warning."""
    store = examination.config.store
    if not store.url:
        return
    import httpx

    from rag.stores.base.points import StoreError
    from rag.stores.server.rest import RestClient

    path, results = f"/collections/{quote_url(store.collection, safe='')}", list[CheckResult]()
    for url in store.addresses:
        place = replace(store, url=url, timeout=min(store.timeout, _PATIENCE))
        result = _pass("qdrant", f"{url} has {store.collection!r}")
        try:
            with closing(RestClient(place)) as client, client.answering():
                client.request("GET", path)
                client.request("POST", f"{path}/points/count", {"exact": False})
        except StoreError:
            result = _pass("qdrant", f"{url} has no collection {store.collection!r} yet")
        except RAGError as error:
            is_silent = isinstance(error.__cause__, httpx.TimeoutException)
            hint = "Start it, or check store.url: `rag config`" if is_silent else error.hint
            result = _fail("qdrant", str(error), hint)
        results.append(result)
    has_answer = any(result.status == "pass" for result in results)
    for result in results:
        is_spare = result.status == "fail" and has_answer
        yield replace(result, status="warn") if is_spare else result


# -- the programs around `rag`: clients of its server for agents, its job, the watcher --------

_STARTING = 30.0  # seconds for a server that starts, and answers
_CLIENT = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "doctor", "version": "1"}}
_REQUESTS = (
    {"id": 1, "method": "initialize", "params": {**_CLIENT, "capabilities": {}}},
    {"id": 2, "method": "tools/call", "params": {"name": "status"}},
)


def check_agents(examination: Examination) -> Iterator[CheckResult]:
    """Start the server for agents as a client with a bare environment does; ask which index it
    reads."""
    if not examination.has_index:
        return
    start, own = program_start(examination.config), str(examination.config.index_dir)
    environment = {name: os.environ[name] for name in BARE if name in os.environ}
    environment |= start.environment
    if start.config_file:
        environment["RAG_CONFIG"] = str(start.config_file)
    requests = "\n".join(json.dumps({"jsonrpc": "2.0", **request}) for request in _REQUESTS)
    output = ""
    try:
        ran = subprocess.run(
            [*start.program, "mcp"],
            input=requests,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=environment,
            cwd="/",  # where clients with windows start programs
            timeout=_STARTING,
            check=False,
        )
        output = ran.stderr or ran.stdout
        replies = {reply["id"]: reply for reply in map(json.loads, ran.stdout.splitlines())}
        index = str(replies[2]["result"]["_meta"]["rag/index"])
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError, TypeError) as error:
        why = output[-300:] or f"{type(error).__name__}: {error}"
        yield _fail("agents", f"the server for agents does not answer: {why}"[:500], _REPORT_IT)
        return
    if index == own:
        yield _pass("agents", "a client with a bare environment reads this index", index=index)
    else:
        message = f"the server for agents reads another index: {index}, not {own}"
        hint = "Give clients the configuration that is printed for them."
        yield _fail("agents", message, hint, index=index)


def check_upkeep(examination: Examination) -> Iterator[CheckResult]:
    """Tell whether a job of a scheduler that indexes can run, and how it last did; and whether the
    watcher that was started still watches, and how its last run went."""
    report, watcher = read_service(), read_watcher(examination.config)
    for problem in (*report.problems, *report.unknown):
        yield _warn("service", problem)
    if report.installed and not report.problems and not report.unknown:
        jobs = " and ".join(f"{job.scheduler}, {how_often(job.every)}" for job in report.installed)
        yield _pass("service", f"the index is kept up to date by {jobs}")
    if watcher is None:
        return
    process, since, run = watcher.process, watcher.heartbeat, watcher.last_run
    error, gone = run.error if run else "", ", ".join(watcher.missing)
    ended = f"the watcher ended unexpectedly after {since}"
    late = f"process {process} watches, but gives no sign of life since {since}"
    problems = (
        (not watcher.alive, ended, "`rag watch` starts it again."),
        (watcher.is_late, late, "End it, and start `rag watch` again."),
        (error, f"the last run of the watcher failed: {error}", UPDATE_INDEX),
        (gone, f"folders not there: {gone}", "Mount them, or `rag vault remove` them."),
    )
    yield _pass("watcher", f"process {process} watches since {watcher.started}", problems)


# In this order: models are compared with the index, which is read before.
CHECKS: list[tuple[str, Callable[[Examination], Iterator[CheckResult]]]] = [
    ("configuration", check_configuration),
    ("data folder", check_data_folder),
    ("disk", check_disk),
    ("vault", check_vaults),
    ("index", check_index),
    ("files", check_files),
    ("chunks", check_chunks),
    ("ollama", check_servers),
    ("vectors", check_vectors),
    ("reader", check_reader),
    ("qdrant", check_server),
    ("agents", check_agents),
    ("upkeep", check_upkeep),
]
