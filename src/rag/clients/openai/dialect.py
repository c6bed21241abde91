"""Fields of a request that some servers refuse: said otherwise, or left out, once they were.

The API says what a request may hold, and no server knows all of it. What is refused is found out by
trying: once, since a connection keeps in mind what its server takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rag.clients.openai.errors import Refusal

T = TypeVar("T")
Body = dict[str, Any]

_ABSENT: dict[str, Any] = {}
_REFUSALS = (400, 415, 422, 500, 501)
# What stands for a field that was refused, one after the other.
_INSTEAD: dict[str, list[Callable[[Any], Body]]] = {
    "encoding_format": [lambda _: _ABSENT],
    "stream_options": [lambda _: _ABSENT],
    "chat_template_kwargs": [lambda _: _ABSENT],
    "reasoning_effort": [lambda _: _ABSENT],
    "temperature": [lambda _: _ABSENT],
    "max_tokens": [lambda value: {"max_completion_tokens": value}, lambda _: _ABSENT],
    "response_format": [
        lambda _: {"response_format": {"type": "json_object"}},
        lambda _: _ABSENT,
    ],
}
# How servers call a field, where not by its name.
_CALLED = {"reasoning_effort": ("reasoning_effort", "reasoning value", "think value")}
# Those that a server may mean though it names none.
_UNNAMED = ("response_format", "encoding_format")


class Dialect:
    """What one server takes of the fields that not all take."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def send(self, body: Mapping[str, Any], send: Callable[[Body], T]) -> T:
        """Return what `send` makes of a request; where a field is refused, of one without it.

        :raises Refusal: when the server refuses for another reason.
        """
        tried = dict(self._known)
        while True:
            try:
                made = send(_said(body, tried))
            except Refusal as refusal:
                field = _blamed(refusal, body, tried)
                if not field:
                    raise
                tried[field] = tried.get(field, 0) + 1
            else:
                self._known.update(tried)
                return made


def _said(body: Mapping[str, Any], tried: Mapping[str, int]) -> Body:
    said: Body = {}
    for field, value in body.items():
        step = tried.get(field, 0)
        said |= _INSTEAD[field][step - 1](value) if step else {field: value}
    return said


def _blamed(refusal: Refusal, body: Mapping[str, Any], tried: Mapping[str, int]) -> str:
    """Return the field that a server refuses, as far as it can be told; else ""."""
    if refusal.status not in _REFUSALS or refusal.is_for_length or refusal.is_for_model:
        return ""
    left = [f for f, steps in _INSTEAD.items() if f in body and tried.get(f, 0) < len(steps)]
    said = refusal.words.lower()
    for field in left:
        if any(name in said for name in _CALLED.get(field, (field,))):
            return field
    if refusal.status in (400, 415, 422):
        return next((field for field in _UNNAMED if field in left), "")
    return ""
