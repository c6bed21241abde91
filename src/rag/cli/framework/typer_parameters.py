"""Options and arguments whose values are checked by pydantic only where that is needed.

Typer makes pydantic's checks of every parameter, given or not: 60 ms of imports before a command
that has none to make. A text is one already; for other values they are made when one is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from typer import _click
from typer._coercion import RuntimeParam, TypeDescriptor, build_runtime_param
from typer.core import TyperArgument, TyperGroup, TyperOption

HELP_OPTIONS = ["-h", "--help"]


@dataclass(frozen=True)
class _Late(RuntimeParam):
    """Typer's checks of a parameter's value, made with the first value that needs them."""

    descriptor: TypeDescriptor

    @cached_property
    def checks(self) -> RuntimeParam:
        """Those of Typer."""
        return build_runtime_param(self.descriptor)

    def _coerce_value(self, value: Any, param: Any, ctx: _click.Context) -> Any:
        wanted = self.annotation
        if wanted is str and isinstance(value, str):
            return value
        if wanted == list[str] and all(isinstance(item, str) for item in value):
            return list(value)
        return self.checks._coerce_value(value, param=param, ctx=ctx)


def parameters(command: _click.Command) -> Iterator[TyperArgument | TyperOption]:
    """Yield the parameters of a command, and of its commands if it has some."""
    names = _click.Context(command, help_option_names=HELP_OPTIONS)
    for parameter in command.get_params(names):
        if isinstance(parameter, (TyperArgument, TyperOption)):
            yield parameter
    for inner in command.commands.values() if type(command) is TyperGroup else ():
        yield from parameters(inner)


def checked_late(command: _click.Command) -> _click.Command:
    """Put off the checks of a command's parameters; return the command."""
    for parameter in parameters(command):
        of = parameter.type_descriptor
        parameter._runtime_param = _Late(of.parameter_info, of.annotation, of)
    return command


def mend_zsh() -> None:
    """Let Typer's script for zsh complete at the first Tab too: zsh reads it then, and takes it for
    the completion itself."""
    from typer import _completion_shared

    scripts, again = _completion_shared._completion_scripts, '%(complete_func)s "$@"'
    if again not in scripts["zsh"]:
        scripts["zsh"] = f"{scripts['zsh'].rstrip()}\n{again}\n"
