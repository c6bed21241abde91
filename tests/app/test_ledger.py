"""Which files of a vault are indexed, which are not, and why: the numbers add up to those there."""

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from disk_files import write_all
from document_files import fpdf_pdf, raw_pdf
from property_examples import examples
from rag.app.status import StatusReport, VaultFiles, count_files, read_status
from rag.config import IndexConfig
from rag.index.manifest import Manifest
from rag.vault import scan_folder

Files = Mapping[str, bytes]
NOTE = b"# Beacon\n\nThe beacon is lit at dusk.\n"


def count_on_disk(folder: Path) -> int:
    """Return what `find FOLDER ! -type d | wc -l` says: all but folders, links not followed."""
    tree = os.walk(folder)
    paths = (Path(path) / name for path, folders, names in tree for name in (*folders, *names))
    return sum(not stat.S_ISDIR(path.lstat().st_mode) for path in paths)


@pytest.fixture
def count(config, tmp_path, refresh) -> Callable[..., tuple]:
    """Index files, write more that are not indexed, and count: `count(files, later)`."""

    def index_and_count(files: Files, later: Files | None = None) -> tuple[VaultFiles, Path]:
        refresh(work=write_all(folder := tmp_path / "work", files))
        write_all(folder, later or {})
        return of(read_status(config)), folder

    return index_and_count


def of(report: StatusReport) -> VaultFiles:
    files = report.vaults["work"].files
    assert files
    return files


def test_files_are_counted_by_kind_and_by_why_they_are_not_indexed(count):
    files = {
        "a.md": NOTE,
        "sub/b.markdown": NOTE,
        "plan.pdf": raw_pdf("t", ["The beacon is lit at dusk."]),
        "list.csv": b"Item,Euro\nOil,30\n",
        ".hidden.md": NOTE,
        ".obsidian/app.json": b'{"userIgnoreFilters": ["Templates/"]}',
        "Templates/Day.md": NOTE,
        ".gitignore": b"build/\n",
        ".ragignore": b"*.txt\n",
        "build/out.md": NOTE,
        "build/deep/.x/picture.png": b"png",
        "letter.txt": b"text",
        "picture.png": b"png",
        "empty.docx": b"",
        "scan.pdf": raw_pdf("t", [""]),
        "locked.pdf": fpdf_pdf("t", ["text"], password="s3cret"),
        "broken.xlsx": b"PK\x03\x04 and no more",
    }
    counted, folder = count(files, {"new.md": NOTE, "new.org": b"* Beacon\n"})
    assert counted.indexed == {"markdown": 2, "csv": 1, "pdf": 1}
    assert counted.left_out == {
        "hidden": 4,
        "ignored by .gitignore": 2,
        "not indexed yet": 2,
        "damaged": 1,
        "empty": 1,
        "encrypted": 1,
        "ignored by .ragignore": 1,
        "ignored by Obsidian": 1,
        "no reader": 1,
        "no text in it": 1,
    }
    assert counted.total == count_on_disk(folder)


def test_a_file_that_is_too_large_and_one_that_settings_ignore_are_left_out(
    config, tmp_path, refresh
):
    write_all(tmp_path / "work", {"large.txt": b"beacon " * 900, "a.md": NOTE, "old/b.md": NOTE})
    config = replace(config, index=IndexConfig(max_file_mb=0.005, ignore=["old/"]))
    refresh(config, work=tmp_path / "work")
    counted = of(read_status(config))
    assert counted.left_out == {"ignored by index.ignore": 1, "too large": 1}
    assert counted.total == count_on_disk(tmp_path / "work") == 3


def test_links_are_listed_and_not_followed_and_so_are_pipes(count, tmp_path):
    write_all(tmp_path / "elsewhere", {"far.md": NOTE})
    folder = tmp_path / "work"
    write_all(folder, {"a.md": NOTE, "folder.pdf/inside.md": NOTE})
    for name in ("pipe.pdf", "pipe", ".hidden-pipe"):
        os.mkfifo(folder / name)
    for name, target in {
        "l.md": "a.md",
        "out": "../elsewhere",
        "gone.pdf": "no",
        "me": ".",
        ".hidden": "a.md",
        "folder.pdf/.deep": "../a.md",
    }.items():
        (folder / name).symlink_to(target)
    counted, _ = count({})
    assert (counted.total, counted.left_out) == (
        11,
        {"link": 4, "hidden": 3, "not a regular file": 2},
    )
    assert counted.total == count_on_disk(folder)


def test_two_names_that_differ_in_unicode_only_are_two_files_of_which_one_is_read(count):
    names = {normalize(form, "Café.md") for form in ("NFC", "NFD")}
    counted, folder = count(dict.fromkeys(names, NOTE))
    if count_on_disk(folder) < 2:
        pytest.skip("this disk knows one of both names")
    assert (counted.total, counted.indexed, counted.left_out) == (
        2,
        {"markdown": 1},
        {"unreadable": 1},
    )


def test_the_files_that_are_not_indexed_are_listed_where_that_is_asked_for(config, count):
    count({"a.md": NOTE, "sub/picture.png": b"png", "empty.pdf": b""})
    assert read_status(config).skipped is None
    skipped = read_status(config, skipped=True).skipped
    assert skipped is not None
    assert [(one.vault, one.path, one.reason) for one in skipped] == [
        ("work", "empty.pdf", "empty"),
        ("work", "sub/picture.png", "no reader"),
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_cannot_be_listed_is_named_but_not_counted(config, count):
    files, folder = count({"a.md": NOTE, "private/b.md": NOTE})
    (folder / "private").chmod(0)
    try:
        report = read_status(config, skipped=True)
    finally:
        (folder / "private").chmod(0o700)
    assert report.skipped
    assert [(file.path, file.reason) for file in report.skipped] == [("private/", "unreadable")]
    assert of(report).total == files.total - 1


def test_a_folder_too_deep_to_be_listed_is_no_change(config, count, refresh, monkeypatch):
    _, folder = count({"a.md": NOTE})
    monkeypatch.chdir(folder)
    for _ in range(30):  # a path may have 4,096 bytes
        os.mkdir("x" * 200)  # noqa: PTH102
        os.chdir("x" * 200)
    os.chdir(folder.parent)
    refresh(work=folder)
    assert read_status(config).index.changed == 0


def test_a_vault_whose_folder_is_gone_is_not_counted(config, count):
    _, folder = count({"a.md": NOTE})
    folder.rename(folder.with_name("moved"))
    assert read_status(config).vaults["work"].files is None


def test_whether_notes_changed_is_not_known_of_a_folder_that_is_gone_or_empty(config, count):
    _, folder = count({"a.md": NOTE})
    away = folder.rename(folder.with_name("moved"))
    for _ in ("gone", "empty"):
        status = read_status(config)
        assert status.index.changed is None
        assert str(folder) in status.vaults["work"].notices[-1]
        folder.mkdir(exist_ok=True)
    folder.rmdir()
    away.rename(folder)
    assert read_status(config).index.changed == 0


NAMES = st.sampled_from(
    ["a.md", "b.txt", "c.pdf", "d.png", "e.org", ".f.md", "README", "é.md", "e\u0301.md", "ü.csv"]
)
FOLDERS = st.sampled_from(["", "one/", "one/two/", ".three/", "four/", "one/.five/", "six.md/"])
RULES = st.sampled_from(["", "*.md\n", "one/\n", "/four\n!a.md\n", "*\n!*/\n!*.txt\n", "b.*\n"])
TREES = st.dictionaries(
    st.tuples(FOLDERS, NAMES).map("".join), st.sampled_from([b"", NOTE, b"\0"]), max_size=25
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES, st.dictionaries(FOLDERS, RULES, max_size=3))
def test_whatever_is_in_a_folder_the_numbers_add_up(config, tmp_path_factory, tree, rules):
    folder = tmp_path_factory.mktemp("tree")
    write_all(folder, tree)
    write_all(folder, {f"{name}.gitignore": rule.encode() for name, rule in rules.items()})
    scan = scan_folder(str(folder), everything=True)
    with Manifest.empty() as manifest:
        counted, skipped = count_files(manifest, "work", (), scan, ocr=False)
    assert counted and counted.total == count_on_disk(folder) == len(skipped)
    assert sum(counted.left_out.values()) == counted.total
