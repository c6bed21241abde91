"""Tools that a model may use while it plans a query: Haystack tools, those of plug-ins too.

A plug-in of the group `rag.tools` is called with the catalogue of the index and returns a
`haystack.tools.Tool`. One that takes too long is left to itself, in a thread of its own.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from haystack.tools.tool import Tool

from rag.exceptions import RAGError
from rag.query.llm import TimeoutExpired, within
from rag.query.planner.audit_log import Outcome, ToolCall
from rag.query.planner.catalog import Catalogue, names_by_kind
from rag.query.planner.fuzzy_match import ENGINE, SCORERS, best_matches
from rag.support.plugins import TOOLS, make_plugin, plugin_names
from rag.text.messages import brief, without_halves

_LONGEST_RESULT = 4000  # characters that a model is told
_LONGEST_TEXT = 200  # characters that are compared
_MOST_CHOICES = 1000

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "the words to compare"},
        "choices": {
            "type": "array",
            "items": {"type": "string"},
            "description": "what to compare them with; left out: all names of the index",
        },
        "limit": {"type": "integer", "description": "how many matches"},
        "scorer": {"type": "string", "enum": ["WRatio", *(s for s in SCORERS if s != "WRatio")]},
    },
    "required": ["query"],
}


def similarity_tool(catalogue: Catalogue, max_candidates: int = 8) -> Tool:
    """Return the tool `rapidfuzz_similarity(query, choices?, limit?, scorer?)`.

    It gives `{"engine", "matches": [{"value", "score"}]}`, scores from 0 to 100, the best first;
    without choices the names of the index, each with its `kind`: vault, tag, title (aliases and
    file names too) or field.

    :param max_candidates: the most matches.
    """

    def rapidfuzz_similarity(
        query: str, choices: Any = None, limit: Any = None, scorer: Any = None
    ) -> dict[str, Any]:
        if not isinstance(query, str):
            raise TypeError("query must be a text")
        kinds: dict[str, str] = {}
        if choices is None or choices == []:
            kinds = _names_of(catalogue)
            choices = list(kinds)
        elif not isinstance(choices, list):
            raise TypeError("choices must be a list of texts")
        texts = [str(choice)[:_LONGEST_TEXT] for choice in choices]
        texts = texts if kinds else texts[:_MOST_CHOICES]
        found = best_matches(
            query[:_LONGEST_TEXT], texts, _limit(limit, max_candidates), str(scorer or "WRatio")
        )
        matches = [
            {"value": value, "score": score} | ({"kind": kinds[value]} if value in kinds else {})
            for value, score in found
        ]
        return {"engine": ENGINE, "matches": matches}

    return Tool(
        "rapidfuzz_similarity",
        "Compares words with the names of the index, or with given choices, and tells the most "
        "alike: slips of the pen, other spellings, parts of names.",
        PARAMETERS,
        rapidfuzz_similarity,
    )


def _limit(given: Any, most: int) -> int:
    try:
        limit = int(given)
    except (TypeError, ValueError, OverflowError):
        return most
    return min(limit, most) if limit > 0 else most


def _names_of(catalogue: Catalogue) -> dict[str, str]:
    """Return the kind by name; a name of several kinds is of the first."""
    kinds: dict[str, str] = {}
    for kind, names in names_by_kind(catalogue).items():
        for name in names:
            kinds.setdefault(name[:_LONGEST_TEXT], kind)
    return kinds


class ToolBox:
    """Tools by name; one that fails is reported to the model, and nothing is raised.

    :param tools: of two of the same name the first counts.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self._tools.setdefault(tool.name, tool)

    @property
    def names(self) -> list[str]:
        """The names of the tools."""
        return list(self._tools)

    def described(self) -> str:
        """Return the tools as a model is told of them, one a line."""
        return "\n".join(
            f"- {tool.name}: {tool.description} Arguments: "
            f"{json.dumps(tool.parameters.get('properties', {}), ensure_ascii=False)}"
            for tool in self._tools.values()
        )

    def redacted(self, name: str, arguments: Any) -> ToolCall:
        """Return what a trace may keep of the use of a tool."""
        tool = self._tools.get(name)
        if tool is None or tool.function is None:
            return ToolCall(tool="unknown", failure="unknown tool")
        return ToolCall(tool=name, arguments=redacted(arguments, tool))

    def use(self, name: str, arguments: Any, seconds: float = 30.0) -> Outcome:
        """Use a tool.

        :param seconds: that it may take.
        """
        tool, call = self._tools.get(name), self.redacted(name, arguments)
        if tool is None or tool.function is None:
            known = ", ".join(self._tools)
            told = _told(name, arguments, {"error": f"there is no such tool; there are: {known}"})
            return Outcome(told, call)
        if why := _misfit(tool, arguments):
            call.failure = "bad arguments"
            return Outcome(_told(name, arguments, {"error": why}), call)
        try:
            result = within(seconds, partial(tool.invoke, **arguments))
            told = _told(name, arguments, {"result": result})
        except TimeoutExpired:
            call.failure = "timeout"
            why = f"it took longer than {seconds:g} s"
            return Outcome(_told(name, arguments, {"error": why}), call)
        except Exception as error:  # of a plug-in, which may raise anything
            cause = error.__cause__ or error
            call.failure = type(cause).__name__
            why = brief(f"it failed: {cause or type(cause).__name__}")
            return Outcome(_told(name, arguments, {"error": why}), call)
        if isinstance(result, dict):
            call.engine = str(result.get("engine", ""))[:40]
            matches = result.get("matches")
            call.matches = len(matches) if isinstance(matches, Sequence) else 0
        return Outcome(told, call)


def redacted(arguments: Any, tool: Tool) -> dict[str, Any]:
    """Return what a trace may keep of arguments: how long texts are, how many a list holds.

    Names of arguments are the model's, so only those of the tool are kept.
    """
    if not isinstance(arguments, dict):
        return {"arguments": _size(arguments)}
    known = tool.parameters.get("properties", {})
    kept = {name: _size(value) for name, value in arguments.items() if name in known}
    others = len(arguments) - len(kept)
    return kept | ({"others": others} if others else {})


def _size(value: Any) -> Any:
    if isinstance(value, str):
        return {"characters": len(value)}
    if isinstance(value, dict) and _is_size(value):
        return value
    if isinstance(value, (list, dict)):
        return {"items": len(value)}
    return value if isinstance(value, (bool, int, type(None))) else None


def _is_size(value: dict[Any, Any]) -> bool:
    """Return True for an argument that was redacted before, as in a replay."""
    [(key, size)] = value.items() if len(value) == 1 else [("", None)]
    return key in ("characters", "items") and type(size) is int


def _misfit(tool: Tool, arguments: Any) -> str:
    """Return why arguments are none for a tool, empty when they are some."""
    if not isinstance(arguments, dict) or not all(isinstance(name, str) for name in arguments):
        return "arguments must be a JSON object"
    assert tool.function is not None
    try:
        inspect.signature(tool.function).bind(**arguments)
    except TypeError as error:
        return brief(f"bad arguments: {error}")
    return ""


def _told(name: str, arguments: Any, outcome: dict[str, Any]) -> str:
    shown = json.dumps(arguments, ensure_ascii=False, default=str)[:_LONGEST_TEXT]
    told = json.dumps({"tool": brief(name, 60), **outcome}, ensure_ascii=False, default=str)
    return without_halves(f"{shown} -> {told[:_LONGEST_RESULT]}")


def plugin_tools(catalogue: Catalogue) -> tuple[list[Tool], list[str]]:
    """Return the tools that plug-ins bring, and of those that cannot be made, why."""
    tools, failures = [], []
    try:
        names = plugin_names(TOOLS)
    except RAGError as error:
        return [], [brief(error.message)]
    for name in names:
        try:
            made = make_plugin(TOOLS, name, catalogue)
        except RAGError as error:
            failures.append(brief(error.message))
            continue
        if isinstance(made, Tool):
            tools.append(made)
        else:
            failures.append(f"the plug-in {name!r} of {TOOLS} made no tool")
    return tools, failures
