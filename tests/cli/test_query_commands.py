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

    def test_json_follows_the_schema(self, rag, library):
        ran = rag("search", "restore script", "--json")
        found = ran.json
        assert set(found) == {
            "schema",
            "query",
            "mode",
            "notices",
            "corrections",
            "missing",
            "results",
            "total",
            "elapsed_ms",
            "index",
        }
        assert (found["schema"], found["query"], found["mode"], found["total"]) == (
            1,
            "restore script",
            "lexical",
            1,
        )
        (result,) = found["results"]
        assert 0 < result.pop("score") < 1
        assert result.pop("scores")["lexical"] > 0
        assert result == {
            "rank": 1,
            "vault": "work",
            "path": "Backups.md",
            "title": "Backups",
            "heading": ["Backups", "Restore"],
            "line": 12,
            "line_start": 10,
            "line_end": 12,
            "tags": ["ops/backup", "ops"],
            "created": "2025-03-01",
            "content": "## Restore\n\nRun the restore script.",
            "duplicates": [],
        }
        assert found["corrections"] == {}
        index = found["index"]
        assert set(index) == {"notes", "chunks", "indexed_at", "stale", "changed"}
        assert (index["notes"], index["chunks"], index["stale"]) == (3, 4, False)
        assert (ran.out.count("\n"), ran.err) == (1, "")

    def test_format_json_is_the_same_as_json(self, rag, library):
        one = rag("search", "restore", "--json").json
        other = rag("search", "restore", "--format", "json").json
        del one["elapsed_ms"], other["elapsed_ms"]
        assert one == other

    def test_an_unknown_format_is_a_usage_error(self, rag, library):
        assert rag("search", "restore", "--format", "yaml").code == 2

    def test_paths_prints_one_file_a_line(self, rag, library):
        ran = rag("search", "rolling back backups", "--paths")
        assert sorted(ran.out.splitlines()) == [
            str(library / "Backups.md"),
            str(library / "runbooks/Rollback.md"),
        ]

    def test_paths_names_a_file_once_though_several_chunks_match(self, rag, library):
        ran = rag("search", "backups restore", "--paths", "--chunks")
        assert ran.out == f"{library / 'Backups.md'}\n"

    def test_chunks_lists_each_of_them(self, rag, library):
        found = rag("search", "backups", "--chunks", "--json").json["results"]
        assert [result["line_start"] for result in found] == [6, 10]

    def test_a_table_has_a_row_for_each_note(self, rag, library):
        lines = rag("search", "rolling back backups", "--format", "table").out.splitlines()
        assert lines[0].split() == ["#", "score", "title", "where"]
        assert len(lines) == 3

    def test_top_k_limits_the_results(self, rag, library):
        assert rag("search", "rolling back backups", "-k", "1", "--json").json["total"] == 1

    def test_japanese_words_find_a_japanese_note(self, rag, library):
        assert "work/証明書.md:4" in rag("search", "証明書の更新").out

    def test_nothing_found_gives_1_and_stdout_stays_empty(self, rag, library):
        ran = rag("search", "xylophone")
        assert (ran.code, ran.out) == (1, "")
        assert "nothing found" in ran.err

    def test_nothing_found_as_json_is_an_empty_list(self, rag, library):
        ran = rag("search", "xylophone", "--json")
        assert (ran.code, ran.json["results"], ran.json["total"]) == (1, [], 0)

    def test_an_unknown_vault_gives_2_with_the_nearest(self, rag, library):
        ran = rag("search", "backups", "-v", "wrok")
        assert (ran.code, ran.out) == (2, "")
        assert "Did you mean: work?" in ran.err

    def test_an_unknown_tag_gives_1_with_the_nearest(self, rag, library):
        ran = rag("search", "backups", "-t", "ops/bakcup")
        assert (ran.code, ran.out) == (1, "")
        assert "no note has the tag #ops/bakcup; near: #ops/backup" in ran.err

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

    def test_an_empty_query_gives_2(self, rag, library):
        assert rag("search", " ").code == 2

    @pytest.mark.parametrize("mode", ["dense", "hybrid"])
    def test_a_mode_that_needs_embeddings_gives_3(self, rag, library, mode):
        assert rag("search", "backups", "--mode", mode).code == 3

    def test_without_an_index_it_gives_3_and_the_command_that_makes_one(self, rag):
        ran = rag("search", "backups")
        assert (ran.code, ran.out) == (3, "")
        assert "rag index FOLDER" in ran.err


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

    def test_json_follows_the_schema(self, rag, library):
        found = rag("ask", self.QUESTION, "--json").json
        assert set(found) == {
            "schema",
            "question",
            "answer",
            "found",
            "model",
            "confidence",
            "quotes",
            "sources",
            "corrections",
            "notices",
            "elapsed_ms",
            "index",
        }
        assert (found["schema"], found["found"], found["model"]) == (1, True, None)
        assert found["quotes"][0] == {
            "text": "We keep backups for ninety days.",
            "source": 1,
            "line": 8,
        }
        assert (found["sources"][0]["number"], found["sources"][0]["path"]) == (1, "Backups.md")

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

    def test_no_answer_as_json(self, rag, library):
        ran = rag("ask", "What is the capital of Mongolia?", "--json")
        assert (ran.code, ran.json["found"], ran.json["sources"]) == (1, False, [])

    def test_an_unknown_tag_names_the_nearest(self, rag, library):
        ran = rag("ask", self.QUESTION, "-t", "opps")
        assert ran.code == 1
        assert "near: #ops" in ran.err

    def test_an_empty_question_gives_2(self, rag, library):
        assert rag("ask", "").code == 2

    def test_without_an_index_it_gives_3(self, rag):
        assert rag("ask", self.QUESTION).code == 3


class TestGet:
    def test_a_note_is_printed_as_it_stands_in_the_file(self, rag, library):
        ran = rag("get", "Safety copies")
        assert (ran.code, ran.out) == (0, (library / "Backups.md").read_text())

    def test_lines_may_be_picked(self, rag, library):
        assert rag("get", "Backups:6-8").out == "# Backups\n\nWe keep backups for ninety days.\n"

    def test_one_number_picks_all_from_that_line_on(self, rag, library):
        assert rag("get", "work/Backups.md:12").out == "Run the restore script.\n"

    @pytest.mark.parametrize("span", ["0-2", "4-2", "999"])
    def test_lines_that_are_no_span_give_2(self, rag, library, span):
        assert rag("get", f"Backups:{span}").code == 2

    def test_paths_prints_where_it_is(self, rag, library):
        assert rag("get", "証明書", "--paths").out == f"{library / '証明書.md'}\n"

    def test_json_goes_before_paths(self, rag, library):
        found = rag("get", "証明書", "--paths", "--json").json
        assert found["file"] == str(library / "証明書.md")

    def test_json_has_all_that_is_known(self, rag, library):
        found = rag("get", "Backups:6-8", "--json").json
        assert set(found) == {
            "schema",
            "id",
            "vault",
            "path",
            "file",
            "title",
            "aliases",
            "tags",
            "created",
            "modified",
            "links",
            "backlinks",
            "problems",
            "line_start",
            "line_end",
            "content",
            "notice",
        }
        assert (found["schema"], found["vault"], found["path"]) == (1, "work", "Backups.md")
        assert (found["line_start"], found["line_end"]) == (6, 8)
        assert found["content"] == "# Backups\n\nWe keep backups for ninety days."
        assert found["aliases"] == ["Safety copies"]

    def test_a_miss_gives_1_with_suggestions(self, rag, library):
        ran = rag("get", "Bakups")
        assert (ran.code, ran.out) == (1, "")
        assert "  work/Backups.md\n" in ran.err

    def test_a_miss_as_json_has_them_too(self, rag, library):
        ran = rag("get", "Bakups", "--json")
        assert ran.code == 1
        assert ran.json["error"]["kind"] == "not_found"
        assert ran.json["error"]["suggestions"] == ["work/Backups.md"]

    def test_a_note_whose_file_is_gone_gives_1(self, rag, indexed):
        (indexed / "Backups.md").unlink()
        ran = rag("get", "Backups")
        assert ran.code == 1
        assert "rag index" in ran.err

    def test_an_empty_name_gives_2(self, rag, library):
        assert rag("get", " ").code == 2
