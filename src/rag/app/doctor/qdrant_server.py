"""The Qdrant server, where one is configured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import httpx

from rag.app.doctor.check import Check, Examination
from rag.app.doctor.qdrant_requests import FAILURES, QdrantRequests, status_of
from rag.app.doctor.qdrant_shards import check_shards
from rag.config import StoreConfig
from rag.exceptions import Message, Remedy

_OTHER_CLUSTER = "Another address has it: name only machines of one cluster in store.url."
_LOG = "See the server's log."
_WAIT = "After a restart this may last for minutes. If it stays so, see the server's log."


def check_server(examination: Examination) -> Iterator[Check]:
    """Say of each address of the configured Qdrant server whether it answers, and how the copies
    of the shards are. Where one answers, another that does not is a warning.

    :raises ConfigError: when its API key could not be sent, or would travel in the clear.
    """
    store = examination.config.store
    if not store.url:
        return
    found = [_check_address(replace(store, url=address)) for address in store.addresses]
    has_answer = any(checks[0].status == "pass" for checks in found)
    has_collection = any(checks[0].facts.get("collection") for checks in found)
    for first, *_ in found:
        if first.status == "fail" and has_answer:
            yield replace(first, status="warn")
        elif has_collection and first.facts.get("collection") is False:
            yield replace(first, status="fail", hint=_OTHER_CLUSTER)
        else:
            yield first
    yield from next((rest for _, *rest in found if rest), [])


def _check_address(store: StoreConfig) -> list[Check]:
    """Return what is to be said of one address, then of the shards that it tells of."""
    server = QdrantRequests(store)
    try:
        with server:
            return list(_examine(server, store))
    except FAILURES as error:
        return [_failure(server, store, error)]


def _examine(server: QdrantRequests, store: StoreConfig) -> Iterator[Check]:
    """Ask the server whether it is ready, what it is, and for the collection.

    A node that was restarted says for minutes that it is not ready, though it reads and counts: so
    the collection itself is read.

    :raises FAILURES: when it does not answer, or not as Qdrant does, or refuses the key.
    """
    unready = _unready(server)
    try:
        version = server.version()
    except FAILURES:
        if unready:
            raise unready from None
        raise
    where = f"{version} at {store.url}"
    layout, problem = _read(server, store.collection)
    facts = {"server": store.url, "version": version, "ready": unready is None}
    facts["collection"] = layout is not None
    if unready:
        said = server.explain(unready)
        facts["said"] = said
        message = f"{where} is not ready ({said})"
        if layout is not None and not problem:
            message += "; searching may work all the same"
            yield Check("qdrant", "warn", message, _WAIT, facts)
        else:
            rest = problem or f"there is no collection {store.collection!r} to read"
            yield Check("qdrant", "fail", f"{message}, and {rest}", _WAIT, facts)
    elif problem:
        yield Check("qdrant", "fail", f"{where}: {problem}", _LOG, facts)
    else:
        rest = "" if layout is not None else f", no collection {store.collection!r} yet"
        yield Check("qdrant", "pass", where + rest, facts=facts)
    if layout is not None:
        yield from check_shards(server, store.collection, layout)


def _unready(server: QdrantRequests) -> httpx.HTTPStatusError | None:
    """Return the answer of a server that says of itself that it is not ready."""
    try:
        server.check_ready()
    except httpx.HTTPStatusError as error:
        if error.response.status_code != HTTPStatus.SERVICE_UNAVAILABLE:
            raise
        return error
    return None


def _read(server: QdrantRequests, name: str) -> tuple[dict[str, Any] | None, str]:
    """Read the collection: return what the server says of it, and why it cannot be read, or "".

    :raises httpx.HTTPStatusError: when the server refuses the key.
    """
    layout = None
    try:
        layout = server.collection()
        server.read()
    except FAILURES as error:
        status = status_of(error)
        if status in (401, 403):
            raise
        if layout is None and status == HTTPStatus.NOT_FOUND:
            return None, ""
        return layout, f"the collection {name!r} cannot be read ({server.explain(error)})"
    return layout, ""


def _failure(server: QdrantRequests, store: StoreConfig, error: BaseException) -> Check:
    hint: str = Message(hint="Start it, or check store.url.", remedy=Remedy.START_STORE)
    message = f"{store.url} does not answer as Qdrant does ({server.explain(error)})"
    status = status_of(error)
    if status:
        message = f"{store.url} answered with {server.explain(error)}"
        hint = Message(hint="Check store.url.", remedy=Remedy.CHECK_STORE_URL)
    if status in (401, 403):
        where = f"in {store.api_key_env}" if store.api_key_env else ""
        where = where or "in the variable that store.api_key_env names"
        hint = f"Put the server's API key {where}."
    return Check("qdrant", "fail", message, hint, {"server": store.url})
