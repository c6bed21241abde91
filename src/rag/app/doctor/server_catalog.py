"""The catalog of an index on a server: whether other machines can read it."""

from __future__ import annotations

from collections.abc import Iterator

from rag.app.doctor.check import Check, Examination
from rag.exceptions import Message, RAGError, Remedy
from rag.index.snapshots import IndexDirectory
from rag.stores.server.catalog import open_catalog
from rag.stores.server.identity import ServerMark

_AGAIN = Message(hint="Index again on the machine that writes the index.", remedy=Remedy.RUN_INDEX)


def check_catalog(examination: Examination) -> Iterator[Check]:
    """Say whether the server has the catalog of the index, and who writes it."""
    store = examination.config.store
    mark = ServerMark.read(IndexDirectory.of(examination.config).path) if store.url else None
    if mark is None:
        return
    try:
        with open_catalog(store) as catalog:
            head = catalog.head()
            is_whole = head is not None and catalog.is_whole(head)
    except RAGError as error:
        yield Check("catalog", "fail", str(error), error.hint or _AGAIN)
        return
    if head is None or not head.version:
        message = "the server has no catalog of the index: no other machine can search it"
        yield Check("catalog", "warn", message, _AGAIN)
        return
    facts = {"machine": head.machine, "name": head.name, "published": head.published}
    if not is_whole:
        message = f"it lacks a part ({head.name} published it {head.published})"
        yield Check("catalog", "fail", message, _AGAIN, facts)
        return
    yield Check("catalog", "pass", f"published by {head.name}, {head.published}", facts=facts)
