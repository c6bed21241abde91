"""What all commands share: errors, hints, JSON errors, settings."""

import json
import os
import sqlite3
import sys
import tomllib

import pytest
from rich.cells import cell_len

from rag.cli.framework.lazy_group import COMMANDS as ALL
from rag.cli.framework.lazy_group import load_command
from rag.cli.render.console import print_error
from rag.exceptions import UsageError
from tables import rows

COMMANDS = ["index", "search", "ask", "get", "status", "eval", "config", "vault"]


@rows(
    "arguments",
    *(["search", "x", "--bogus"], ["bogus"], ["search"], ["get"], ["ask"]),
    *(["search", "x", "-k", "many"], ["vault", "bogus"], ["index", "--name"]),
)
def test_usage_errors_give_2_and_a_hint_on_stderr(rag, arguments):
    ran = rag(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("rag: ")
    assert "--help`" in ran.err


@rows(
    "typed, told",
    [
        ("search x --full --context 0", "--full and --context"),
        ("related x --all-vaults --vault work", "--all-vaults and --vault"),
        ("index --dry-run --no-embed", "--dry-run and --no-embed"),
        ("index --to-server --prune", "--to-server and --prune"),
        ("service install --watch --http", "--watch and --http"),
        ("service install --http --every 2h", "--http and --every"),
        ("serve --http --socket s --port 0", "--socket and --port"),
        ("trust --list --remove", "--list and --remove"),
    ],
)
def test_options_that_exclude_each_other_are_named(rag, typed, told):
    ran = rag(*typed.split())
    assert ran.code == 2 and f"{told} exclude each other" in ran.err


@rows(
    "typed, code, told",
    ("search --from 2031", 1, "no note fits the filters"),
    ("search path:*\\", 1, "nothing found for"),
    ("search backups --path *\\", 2, "not a path pattern"),
    ("search ?!", 1, "nothing found for"),
    (f"search {'x' * 4001}", 2, "has 4,001 characters, more than 4,000"),
    (f"ask {'x' * 4001}", 2, "has 4,001 characters, more than 4,000"),
    ("search backups -v WORK", 2, "Did you mean: work?"),
    ("tags zebra", 1, "no tag or property 'zebra'"),
    ("index ", 2, "FOLDERS is empty"),
    ("vault add ", 2, "FOLDER is empty"),
    ("vault rename work ", 2, "'' cannot name a vault"),
    ("serve --http --host ", 2, "--host is empty"),
    ("--config x.toml status", 2, "options go behind the command"),
    ("config serch.top_k", 2, "Did you mean 'search.top_k'?"),
    ("get daily/2031-*", 1, ""),
    (f"get Backups:{'9' * 5000}", 1, ""),
    ("chat --continue --session x", 2, ""),
    ("audit --since whenever", 2, ""),
    ("audit zzz", 1, "no record 'zzz'"),
    ("audit --replay zzz", 1, "no record 'zzz'"),
    ("index --to-server", 2, "no server is configured"),
    ("related Backups --links in --depth 9999", 2, ""),
    ("vault rename work", 2, ""),
)
def test_exit_codes_tell_what_was_not_found_from_what_cannot_be_meant(
    rag, library, typed, code, told
):
    ran = rag(*typed.split(" "))
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err


@rows(
    "typed, allowed, ask",
    ("search x -n 0", "--top-k takes a whole number from 1 to 10,000, not '0'", "`--top-k 1`"),
    ("search x -k 99999", "a whole number from 1 to 10,000, not '99999'", "`--top-k 10000`"),
    ("search x --context -1", "--context takes a whole number from 0 to 1,000", "`--context 0`"),
    ("search x --context 1.5", "a whole number from 0 to 1,000, not '1.5'", "in digits"),
    ("search x --open 0", "--open takes a whole number, 1 or more, not '0'", "`--open 1`"),
    ("related x --min-score 2", "--min-score takes a number from 0 to 1", "`--min-score 1`"),
    ("related x --min-score nan", "a number from 0 to 1, not 'nan'", "`--min-score 0`"),
    ("serve --http --port x", "--port takes a whole number from 0 to 65,535", "in digits"),
)
def test_a_number_that_an_option_does_not_take_is_told_with_those_it_takes(
    rag, typed, allowed, ask
):
    ran = rag(*typed.split())
    assert (ran.code, ran.out) == (2, "")
    message, hint = ran.err.splitlines()
    assert allowed in message and ask in hint


@rows("flag", "--json", "--format json", "--format=json", "--format=jsonl")
def test_with_json_they_are_one_object_on_stdout(rag, flag):
    ran = rag("search", "x", "--bogus", *flag.split())
    assert (ran.code, ran.err) == (2, "")
    assert set(ran.json["error"]) == {"kind", "message", "hint"}
    assert "--help" in ran.json["error"]["hint"]


@rows("word, ours", ("find", "search"), ("show", "get"), ("update", "index"), ("serch", "search"))
def test_what_is_no_command_names_the_one_that_does_it(rag, word, ours):
    ran = rag(word, "x")
    assert (ran.code, ran.out) == (2, "")
    hint = f"Did you mean `rag {ours}`? `rag --help` lists all."
    assert ran.err == f"rag: there is no command {word!r}\n{hint}\n"


@rows(
    "arguments",
    ["search", "\udcff"],
    ["search", "x", "--tag", "\udcff"],
    ["search", "x", "--tag=a\udcff"],
)
def test_bytes_that_are_no_text_are_named(rag, arguments):
    ran = rag(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert r"\xff' is not UTF-8" in ran.err


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all names are Unicode")
def test_a_file_that_is_there_is_left_to_its_command(rag, tmp_path):
    folder = tmp_path / os.fsdecode(b"notes\xff")
    folder.mkdir()
    assert "Rename the folder." in rag("index", str(folder)).err


@rows("name", "", *ALL)
def test_no_example_of_a_help_is_wider_than_a_terminal(rag, name):
    command = load_command(name) if name else None
    groups = [[name, inner] for inner in getattr(command, "commands", {})] or [[name]]
    for words in groups:
        out = rag(*filter(None, words), "--help").out
        examples = [line for line in out.splitlines() if line.startswith("  rag ")]
        assert [line for line in examples if cell_len(line) > 80] == []


def test_help_is_as_wide_as_a_narrow_terminal_and_cuts_nothing(rag, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    for words in ((), ("vault",)):
        out = rag(*words, "--help").out
        prose = [line for line in out.splitlines() if not line.startswith("  rag ")]
        assert max(map(cell_len, prose)) <= 40
        assert "..." not in out.partition("Commands:")[2]


@rows("arguments", [], ["vault"])
def test_a_command_that_is_no_whole_one_shows_its_help_and_gives_2(rag, arguments):
    ran = rag(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: ")


class TestConfig:
    def test_it_shows_each_value_and_where_it_came_from(self, rag, monkeypatch):
        monkeypatch.setenv("RAG_SEARCH__TOP_K", "7")
        ran = rag("config")
        assert ran.code == 0
        line = next(line for line in ran.out.splitlines() if line.startswith("search.top_k"))
        assert line.split() == ["search.top_k", "7", "(environment)"]

        assert rag("config", "search.top_k").out == "search.top_k  7  (environment)\n"

    def test_defaults_are_a_toml_file_that_sets_nothing(self, rag, tmp_path):
        text = rag("config", "--defaults").out
        assert {k: v for k, v in tomllib.loads(text).items() if v} == {}
        (tmp_path / "rag.toml").write_text(text)
        assert rag("config", "--config", tmp_path / "rag.toml").code == 0


@rows("error", sqlite3.DatabaseError("malformed"), json.JSONDecodeError("no value", "", 0))
def test_files_of_the_index_that_are_damaged_are_told_of(rag, monkeypatch, error):
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("rag.cli.app.program", lambda: fail)
    ran = rag("status")
    assert ran.code == 3
    assert ran.err.startswith("rag: the index is damaged (")
    assert "rag index --rebuild" in ran.err


def test_a_message_does_not_steer_the_terminal(capsys):
    print_error(UsageError("no \x1b]0;pwn\x07note", hint="\x1b[2Jtry again"), as_json=False)
    assert capsys.readouterr().err == "rag: no \\x1b]0;pwn\\x07note\n\\x1b[2Jtry again\n"
