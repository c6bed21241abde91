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
from rag.query.planner.names import ENGINE, SCORERS, Catalogue, best_matches, names_by_kind
from rag.query.planner.stages import Outcome, ToolCall
from rag.support.plugins import TOOLS, make_plugin, plugin_names
from rag.text.messages import brief, without_halves

_LONGEST_RESULT = 4000  # characters that a model is told
_LONGEST_TEXT = 200  # characters that are compared
_MOST_CHOICES = 1000

_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "the words to compare"},
        "choices": {
            "type": "array",
            "items": {"type": "string"},
            "description": "what to compare them with; left out: all names of the index",
        },
        "limit": {"type": "integer", "description": "how many matches"},
        "scorer": {"type": "string", "enum": list(SCORERS) or ["WRatio"]},
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
        if not choices:
            for kind, names in reversed(names_by_kind(catalogue).items()):
                kinds |= {name[:_LONGEST_TEXT]: kind for name in names}
        elif not isinstance(choices, list):
            raise TypeError("choices must be a list of texts")
        texts = list(kinds) or [str(choice)[:_LONGEST_TEXT] for choice in choices[:_MOST_CHOICES]]
        is_limit = isinstance(limit, int) and 0 < limit < max_candidates
        most = limit if is_limit else max_candidates
        found = best_matches(query[:_LONGEST_TEXT], texts, most, str(scorer or "WRatio"))
        matches = [
            {"value": value, "score": score} | ({"kind": kinds[value]} if value in kinds else {})
            for value, score in found
        ]
        return {"engine": ENGINE, "matches": matches}

    return Tool(
        "rapidfuzz_similarity",
        "Compares words with the names of the index, or with given choices, and tells the most "
        "alike: slips of the pen, other spellings, parts of names.",
        _PARAMETERS,
        rapidfuzz_similarity,
    )


class ToolBox:
    """Tools by name, of two of the same name the first; what fails is reported to the model, and
    nothing is raised."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.name: tool for tool in reversed([*tools])}
        self.names = list(self._tools)[::-1]

    def described(self) -> str:
        """Return the tools as a model is told of them, one a line."""
        tools = (self._tools[name] for name in self.names)
        return "\n".join(
            f"- {tool.name}: {tool.description} Arguments: "
            f"{json.dumps(tool.parameters.get('properties', {}), ensure_ascii=False)}"
            for tool in tools
        )

    def redacted(self, name: str, arguments: Any) -> ToolCall:
        """Return what a trace may keep of the use of a tool: how long texts are, how many a list
        holds. Names of arguments are the model's, so only those of the tool are kept."""
        tool = self._tools.get(name)
        if tool is None:
            return ToolCall(tool="unknown", failure="unknown tool")
        if not isinstance(arguments, dict):
            return ToolCall(tool=name, arguments={"arguments": _size(arguments)})
        own = tool.parameters.get("properties", {})
        kept = {key: _size(value) for key, value in arguments.items() if key in own}
        others = len(arguments) - len(kept)
        return ToolCall(tool=name, arguments=kept | ({"others": others} if others else {}))

    def use(self, name: str, arguments: Any, seconds: float = 30.0) -> Outcome:
        """Use a tool, for so many seconds at most."""
        tool, call = self._tools.get(name), self.redacted(name, arguments)
        result: Any = None
        why = ""
        if tool is None or tool.function is None:
            why = f"there is no such tool; there are: {', '.join(self.names)}"
        elif why := _misfit(tool, arguments):
            call.failure = "bad arguments"
        else:
            try:
                result = within(seconds, partial(tool.invoke, **arguments))
            except TimeoutExpired:
                call.failure, why = "timeout", f"it took longer than {seconds:g} s"
            except Exception as error:  # of a plug-in, which may raise anything
                cause = error.__cause__ or error
                call.failure = type(cause).__name__
                why = brief(f"it failed: {cause or call.failure}")
        if isinstance(result, dict):
            call.engine = str(result.get("engine", ""))[:40]
            matches = result.get("matches")
            call.matches = len(matches) if isinstance(matches, Sequence) else 0
        outcome = {"error": why} if why else {"result": result}
        shown = json.dumps(arguments, ensure_ascii=False, default=str)[:_LONGEST_TEXT]
        told = json.dumps({"tool": brief(name, 60), **outcome}, ensure_ascii=False, default=str)
        return Outcome(without_halves(f"{shown} -> {told[:_LONGEST_RESULT]}"), call)


def _size(value: Any) -> Any:
    if isinstance(value, str):
        return {"characters": len(value)}
    is_size = isinstance(value, dict) and [*value] in (["characters"], ["items"])
    if is_size and all(type(size) is int for size in value.values()):
        return value  # redacted before, as in a replay
    if isinstance(value, (list, dict)):
        return {"items": len(value)}
    return value if isinstance(value, int) else None


def _misfit(tool: Tool, arguments: Any) -> str:
    """Return why arguments are none for a tool, empty when they are some."""
    if not isinstance(arguments, dict):
        return "arguments must be a JSON object"
    assert tool.function is not None
    try:
        inspect.signature(tool.function).bind(**arguments)
    except TypeError as error:
        return brief(f"bad arguments: {error}")
    return ""


def plugin_tools(catalogue: Catalogue) -> tuple[list[Tool], list[str]]:
    """Return the tools that plug-ins bring, and of those that cannot be made, why."""
    tools, failures = [], []
    try:
        names = plugin_names(TOOLS)
    except RAGError as error:
        return [], [brief(error.message)]
    for name in names:
        try:
            tool = make_plugin(TOOLS, name, catalogue)
        except RAGError as error:
            failures.append(brief(error.message))
            continue
        if isinstance(tool, Tool):
            tools.append(tool)
        else:
            failures.append(f"the plug-in {name!r} of {TOOLS} made no tool")
    return tools, failures
