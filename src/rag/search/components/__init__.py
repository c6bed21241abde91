"""The components of the search pipeline, and how they are serialised."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Any, ClassVar

from haystack import default_from_dict, default_to_dict

from rag.clients.factory import with_config
from rag.stores.base.document_store import with_store


class SearchComponent:
    """Base of components: those arguments of `__init__` that are in `kept` stay under their names
    and are serialised, a store as it says itself, settings as a mapping."""

    kept: ClassVar[tuple[str, ...]] = ("document_store", "config")

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its store and settings."""
        return default_to_dict(self, **{name: _plain(getattr(self, name)) for name in self.kept})

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        data = with_store(data) if data["init_parameters"].get("document_store") else data
        return default_from_dict(cls, with_config(data) if "config" in cls.kept else data)


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
