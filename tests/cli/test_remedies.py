"""Remedies: codes below the command line, and the commands that it names for them."""

from __future__ import annotations

import copy
import pickle
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.app.chat import SessionsReport
from rag.app.requests import SearchRequest
from rag.app.schema import to_json
from rag.app.workspace import Workspace
from rag.cli.framework.lazy_group import COMMANDS
from rag.cli.render.remedies import WORDS, worded
from rag.config import load_config
from rag.exceptions import (
    ConnectionError,
    IndexUnavailableError,
    Message,
    NotFoundError,
    RAGError,
    Remedy,
    with_hint,
)
from rag.qa.sessions import Session

Rag = Callable[..., Any]
EMBED = Message("no vectors", remedy=Remedy.MAKE_VECTORS)


@pytest.mark.parametrize("remedy", Remedy)
def test_each_has_words_that_name_a_command_or_a_flag(remedy: Remedy) -> None:
    named = rf"\brag ({'|'.join(COMMANDS)})\b|--[a-z]|(^|`)/[a-z]"
    assert re.search(named, WORDS[remedy])


def test_an_error_has_the_code_and_its_text_names_no_command(library: Path) -> None:
    with Workspace(load_config()) as workspace, pytest.raises(IndexUnavailableError) as caught:
        workspace.search(SearchRequest("backups", mode="dense"))
    error = caught.value
    assert error.remedy is Remedy.EMBED_OR_CHOOSE_MODE
    assert (error.kind, error.details) == ("index", "")
    assert "rag index" not in f"{error} {error.hint}" and "--mode" not in f"{error} {error.hint}"


def test_the_terminal_and_the_json_name_the_command(library: Path, rag: Rag) -> None:
    printed = rag("search", "backups", "--mode", "dense")
    assert "Run `rag index`. Search by words: --mode lexical." in printed.err
    found = rag("search", "backups", "--mode", "dense", "--json").json["error"]
    assert found["hint"] == "Run `rag index`. Search by words: --mode lexical."


@pytest.mark.parametrize(
    "error",
    [
        RAGError("x", remedy=Remedy.RUN_INDEX),
        NotFoundError("x", remedy=Remedy.RUN_INDEX),
        ConnectionError("x", remedy=Remedy.RUN_INDEX),
        RAGError("x", hint=RAGError("y", remedy=Remedy.RUN_INDEX).hint),
    ],
)
def test_an_error_keeps_it_on_its_way(error: RAGError) -> None:
    # The process that writes an index sends its errors to the one that waits for it.
    for same in (error, copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert same.remedy is Remedy.RUN_INDEX
        assert worded(same.hint) == "`rag index`"


def test_an_error_without_one_has_its_hint_alone() -> None:
    assert RAGError("x", hint="Try again.").remedy is None
    assert worded(RAGError("x", hint="Try again.").hint) == "Try again."
    assert RAGError("x").hint == ""


def test_a_message_keeps_it_when_it_is_part_of_another() -> None:
    message = with_hint("no vectors", RAGError("x", remedy=Remedy.MAKE_VECTORS).hint)
    for same in (message, copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert same == "no vectors"
        assert worded(same) == "no vectors. `rag index --embed` makes them."


def test_what_is_typed_is_quoted() -> None:
    hint = Message(remedy=Remedy.REMOVE_VAULT, subject="it's $HOME")
    assert worded(hint) == """`rag vault remove 'it'"'"'s $HOME'`"""


def test_a_folder_that_is_typed_is_quoted() -> None:
    hint = Message(remedy=Remedy.NAME_VAULT, subject="a'$(touch x)'b")
    assert shlex.split(worded(hint).partition("NAME ")[2].rstrip("`")) == ["a'$(touch x)'b"]


def test_braces_in_a_subject_stand_for_themselves() -> None:
    hint = Message(hint="{subject}?", remedy=Remedy.LIST_VAULTS, subject="{hint}")
    assert worded(hint) == "{subject}? `rag vault list` shows all."


def test_json_is_worded_wherever_a_text_stands() -> None:
    session = Session("s", Path("s.jsonl"), notices=["text", EMBED])
    said = "no vectors. `rag index --embed` makes them."
    [plain] = to_json(SessionsReport([session]))["sessions"]
    [found] = to_json(SessionsReport([session]), worded)["sessions"]
    assert (plain["notices"], found["notices"]) == (["text", "no vectors"], ["text", said])


def test_no_two_say_the_same_of_the_same_command() -> None:
    def essence(words: str) -> str:
        them = r"\b(them|it|the index|the vectors|all|all settings)\b"
        return re.sub(them, "…", words.casefold()).rstrip(".")

    said = [essence(words) for words in WORDS.values()]
    assert sorted(said) == sorted(set(said))
