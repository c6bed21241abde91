"""`rag search` with the query syntax: what is said of it, and how scores are explained."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from rag.config import RAGConfig
from rag.indexing.run import IndexRun

SAME = (
    "The harbour office keeps a ledger of every vessel that enters before sunrise, with the name"
    " of its captain, the weight of its cargo and the berth it was given. Copies go to customs,"
    " to the pilot station and to the archive on the hill, where they stay for eleven years."
)


class TestCorrections:
    def test_it_is_said_of_japanese_too(self, rag, write_notes):
        notes = write_notes(
            "jp", {"バックアップ.md": "# バックアップ\n\nバックアップを毎日とる。\n"}
        )
        assert rag("index", "-q", notes).code == 0
        said = 'searched for "バックアップ": no note holds "バックアプ"\n'
        assert rag("search", "バックアプ").err == said
        assert said in rag("ask", "バックアプ", "--no-model").err
        assert rag("search", "バックアプ", "--json").json["corrections"] == {
            "バックアプ": "バックアップ"
        }


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

    def test_conditions_of_the_query_and_of_the_options_both_hold(self, rag, library):
        query = "tag:ops"
        assert rag("search", query, "--json").json["total"] == 2
        found = rag("search", query, "--json", "--from", "2025-06").json["results"]
        assert [result["title"] for result in found] == ["Rolling back"]
        assert rag("search", query, "-t", "nowhere").code == 1

    def test_nothing_found_names_the_tags_near_one_in_the_query(self, rag, library):
        ran = rag("search", "backups tag:ops/bakcup")
        assert (ran.code, ran.out) == (1, "")
        assert "no note has the tag #ops/bakcup; near: #ops/backup" in ran.err

    @pytest.mark.parametrize("query", ["backups vault:wrok", "-vault:wrok backups"])
    def test_an_unknown_vault_gives_2_with_the_nearest(self, rag, library, query):
        ran = rag("search", "--", query)
        assert (ran.code, ran.out) == (2, "")
        assert "no vault named 'wrok'" in ran.err
        assert "Did you mean: work?" in ran.err

    @pytest.mark.parametrize("query", ['""', "“ ”", 'tag:""'])
    def test_a_query_with_nothing_in_it_gives_2(self, rag, library, query):
        for command in ("search", "ask"):
            ran = rag(command, query)
            assert (ran.code, ran.out) == (2, "")
            assert "the query is empty" in ran.err

    @pytest.mark.parametrize("command", ["search", "ask", "plan", "transform"])
    def test_what_does_not_count_is_said_on_stderr(self, rag, library, command):
        many = " ".join(f'"backups {number}"' for number in range(17))
        said = "only the first 16 phrases of the query count"
        assert said in rag(command, many).err.splitlines()
        assert said not in rag(command, many, "-q").err
        if command != "plan":
            assert said in rag(command, many, "--json").json["notices"]

    def test_behind_two_or_in_quotes_it_is_none(self, rag, library):
        for query in (
            ["--", "rolling", "backups", "-tag:ops/backup"],
            ["backups back -tag:backup"],
        ):
            assert rag("search", *query).code == 0
        found = rag("search", "--json", "--", "rolling", "backups", "-tag:ops/backup").json
        assert [result["title"] for result in found["results"]] == ["Rolling back"]

    def test_ask_understands_it(self, rag, library):
        question = "How long do we keep backups?"
        assert rag("ask", f"{question} tag:ops/backup").code == 0
        assert rag("ask", f"{question} -restore").code == 1
        assert rag("ask", f"{question} vault:wrok").code == 2


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


class TestDuplicates:
    @pytest.fixture(scope="class")
    @classmethod
    def shelf(cls, tmp_path_factory) -> Path:
        """Five copies of a note in two vaults; nobody may change them."""
        base = tmp_path_factory.mktemp("copies")
        with IndexRun(RAGConfig(data_dir=base / "data")) as run:
            for vault, names in {
                "work": ["a", "b", "c"],
                "home": ["d\x1b[31m", "e\x1b[31m"],
            }.items():
                (base / vault).mkdir()
                for name in names:
                    (base / vault / f"{name}.md").write_text(f"# Harbour\n\n{SAME}\n")
                run.index_vault(vault, base / vault)
            (base / "work" / "two.md").write_text("# Tides\n\nThe harbour at ebb.\n")
            run.index_vault("work", base / "work")
            run.publish()
        return base

    @pytest.fixture(autouse=True)
    def here(self, shelf, monkeypatch):
        monkeypatch.setenv("RAG_DATA_DIR", str(shelf / "data"))

    def test_the_first_two_are_named_and_the_others_counted(self, rag):
        ran = rag("search", "captain of a vessel")
        (line,) = [line for line in ran.out.splitlines() if "says the same" in line]
        assert re.fullmatch(r" +=? ?says the same as \w+/\S+, \w+/\S+ and 2 more", line)
        assert "\x1b" not in ran.out

    def test_names_are_printed_with_escapes_made_visible(self, rag):
        ran = rag("search", "captain of a vessel vault:home")
        assert "says the same as" in ran.out
        shown = set(re.findall(r"home/.*?md", ran.out))
        assert {r"home/d\x1b[31m.md", r"home/e\x1b[31m.md"} <= shown
        assert "\x1b" not in ran.out


EXAMPLES = re.compile(r"^ +(rag search .*)$", re.MULTILINE)


def test_the_examples_of_the_help_run(rag, tmp_path, monkeypatch):
    notes = {
        "work": {"runbooks/a.md": "# Deploy\n\nThe error budget; rolling back a deploy.\n"},
        "エンジニア": {"証明書.md": "# 証明書\n\n証明書の更新。\n"},
    }
    for vault, files in notes.items():
        for path, text in files.items():
            (tmp_path / vault / path).parent.mkdir(parents=True, exist_ok=True)
            head = "---\ntags: [runbook]\ncreated: 2025-07-01\nstatus: done\n---\n"
            tagged = f"{head}{text} Restore it.\n"
            (tmp_path / vault / path).write_text(tagged, "utf-8")
        assert rag("index", "-q", tmp_path / vault).code == 0
    examples = EXAMPLES.findall(rag("search", "--help").out)
    assert len(examples) >= 5
    for example in examples:
        ran = rag(*shlex.split(example.split("   ")[0])[1:])
        assert (ran.code, bool(ran.out)) == (0, True), example
        # It says what it understood, and what it left out.
        assert bool(ran.err) == ("--plan" in example or " -draft" in example), example
