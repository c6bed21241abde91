"""Steps and formatters by name, those of plug-ins too.

An entry point of the group `rag.steps` names a callable that makes a `PipelineStep`, one of
`rag.formatters` a callable that makes a formatter, such as its class; neither takes arguments.
"""

from __future__ import annotations

from collections.abc import Callable

from rag.context.formatters import (
    AnthropicFormatter,
    ChatMessageFormatter,
    GenericTextFormatter,
    OpenAIFormatter,
)
from rag.context.protocols import Formatter
from rag.context.steps import PipelineStep
from rag.exceptions import RAGError
from rag.support.plugins import (
    FORMATTERS,
    STEPS,
    canonical,
    make_plugin,
    plugin_names,
    unknown_name,
)

_BUILT_IN: dict[str, Callable[[], Formatter]] = {
    maker.format_type: maker
    for maker in (AnthropicFormatter, ChatMessageFormatter, GenericTextFormatter, OpenAIFormatter)
}
_SPELLED = {canonical(name): name for name in _BUILT_IN}


def formatter_names() -> list[str]:
    """Return the names of all formatters: the built-in ones, then those of plug-ins.

    A plug-in cannot take the name of a built-in one.
    """
    return [*_BUILT_IN, *(name for name in plugin_names(FORMATTERS) if name not in _SPELLED)]


def find_formatter(name: str) -> Formatter:
    """Make a formatter.

    :param name: one of `formatter_names`, with `-` or `_` and in any case.
    :raises UsageError: for a name that nothing has, with the nearest ones.
    :raises RAGError: when a plug-in fails, or makes something else.
    """
    spelled = canonical(name)
    if spelled in _SPELLED:
        return _BUILT_IN[_SPELLED[spelled]]()
    known = formatter_names()
    if spelled not in known:
        raise unknown_name("format", name, known)
    made = make_plugin(FORMATTERS, spelled)
    if not isinstance(made, Formatter):
        raise _wrong(FORMATTERS, name, made, "formatter")
    return made


def step_names() -> list[str]:
    """Return the names of the steps that plug-ins bring, sorted."""
    return plugin_names(STEPS)


def find_step(name: str) -> PipelineStep:
    """Make a step that a plug-in brings.

    :param name: one of `step_names`, with `-` or `_` and in any case.
    :raises UsageError: for a name that nothing has, with the nearest ones.
    :raises RAGError: when the plug-in fails, or makes something else.
    """
    known = step_names()
    if canonical(name) not in known:
        raise unknown_name("step", name, known)
    made = make_plugin(STEPS, name)
    if not isinstance(made, PipelineStep):
        raise _wrong(STEPS, name, made, "PipelineStep")
    return made


def _wrong(group: str, name: str, made: object, wanted: str) -> RAGError:
    kind = type(made).__name__
    return RAGError(f"the plug-in {name!r} of {group} made a {kind}, which is no {wanted}")
