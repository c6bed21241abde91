"""The Qdrant server of `store.url`: its addresses, and the copies of shards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rag.app.doctor.check import CheckResult, Checks, Examination, failure, passed, warning
from rag.config import StoreConfig
from rag.exceptions import RAGError
from rag.text.messages import plural

if TYPE_CHECKING:
    from rag.stores.server.rest import RestClient

_SECONDS = 3.0  # for each request
_ACTIVE = "Active"  # all other states are of copies that are behind, or dead
_NAMED = 8  # shards that a message names
_COPIES = (
    "Start the nodes that are down; Qdrant then copies what they missed by itself. If there are"
    " fewer copies than that in any state, make more with Qdrant's `replicate_shard`."
)


def check_server(examination: Examination) -> Iterator[CheckResult]:
    """Tell of each configured address whether Qdrant reads there, then of the copies of shards.
    Where one does, another that does not is a warning."""
    store = examination.config.store
    results = [[*_check_address(replace(store, url=url))] for url in store.addresses]
    has_answer = any(first.status == "pass" for first, *_ in results)
    for first, *_ in results:
        is_spare = first.status == "fail" and has_answer
        yield replace(first, status="warn") if is_spare else first
    yield from next((shards for _, *shards in results if shards), [])


def _check_address(store: StoreConfig) -> Iterator[CheckResult]:
    """Read the collection.

    Whether a node is ready is not asked: one that was restarted says for minutes that it is not,
    though it reads.
    """
    import httpx

    from rag.stores.edge.shard import StoreError
    from rag.stores.server.api_key import server_key
    from rag.stores.server.errors import answering
    from rag.stores.server.rest import RestClient

    key, store = server_key(store), replace(store, timeout=min(store.timeout, _SECONDS))
    path = f"/collections/{quote(store.collection, safe='')}"
    try:
        with answering(store, key), closing(RestClient(store)) as client:
            collection = client.request("GET", path)
            client.request("POST", f"{path}/points/count", {"exact": False})
            yield passed("qdrant", f"{store.url} has {store.collection!r}", server=store.url)
            yield from _check_shards(client, path, collection)
    except StoreError:
        message = f"{store.url} has no collection {store.collection!r} yet"
        yield passed("qdrant", message, server=store.url)
    except RAGError as error:
        is_silent = isinstance(error.__cause__, httpx.TimeoutException)
        hint = "Start it, or check store.url: `rag config`" if is_silent else error.hint
        yield failure("qdrant", str(error), hint, server=store.url)


def _check_shards(
    client: RestClient, path: str, collection: dict[str, Any]
) -> Iterator[CheckResult]:
    """Tell whether every shard has as many active copies as were asked for; nothing where the
    server keeps none."""
    import httpx

    states: dict[int, list[str]] = defaultdict(list)
    try:
        cluster = client.request("GET", f"{path}/cluster")
        for copy in [*cluster["local_shards"], *cluster["remote_shards"]]:
            states[copy["shard_id"]].append(copy["state"])
    except httpx.HTTPStatusError:
        return
    except (httpx.HTTPError, ValueError, LookupError, TypeError):
        message = "whether all copies are there is not known"
        yield warning("shards", message, "See the server's log.")
        return
    wanted = collection["config"]["params"].get("replication_factor") or 1
    lacking = [shard for shard in sorted(states) if states[shard].count(_ACTIVE) < wanted]
    facts = {"shards": len(states), "wanted": wanted, "lacking": lacking, "copies": states}
    shards, copies = plural(len(states), "shard"), "copy" if wanted == 1 else "copies"
    if lacking:
        named = [f"shard {shard} ({', '.join(sorted(states[shard]))})" for shard in lacking]
        more = f" and {len(lacking) - _NAMED:,} more" if len(lacking) > _NAMED else ""
        message = f"{len(lacking)} of {shards} with fewer active copies than the {wanted} asked"
        message += f" for: {', '.join(named[:_NAMED])}{more}"
        yield warning("shards", message, _COPIES, **facts)
    elif states:
        yield passed("shards", f"{shards}, {wanted} active {copies} of each", **facts)


CHECKS: Checks = [("qdrant", check_server)]
