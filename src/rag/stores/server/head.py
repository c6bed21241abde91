"""The head of the catalog of an index: of which blocks that is made, and who writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from rag.stores.server.blocks import is_key
from rag.stores.server.identity import ServerMark
from rag.support.http_transport import brief

FORMAT = 1
_LONGEST_RUN = 1e6 + 60.0  # seconds between two signs of life: the longest `store.timeout`
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
}


@dataclass(frozen=True)
class Head:
    """The head of a catalog.

    :param index: the id of the index.
    :param version: that of the catalog; "" before the first was published.
    :param listing: the keys of the blocks of its listing.
    :param blocks: how many blocks there were when it was published.
    :param points: how many points belong to it.
    :param revision: of its manifest.
    :param published: when, as ISO text.
    :param machine: the id of the one that writes; `name` is its name, `since` when it began.
    :param run: the id of a run of it that may be writing points now, or "".
    :param seconds: how long that run may go on after the head was changed last.
    :param unfinished: whether points were written that no catalog knows yet.
    """

    index: str
    token: str = ""
    format: int = FORMAT
    version: str = ""
    listing: tuple[str, ...] = ()
    blocks: int = 0
    points: int = 0
    revision: int = 0
    published: str = ""
    machine: str = ""
    name: str = ""
    since: str = ""
    run: str = ""
    seconds: float = 0.0
    unfinished: bool = False

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Head:
        """Read a head.

        :raises ValueError: when it is none.
        """
        values = {f.name: payload.get(f.name, f.default) for f in fields(cls)}
        for field in fields(cls):
            if not isinstance(values[field.name], _KINDS.get(str(field.type), (list, tuple))):
                raise ValueError(f"{field.name} is wrong in the head of the catalog")
        is_sane = 0 <= values["seconds"] <= _LONGEST_RUN and 0 <= values["revision"] < 1 << 53
        if not is_sane or isinstance(values["revision"], bool):
            raise ValueError("a number is wrong in the head of the catalog")
        if not all(map(is_key, values["listing"])):
            raise ValueError("listing is wrong in the head of the catalog")
        values |= {"listing": tuple(values["listing"]), "name": brief(values["name"])}
        return cls(**values)

    def mark(self, work: str) -> ServerMark:
        """Return what is kept of it in a folder whose snapshot is this catalog.

        :param work: the version of the catalog which the staging index there goes on from.
        """
        return ServerMark(
            self.index, self.version, work, machine=self.machine, name=self.name, since=self.since
        )
