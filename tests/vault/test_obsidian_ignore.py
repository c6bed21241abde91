"""What Obsidian excludes is left out: its filters, and the folders of templates."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from disk_files import write, write_all
from rag.vault import Scan, discovery, scan_folder
from tables import rows


@pytest.fixture
def vault(tmp_path) -> Path:
    return write_all(tmp_path / "v", dict.fromkeys(EVERYTHING, "x"))


EVERYTHING = ["Private/p.md", "Privateer.md", "Templates/t.md", "a.md", "深い/Private/q.md"]


def settle(vault: Path, held: Any, name: str = "app.json") -> None:
    write(vault / ".obsidian" / name, held if isinstance(held, str) else json.dumps(held))


def filters(vault: Path, *entries: Any) -> Scan:
    settle(vault, {"userIgnoreFilters": [*entries]})
    return scan_folder(str(vault))


def left(scan: Scan) -> list[str]:
    return [note.path for note in scan.notes]


def test_a_filter_is_the_beginning_of_a_path(vault):
    assert left(filters(vault, "Private/")) == EVERYTHING[1:]
    assert left(filters(vault, "Private")) == EVERYTHING[2:]


def test_a_filter_between_slashes_is_a_pattern_for_files(vault):
    assert left(filters(vault, "/(^|/)Private\\//")) == EVERYTHING[1:4]
    assert left(filters(vault, "/^(?!.*\\.md$)/")) == EVERYTHING


def test_filters_are_those_of_the_folder_that_obsidian_opens(vault):
    settle(vault / "深い", {"userIgnoreFilters": ["Private/"]})
    assert left(scan_folder(str(vault))) == EVERYTHING[:4]


@rows(
    "name, held",
    ("templates.json", {"folder": "Templates"}),
    ("templates.json", {"folder": "/Templates/"}),
    ("plugins/templater-obsidian/data.json", {"templates_folder": "Templates"}),
)
def test_the_folder_of_templates_is_left_out(vault, name, held):
    settle(vault, held, name)
    assert "Templates/t.md" not in left(scan_folder(str(vault)))


def test_a_ragignore_may_take_back_what_obsidian_excludes(vault):
    (vault / ".ragignore").write_text("!Private/\n")
    assert left(filters(vault, "Private/")) == EVERYTHING


def test_it_counts_for_nothing_when_that_is_wanted(vault):
    filters(vault, "Private/")
    assert left(scan_folder(str(vault), respect_obsidian=False)) == EVERYTHING


@rows(
    "held, why",
    ("{broken", "not JSON"),
    ("[" * 100_000, "not JSON"),
    ("[]", "not a table of settings"),
    ({"userIgnoreFilters": "Private/"}, "userIgnoreFilters: not a list"),
    ({"userIgnoreFilters": [7]}, "userIgnoreFilters: not a text: 7"),
    ({"userIgnoreFilters": ["/(/"]}, "userIgnoreFilters: not a pattern: ("),
    ({"userIgnoreFilters": ["/" + "x" * 501 + "/"]}, "userIgnoreFilters: too large"),
    ({"userIgnoreFilters": ["/((a{99}){99}){99}/"]}, "userIgnoreFilters: too large"),
    ({"userIgnoreFilters": [f"/{n}/" for n in range(40)]}, "only 30 patterns count"),
    ({"a": "x" * 1_000_000}, "larger than 1 MB: not read"),
)
def test_what_makes_no_sense_hides_nothing_and_is_told(vault, held, why):
    settle(vault, held)
    found = scan_folder(str(vault))
    assert (left(found), found.problems) == (EVERYTHING, {})
    assert why in found.notices[".obsidian/app.json"]


@pytest.mark.parametrize("pattern", ["/^(a|a)*$/", "/^(a|aa)+$/"])
def test_a_pattern_that_takes_too_long_is_stopped(vault, pattern, monkeypatch):
    monkeypatch.setattr(discovery, "_PATIENCE", 0.05)
    (vault / ("a" * 60 + "!.md")).write_text("x")
    found = filters(vault, pattern, "Private")
    assert "Private/p.md" not in left(found) and "a.md" in left(found)
    assert "take too long" in found.notices[".obsidian/app.json"]


def test_a_pattern_has_one_second_for_all_files_together(vault, monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock) * 0.4)
    found = filters(vault, "/nothing/")
    assert "take too long" in found.notices[".obsidian/app.json"]


def test_a_pipe_in_the_place_of_settings_is_not_waited_for(vault):
    (vault / ".obsidian").mkdir()
    os.mkfifo(vault / ".obsidian" / "app.json")
    assert left(scan_folder(str(vault))) == EVERYTHING
