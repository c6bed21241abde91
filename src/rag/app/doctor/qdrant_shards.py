"""The shards of the collection on a Qdrant server, and the copies of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rag.app.doctor.check import Check
from rag.app.doctor.qdrant_requests import FAILURES, QdrantRequests, status_of
from rag.text.messages import plural

_ACTIVE = "Active"  # all other states are of copies that are behind, or dead
_NAMED = 8  # shards that a message names; the facts have all
_UNCLUSTERED = (400, 404)  # for a server that keeps no copies, or is too old to tell
_LOG = "See the server's log."


@dataclass(frozen=True)
class _Copy:
    shard: int
    node: int
    state: str


@dataclass(frozen=True)
class _Copies:
    """All copies of all shards, in whatever state.

    :param wanted: how many of each were asked for when the collection was made.
    :param transfers: how many are being copied now.
    """

    all: list[_Copy]
    wanted: int
    transfers: int

    def by_shard(self) -> dict[int, list[_Copy]]:
        """Return the copies of each shard, by its number."""
        found: dict[int, list[_Copy]] = defaultdict(list)
        for copy in sorted(self.all, key=lambda copy: (copy.shard, copy.state, copy.node)):
            found[copy.shard].append(copy)
        return found

    def lacking(self) -> dict[int, list[_Copy]]:
        """Return the copies of the shards that have fewer live ones than were asked for."""
        return {n: each for n, each in self.by_shard().items() if _live(each) < self.wanted}


def check_shards(server: QdrantRequests, name: str, layout: dict[str, Any]) -> Iterator[Check]:
    """Say whether every shard has as many live copies as were asked for.

    :param layout: what the server says of the collection.
    """
    try:
        copies = _read_copies(server.cluster(), layout)
    except FAILURES as error:
        said = server.explain(error)
        if status_of(error) not in _UNCLUSTERED and "disabled" not in said:
            message = f"whether all copies are there is not known ({said})"
            yield Check("shards", "warn", message, _LOG, {"collection": name})
        return
    if copies.all:
        yield _judge(copies, name)


def _read_copies(cluster: dict[str, Any], layout: dict[str, Any]) -> _Copies:
    """Read the server's two answers.

    :raises ValueError: when they are not Qdrant's.
    """
    try:
        here = cluster["peer_id"]
        copies = [
            _Copy(int(each["shard_id"]), int(each.get("peer_id", here)), str(each["state"]))
            for each in [*cluster["local_shards"], *cluster["remote_shards"]]
        ]
        wanted = int(layout["config"]["params"].get("replication_factor") or 1)
        return _Copies(copies, wanted, len(cluster.get("shard_transfers") or []))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError("no shards") from error


def _judge(copies: _Copies, name: str) -> Check:
    shards, lacking = copies.by_shard(), copies.lacking()
    facts = {
        "collection": name,
        "shards": len(shards),
        "wanted": copies.wanted,
        "lacking": [*lacking],
        "transfers": copies.transfers,
        "copies": [
            {"shard": copy.shard, "node": copy.node, "state": copy.state}
            for each in shards.values()
            for copy in each
        ],
    }
    if not lacking:
        return Check("shards", "pass", _healthy(shards), facts=facts)
    have = "has" if len(lacking) == 1 else "have"
    message = f"{len(lacking)} of {plural(len(shards), 'shard')} {have} fewer active copies "
    message += f"than the {copies.wanted} asked for: {_named(lacking)}"
    return Check("shards", "warn", message, _next_step(copies, lacking), facts)


def _healthy(shards: dict[int, list[_Copy]]) -> str:
    counts = {len(each) for each in shards.values()}
    fewest = min(map(_live, shards.values()))
    copies = "copy" if fewest == 1 else "copies"
    each = " of each" if len(shards) > 1 else ""
    if counts != {fewest}:  # one is being moved, or added
        return f"{plural(len(shards), 'shard')}, at least {fewest} active {copies}{each}"
    active = "active" if len(shards) == fewest == 1 else "all active"
    return f"{plural(len(shards), 'shard')}, {fewest} {copies}{each}, {active}"


def _named(lacking: dict[int, list[_Copy]]) -> str:
    """Return the numbers of shards, with the states of their copies."""
    named = [
        f"shard {number} ({', '.join(copy.state for copy in lacking[number])})"
        for number in [*lacking][:_NAMED]
    ]
    rest = len(lacking) - len(named)
    return ", ".join(named) + (f" and {rest:,} more" if rest else "")


def _next_step(copies: _Copies, lacking: dict[int, list[_Copy]]) -> str:
    if any(len(each) < copies.wanted for each in lacking.values()):
        return (
            "There are fewer copies than that in any state, and Qdrant makes no others by itself: "
            "add nodes, then make copies with Qdrant's `replicate_shard`."
        )
    running = f" ({plural(copies.transfers, 'transfer')} now)" if copies.transfers else ""
    return (
        "Start the nodes that are down; Qdrant then copies what they missed by itself"
        f"{running}. If it does not, see the server's log."
    )


def _live(copies: list[_Copy]) -> int:
    return sum(copy.state == _ACTIVE for copy in copies)
