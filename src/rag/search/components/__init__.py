"""The components of the search pipeline, and how they are serialised."""

from __future__ import annotations

import inspect
from dataclasses import asdict, is_dataclass
from typing import Any

from haystack import default_from_dict, default_to_dict

from rag.clients.factory import with_config
from rag.stores.base.document_store import with_store


class SearchComponent:
    """Base of components that keep the arguments of `__init__` under their names; a store is
    serialised as it says itself, settings as a mapping."""

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its store and settings."""
        names = [*inspect.signature(type(self).__init__).parameters][1:]
        held: dict[str, Any] = {name: getattr(self, name) for name in names}
        for name, value in held.items():
            if is_dataclass(value) and not isinstance(value, type):
                held[name] = asdict(value)
        return default_to_dict(self, **held)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        given = data["init_parameters"]
        data = with_store(data) if given.get("document_store") else data
        return default_from_dict(cls, with_config(data) if "config" in given else data)
