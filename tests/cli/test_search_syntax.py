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
    def test_it_says_on_stderr_what_it_searched_for(self, rag, library):
        ran = rag("search", "bakcups")
        assert ran.code == 0
        assert ran.err == 'searched for "backups": no note holds "bakcups"\n'
        assert "Backups" in ran.out
        assert "searched for" not in ran.out

    def test_each_word_has_a_line_of_its_own(self, rag, library):
        err = rag("search", "bakcups of the depoly").err
        assert err.splitlines() == [
            'searched for "backups": no note holds "bakcups"',
            'searched for "deploy": no note holds "depoly"',
        ]

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

    def test_quiet_silences_it(self, rag, library):
        ran = rag("search", "bakcups", "-q")
        assert (ran.code, ran.err) == (0, "")
        assert rag("search", "bakcups", "-q", "--json").json["corrections"] != {}

    def test_the_snippet_shows_the_word_that_was_meant(self, rag, write_notes):
        text = f"{'Nothing of note here. ' * 20}The lighthouse blinks. {'And more. ' * 20}"
        assert rag("index", "-q", write_notes("coast", {"a.md": f"# A\n\n{text}\n"})).code == 0
        assert "The lighthouse blinks" in rag("search", "lighthuose").out
        assert "The lighthouse blinks" in rag("search", "light*").out

    def test_ask_says_it_too(self, rag, library):
        ran = rag("ask", "How long do we keep bakcups?")
        assert "ninety days" in ran.out
        assert 'searched for "backups": no note holds "bakcups"' in ran.err
        assert rag("ask", "How long do we keep bakcups?", "-q").err == ""


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

    def test_behind_two_or_in_quotes_it_is_none(self, rag, library):
        for query in (
            ["--", "rolling", "backups", "-tag:ops/backup"],
            ["backups back -tag:backup"],
        ):
            assert rag("search", *query).code == 0
        found = rag("search", "--json", "--", "rolling", "backups", "-tag:ops/backup").json
        assert [result["title"] for result in found["results"]] == ["Rolling back"]

    def test_short_options_are_as_ever(self, rag, library):
        found = rag("search", "backups back", "-tops/backup", "--json").json["results"]
        assert [result["title"] for result in found] == ["Backups"]

    def test_words_need_no_quotes(self, rag, library):
        one = rag("search", "rolling back a deploy", "--json").json
        several = rag("search", "rolling", "back", "--json", "a", "deploy").json
        assert several["query"] == "rolling back a deploy"
        assert several["results"] == one["results"]
        assert rag("search", "--json", "--", "backups", "-deploy").json["total"] == 1
        assert rag("ask", "How", "long", "do", "we", "keep", "backups?").code == 0

    def test_conditions_of_the_query_and_of_the_options_both_hold(self, rag, library):
        query = "tag:ops"
        assert rag("search", query, "--json").json["total"] == 2
        found = rag("search", query, "--json", "--from", "2025-06").json["results"]
        assert [result["title"] for result in found] == ["Rolling back"]
        assert rag("search", query, "-t", "nowhere").code == 1

    def test_conditions_alone_list_notes_the_newest_first(self, rag, library):
        found = rag("search", "vault:work", "--json").json["results"]
        assert [result["title"] for result in found] == ["Rolling back", "Backups", "証明書の更新"]
        ran = rag("search", "path:runbooks", "--paths")
        assert ran.out == f"{library / 'runbooks/Rollback.md'}\n"

    def test_nothing_found_names_the_tags_near_one_in_the_query(self, rag, library):
        ran = rag("search", "backups tag:ops/bakcup")
        assert (ran.code, ran.out) == (1, "")
        assert "no note has the tag #ops/bakcup; near: #ops/backup" in ran.err

    def test_an_excluded_tag_that_no_note_has_is_no_matter(self, rag, library):
        ran = rag("search", "backups -tag:nowhere")
        assert (ran.code, ran.err) == (0, "")

    @pytest.mark.parametrize("query", ["backups vault:wrok", "-vault:wrok backups"])
    def test_an_unknown_vault_gives_2_with_the_nearest(self, rag, library, query):
        ran = rag("search", "--", query)
        assert (ran.code, ran.out) == (2, "")
        assert "no vault named 'wrok'" in ran.err
        assert "Did you mean: work?" in ran.err

    def test_a_path_that_is_no_pattern_is_a_fragment_but_not_among_the_options(self, rag, library):
        ran = rag("search", "path:*\\")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == "nothing found for 'path:*\\\\'\n"
        ran = rag("search", "backups", "--path", "*\\")
        assert (ran.code, ran.out) == (2, "")
        assert "not a path pattern" in ran.err

    @pytest.mark.parametrize("query", ['""', "“ ”", 'tag:""'])
    def test_a_query_with_nothing_in_it_gives_2(self, rag, library, query):
        for command in ("search", "ask"):
            ran = rag(command, query)
            assert (ran.code, ran.out) == (2, "")
            assert "the query is empty" in ran.err

    @pytest.mark.parametrize("command", ["search", "ask"])
    def test_a_query_that_is_too_long_gives_2(self, rag, library, command):
        ran = rag(command, "backups ".ljust(4001, "x"))
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == (
            "rag: the query has 4,001 characters, more than 4,000\nSay it in fewer words.\n"
        )

    @pytest.mark.parametrize("command", ["search", "ask", "plan", "transform"])
    def test_what_does_not_count_is_said_on_stderr(self, rag, library, command):
        many = " ".join(f'"backups {number}"' for number in range(17))
        said = "only the first 16 phrases of the query count"
        assert said in rag(command, many).err.splitlines()
        assert said not in rag(command, many, "-q").err
        if command != "plan":
            assert said in rag(command, many, "--json").json["notices"]

    def test_nothing_found_names_the_beginning_of_a_long_query(self, rag, library):
        assert rag("search", "x" * 80).err.endswith(f"nothing found for '{'x' * 80}'\n")
        ran = rag("search", "x" * 81)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.endswith(f"nothing found for '{'x' * 79}…'\n")

    def test_text_without_words_finds_nothing_and_with_filters_it_lists(self, rag, library):
        assert rag("search", "?!").code == 1
        found = rag("search", "?!", "-t", "ops", "--json").json["results"]
        assert [result["title"] for result in found] == ["Rolling back", "Backups"]

    def test_ask_names_the_tags_near_one_in_the_question(self, rag, library):
        ran = rag("ask", "What is kept? tag:ops/bakcup")
        assert (ran.code, ran.out) == (1, "not found in your notes\n")
        assert ran.err == "no note has the tag #ops/bakcup; near: #ops/backup\n"
        both = rag("ask", "What is kept? tag:nowhere", "-t", "opps").err
        assert "no note has the tag #nowhere\n" in both
        assert "no note has the tag #opps; near: #ops" in both
        assert "no note has" not in rag("ask", "What is kept? -tag:opps").err

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

    def test_every_part_of_a_note_has_its_line(self, rag, library):
        text = rag("search", "keep restore", "--explain").out
        assert re.search(r"= 1 × \d+\.\d\d \(line \d+\) \+ 0\.3 × \d+\.\d\d \(line \d+\)", text)
        assert "line 6: " in text
        assert "line 10: " in text

    def test_a_bonus_for_the_name_is_told(self, rag, library):
        out = rag("search", "safety copies", "--explain").out
        assert re.search(r"= \d+\.\d\d \(called so\) \+ 1 × ", out)
        assert "called so" not in rag("search", "keep", "--explain").out

    def test_numbers_add_up_as_printed(self, rag, library):
        out = rag("search", "backups restore script", "--explain").out
        (line,) = re.findall(r"^ +(\d.* = .*)$", out, re.MULTILINE)
        total, _, parts = line.partition(" = ")
        values = re.findall(r"(?:([\d.]+) × )?([\d.]+) \(", parts)
        added = sum(float(weight or 1) * float(score) for weight, score in values)
        assert float(total) == pytest.approx(added, abs=0.02)

    def test_it_goes_with_japanese_chunks_and_listings(self, rag, library):
        assert "証明=" in rag("search", "証明書の更新", "--explain", "--chunks").out
        assert rag("search", "tag:ops", "--explain").code == 0

    def test_a_listing_has_nothing_to_explain(self, rag, library):
        ran = rag("search", "tag:ops", "--explain")
        assert (ran.code, ran.out) == (0, rag("search", "tag:ops").out)
        for result in rag("search", "tag:ops", "--explain", "--json").json["results"]:
            assert result["explanation"] == {"total": 0, "bonus": 0, "fields": {}, "chunks": []}


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

    def test_fewer_are_all_named(self, rag):
        out = rag("search", "captain of a vessel -vault:home path:work/ -path:c.md").out
        assert re.search(r"= says the same as work/[ab]\.md\n", out)

    def test_names_are_printed_with_escapes_made_visible(self, rag):
        ran = rag("search", "captain of a vessel vault:home")
        assert "says the same as" in ran.out
        shown = set(re.findall(r"home/.*?md", ran.out))
        assert {r"home/d\x1b[31m.md", r"home/e\x1b[31m.md"} <= shown
        assert "\x1b" not in ran.out

    def test_json_lists_them_all(self, rag):
        (result,) = rag("search", "captain of a vessel", "--json").json["results"]
        places = {f"{result['vault']}/{result['path']}", *result["duplicates"]}
        assert len(places) == 5
        assert {"work/a.md", "work/b.md", "work/c.md"} < places


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
        if "--like" in example:  # which takes vectors
            continue
        ran = rag(*shlex.split(example.split("   ")[0])[1:])
        assert (ran.code, bool(ran.out)) == (0, True), example
        # It says what it understood, and what it left out.
        assert bool(ran.err) == ("--plan" in example or " -draft" in example), example
