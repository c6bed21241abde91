"""`rag search` with the query syntax: what is said of it, and how scores are explained."""

import re
import shlex

import pytest

from disk_files import write
from tables import rows


class TestSyntax:
    def test_a_query_that_begins_with_a_minus_goes_after_two(self, rag, library):
        ran = rag("search", "--json", "--", "-deploy")
        assert sorted(result["title"] for result in ran.json["results"]) == [
            "Backups",
            "証明書の更新",
        ]

    @pytest.mark.parametrize("name", ["tag", "vault", "path", "title"])
    @pytest.mark.parametrize("command", ["search", "ask"])
    def test_a_bare_condition_with_a_minus_is_refused(self, rag, library, command, name):
        ran = rag(command, "backups", f"-{name}:work")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == (
            f"rag: -{name}:work looks like an option\n"
            f"Put `--` before the query: `rag {command} -- words -{name}:work`.\n"
        )

    def test_nothing_found_names_the_tags_near_one_in_the_query(self, rag, library):
        ran = rag("search", "backups tag:ops/bakcup")
        assert (ran.code, ran.out) == (1, "")
        assert "no note has the tag #ops/bakcup; near: #ops/backup" in ran.err

    def test_nothing_found_names_the_path_that_no_note_has(self, rag, library):
        ran = rag("search", "backups", "--path", "./nowhere", "--path", "**")
        assert "no note has a path that matches" not in ran.err
        ran = rag("search", "backups", "--path", "nowhere/", "--path", "!attic/")
        assert (ran.code, ran.out) == (1, "")
        assert "no note has a path that matches 'nowhere/'" in ran.err
        ran = rag("ask", "--no-model", "backups?", "--path", "nowhere/")
        assert "no note has a path that matches 'nowhere/'" in ran.err

    def test_nothing_found_says_that_no_file_of_a_kind_is_indexed(self, rag, library):
        ran = rag("search", "backups", "--type", "pdf")
        assert (ran.code, "no pdf file is indexed" in ran.err) == (1, True)
        assert "attic" not in ran.err

    @rows("query", "backups vault:wrok", "-vault:wrok backups")
    def test_an_unknown_vault_gives_2_with_the_nearest(self, rag, library, query):
        ran = rag("search", "--", query)
        assert (ran.code, ran.out) == (2, "")
        assert "no vault named 'wrok'" in ran.err
        assert "Did you mean: work?" in ran.err

    @rows("query", '""', "“ ”", 'tag:""')
    def test_a_query_with_nothing_in_it_gives_2(self, rag, library, query):
        for command in ("search", "ask"):
            ran = rag(command, query)
            assert (ran.code, ran.out) == (2, "")
            assert "the query is empty" in ran.err

    @rows("command", "search", "ask", "plan", "transform")
    def test_what_does_not_count_is_said_on_stderr(self, rag, library, command):
        many = " ".join(f'"backups {number}"' for number in range(17))
        said = "only the first 16 phrases of the query count"
        assert said in rag(command, many).err.splitlines()
        assert said not in rag(command, many, "-q").err
        if command != "plan":
            assert said in rag(command, many, "--json").json["notices"]


class TestExplain:
    def lines(self, ran) -> list[str]:
        return [line.strip() for line in ran.out.splitlines()]

    def test_the_score_is_taken_apart_below_the_snippet(self, rag, library):
        lines = self.lines(rag("search", "rolling deploy script", "--explain"))
        total, fields, terms = lines[3:6]
        assert re.fullmatch(r"\d+\.\d\d = 1 × \d+\.\d\d \(line 5\)", total)
        assert re.fullmatch(r"of it (\w+ \d+\.\d\d(, )?)+", fields)
        assert terms.startswith("line 5: ")
        assert {term.partition("=")[0] for term in terms.split()[2:]} >= {"rolling", "deploy"}


EXAMPLES = re.compile(r"^ +(rag search .*)$", re.MULTILINE)


def test_the_examples_of_the_help_run(rag, tmp_path, monkeypatch):
    notes = {
        "work": {"runbooks/a.md": "# Deploy\n\nThe error budget; rolling back a deploy.\n"},
        "エンジニア": {"証明書.md": "# 証明書\n\n証明書の更新。\n"},
    }
    head = "---\ntags: [runbook]\ncreated: 2025-07-01\nstatus: done\n---\n"
    for vault, files in notes.items():
        for path, text in files.items():
            write(tmp_path / vault / path, f"{head}{text} Restore it.\n")
        assert rag("index", "-q", tmp_path / vault).code == 0
    examples = EXAMPLES.findall(rag("search", "--help").out)
    assert len(examples) >= 5
    for example in examples:
        ran = rag(*shlex.split(example.split("   ")[0])[1:])
        assert (ran.code, bool(ran.out)) == (0, True), example
        # It says what it understood, and what it left out.
        assert bool(ran.err) == ("--plan" in example or " -draft" in example), example
