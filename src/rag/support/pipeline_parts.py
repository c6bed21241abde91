"""The components of a pipeline that somebody else made."""

from __future__ import annotations

from typing import Any, Protocol


class _Pipeline(Protocol):
    def get_component(self, name: str) -> Any: ...


def component_of(pipeline: _Pipeline, name: str) -> Any | None:
    """Return a component of a Haystack pipeline; `None` when it has none of that name."""
    try:
        return pipeline.get_component(name)
    except ValueError:
        return None


def store_of(pipeline: _Pipeline, name: str) -> Any:
    """Return the document store of a component that a pipeline must have.

    :raises ValueError: when it has none of that name.
    """
    return pipeline.get_component(name).document_store


def takes(component: Any, name: str) -> bool:
    """Return whether a component has an input of that name."""
    return name in getattr(component, "__haystack_input__", {})
