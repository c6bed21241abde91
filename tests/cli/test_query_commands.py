"""`rag search`, `rag ask` and `rag get`: what is printed, and the exit codes."""

from __future__ import annotations

import io
import sys

import pytest


class TestSearch:
    def test_a_result_shows_title_score_place_and_snippet(self, rag, library):
        ran = rag("search", "rolling back a deploy")
        lines = ran.out.splitlines()
        assert ran.code == 0
        assert lines[0].split("  ")[:2] == [" 1", "Rolling back"]
        assert lines[1].strip() == "work/runbooks/Rollback.md:7"
        assert lines[2].strip() == "Rolling back a deploy takes two minutes."

    def test_the_heading_path_stands_beside_the_place(self, rag, library):
        assert "work/Backups.md:12 › Restore" in rag("search", "restore script").out

    def test_the_place_names_the_line_that_matches(self, rag, library):
        result = rag("search", "ninety days", "--json").json["results"][0]
        assert (result["line_start"], result["line"]) == (6, 8)
        assert "work/Backups.md:8" in rag("search", "ninety days").out
        assert "work/Backups.md:8" in rag("search", "ninety days", "--format", "table").out

    def test_a_snippet_is_read_without_the_marks_of_markdown(self, rag, write_notes):
        text = (
            "# Ports\n\n> [!tip] Where\n> - [ ] look **here**\n\n<!-- not yet -->\n"
            "| name | port |\n|---|---|\n| redis | 6379 |\n| quokka | 8080 |\n\n"
            "```sh\nnc -z quokka 8080\n```\n"
        )
        rag("index", "-q", write_notes("ports", {"Ports.md": text}))
        shown = rag("search", "quokka port").out.splitlines()
        assert shown[1].strip() == "ports/Ports.md:10"
        assert shown[2].strip() == (
            "Where · look here · name, port · name: redis, port: 6379 · name: quokka, port: 8080"
            " · nc -z quokka 8080"
        )

    def test_paths_prints_one_file_a_line(self, rag, library):
        ran = rag("search", "rolling back backups", "--paths")
        assert sorted(ran.out.splitlines()) == [
            str(library / "Backups.md"),
            str(library / "runbooks/Rollback.md"),
        ]

    def test_paths_names_a_file_once_though_several_chunks_match(self, rag, library):
        ran = rag("search", "backups restore", "--paths", "--chunks")
        assert ran.out == f"{library / 'Backups.md'}\n"

    def test_a_table_has_a_row_for_each_note(self, rag, library):
        lines = rag("search", "rolling back backups", "--format", "table").out.splitlines()
        assert lines[0].split() == ["#", "score", "title", "where"]
        assert len(lines) == 3

    def test_japanese_words_find_a_japanese_note(self, rag, library):
        assert "work/証明書.md:4" in rag("search", "証明書の更新").out

    def test_nothing_found_gives_1_and_stdout_stays_empty(self, rag, library):
        ran = rag("search", "xylophone")
        assert (ran.code, ran.out) == (1, "")
        assert "nothing found" in ran.err

    @pytest.mark.parametrize(
        ("options", "found"),
        [
            (["--from", "2025-06"], ["Rolling back"]),
            (["--to", "2025-03-01"], ["Backups"]),
            (["--from", "2025", "--to", "2025"], ["Backups", "Rolling back"]),
            (["-t", "ops"], ["Backups", "Rolling back"]),
            (["-t", "ops", "-t", "ops/backup"], ["Backups"]),
            (["--path", "runbooks/**"], ["Rolling back"]),
            (["-v", "work"], ["Backups", "Rolling back"]),
        ],
        ids=lambda value: " ".join(value),
    )
    def test_filters(self, rag, library, options, found):
        results = rag("search", "rolling back backups", "--json", *options).json["results"]
        assert sorted(result["title"] for result in results) == found

    @pytest.mark.parametrize(
        "options",
        [
            ["--from", "yonder"],
            ["--from", "2025-02", "--to", "2025-01"],
            ["--mode", "psychic"],
            ["-k", "0"],
            ["--path", "x\\"],
        ],
        ids=lambda value: " ".join(value),
    )
    def test_options_that_cannot_be_meant_give_2(self, rag, library, options):
        assert rag("search", "backups", *options).code == 2


class TestFreshness:
    def test_changed_notes_are_told_on_one_line_of_stderr(self, rag, indexed):
        (indexed / "new.md").write_text("new")
        (indexed / "Backups.md").write_text("changed")
        ran = rag("search", "rolling back")
        assert ran.err == "2 notes changed since the last index (`rag index`)\n"
        assert "changed" not in ran.out

    def test_json_says_that_the_index_is_stale(self, rag, indexed):
        (indexed / "Backups.md").unlink()
        index = rag("search", "rolling back", "--json").json["index"]
        assert (index["stale"], index["changed"]) == (True, 1)

    def test_ask_says_so_too(self, rag, indexed):
        (indexed / "new.md").write_text("new")
        ran = rag("ask", "How long do we keep backups?", "--json")
        assert ran.json["index"]["stale"] is True
        assert "1 note changed since" in ran.err

    def test_quiet_keeps_silent_about_it(self, rag, indexed):
        (indexed / "new.md").write_text("new")
        assert rag("search", "rolling back", "-q").err == ""

    def test_a_setting_turns_the_check_off(self, rag, indexed, monkeypatch):
        monkeypatch.setenv("RAG_SEARCH__FRESHNESS", "false")
        (indexed / "new.md").write_text("new")
        ran = rag("search", "rolling back", "--json")
        assert (ran.err, ran.json["index"]["stale"]) == ("", None)

    @pytest.mark.inside
    def test_where_a_look_would_take_too_long_it_is_not_begun(self, rag, indexed, monkeypatch):
        monkeypatch.setattr("rag.indexing.changes._PER_NOTE", 1.0)
        monkeypatch.setattr("rag.indexing.changes.scan_folder", lambda *_: pytest.fail("begun"))
        (indexed / "new.md").write_text("new")
        ran = rag("search", "rolling back", "--json")
        assert (ran.err, ran.json["index"]["stale"]) == ("", None)

    def test_an_unmounted_vault_is_not_called_stale(self, rag, indexed):
        indexed.rename(indexed.with_name("away"))
        assert rag("search", "rolling back").err == ""


class TestAsk:
    QUESTION = "How long do we keep backups?"

    def test_the_sentence_stands_on_stdout_with_its_source_and_line(self, rag, library):
        ran = rag("ask", self.QUESTION)
        assert ran.code == 0
        assert "  We keep backups for ninety days. [1]\n" in ran.out
        assert "[1] Backups  work/Backups.md:8" in ran.out

    def test_it_says_plainly_that_no_model_wrote_it(self, rag, library):
        assert "No model wrote this" in rag("ask", self.QUESTION).err

    def test_no_sources_leaves_the_list_out(self, rag, library):
        ran = rag("ask", self.QUESTION, "--no-sources")
        assert "ninety days. [1]" in ran.out
        assert "work/Backups.md" not in ran.out

    def test_quiet_prints_the_answer_alone(self, rag, library):
        assert rag("ask", self.QUESTION, "-q").err == ""

    def test_paths_prints_the_files_of_the_sources(self, rag, library):
        assert str(library / "Backups.md") in rag("ask", self.QUESTION, "--paths").out.split("\n")

    def test_a_dash_reads_the_question_from_stdin(self, rag, library, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.StringIO(self.QUESTION + "\n"))
        assert rag("ask", "-", "--json").json["question"] == self.QUESTION

    @pytest.mark.parametrize("command", ["ask", "plan", "transform"])
    def test_stdin_is_read_no_further_than_a_query_may_go(self, rag, library, monkeypatch, command):
        stdin = io.StringIO("x " * 1_000_000)
        monkeypatch.setattr(sys, "stdin", stdin)
        ran = rag(command, "-")
        assert (ran.code, ran.out) == (2, "")
        assert "characters, more than 4,000" in ran.err
        assert stdin.tell() <= 100_000

    def test_a_dash_without_stdin_is_an_empty_question(self, rag, library, monkeypatch):
        monkeypatch.setattr(sys, "stdin", None)
        assert rag("ask", "-").code == 2

    def test_no_answer_gives_1_and_says_so(self, rag, library):
        ran = rag("ask", "What is the capital of Mongolia?")
        assert (ran.code, ran.out) == (1, "not found in your notes\n")


class TestGet:
    def test_a_note_is_printed_as_it_stands_in_the_file(self, rag, library):
        ran = rag("get", "Safety copies")
        assert (ran.code, ran.out) == (0, (library / "Backups.md").read_text())

    def test_lines_may_be_picked(self, rag, library):
        assert rag("get", "Backups:6-8").out == "# Backups\n\nWe keep backups for ninety days.\n"

    def test_one_number_picks_all_from_that_line_on(self, rag, library):
        assert rag("get", "work/Backups.md:12").out == "Run the restore script.\n"

    def test_paths_prints_where_it_is(self, rag, library):
        assert rag("get", "証明書", "--paths").out == f"{library / '証明書.md'}\n"

    def test_json_goes_before_paths(self, rag, library):
        found = rag("get", "証明書", "--paths", "--json").json
        assert found["file"] == str(library / "証明書.md")

    def test_a_miss_gives_1_with_suggestions(self, rag, library):
        ran = rag("get", "Bakups")
        assert (ran.code, ran.out) == (1, "")
        assert "  work/Backups.md\n" in ran.err
