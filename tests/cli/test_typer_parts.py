"""What `rag.cli.framework.lazy_group` expects of the private parts of Typer."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer import _click

from rag.cli.framework import lazy_group
from rag.exceptions import UsageError


def made(body):
    """Return a command as Typer makes it of a function."""
    alone = typer.Typer(add_completion=False)
    alone.command()(body)
    return lazy_group.checked_late(typer.main.get_command(alone))


def test_a_value_is_checked_and_a_wrong_one_refused_by_an_error_that_names_the_option():
    got = []

    def body(number: Annotated[int, typer.Option(min=1)] = 1, names: list[str] | None = None):
        got.append((number, names))

    command = made(body)
    command(["--number", "3", "--names", "a"], standalone_mode=False)
    assert got == [(3, ["a"])]
    for wrong in ("0", "many"):
        with pytest.raises(lazy_group.ClickException) as caught:
            command(["--number", wrong], standalone_mode=False)
        assert "--number" in caught.value.format_message()


def test_an_unknown_option_and_a_group_alone_have_errors_of_their_own():
    with pytest.raises(lazy_group.NoSuchOption):
        made(lambda: None)(["--odd"], standalone_mode=False)
    with pytest.raises(lazy_group.NoArgsIsHelpError):
        lazy_group.load_command("vault")([], standalone_mode=False)


def test_a_command_that_runs_can_be_asked_for_its_options():
    got = []

    def body(quiet: bool = False):
        got.append((lazy_group.option_value("quiet"), lazy_group.option_value("odd")))

    made(body)(["--quiet"], standalone_mode=False)
    assert got == [(True, None)]
    assert lazy_group.option_value("quiet") is None


def test_the_group_says_what_it_does_not_know():
    group = lazy_group.LazyGroup(name="rag")
    context = _click.Context(group)
    assert group.resolve_command(context, ["status"])[1] is lazy_group.load_command("status")
    with pytest.raises(UsageError, match="find"):
        group.resolve_command(context, ["find"])
    with pytest.raises(lazy_group.ClickException):
        group.resolve_command(context, ["bogus"])
