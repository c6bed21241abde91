"""Folders of ours: what is written into and deleted, and what is not."""

from pathlib import Path

import pytest

from rag.exceptions import UsageError
from rag.support.files import claim_data_folder, is_marked, make_owned, narrow, remove


def files(folder: Path, *names: str) -> Path:
    """Make empty files below a folder."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


DATA = (
    *("vaults.json", "facts.jsonl", "facts.jsonl.lock", "chats/2026.jsonl", "index/CURRENT"),
    "logs/query_transform/x",
)


class TestTheDataFolder:
    def test_it_is_made_for_its_owner_alone_and_marked(self, tmp_path):
        folder = tmp_path / "a/data"
        claim_data_folder(folder)
        assert is_marked(folder) and mode(folder) == 0o700

    def test_one_with_files_of_somebody_else_is_not(self, tmp_path):
        folder = files(tmp_path / "data", "thesis.md", "vaults.json")
        with pytest.raises(UsageError, match=r"'thesis\.md'") as raised:
            claim_data_folder(folder)
        assert "RAG_DATA_DIR" in raised.value.hint
        assert {path.name for path in folder.iterdir()} == {"thesis.md", "vaults.json"}

    def test_one_that_was_copied_without_its_mark_is_taken(self, tmp_path):
        claim_data_folder(files(tmp_path / "data", *DATA))
        assert is_marked(tmp_path / "data")

    def test_it_is_narrowed(self, tmp_path):
        claim_data_folder(tmp_path / "data")
        (tmp_path / "data").chmod(0o755)
        claim_data_folder(tmp_path / "data")
        assert mode(tmp_path / "data") == 0o700

    def test_it_may_lie_behind_a_link(self, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "data").symlink_to(tmp_path / "real")
        claim_data_folder(tmp_path / "data")
        files(tmp_path / "real", "of a later version")
        claim_data_folder(tmp_path / "data")
        assert is_marked(tmp_path / "real")


class TestOtherFolders:
    def test_one_with_files_of_somebody_else_is_refused_and_stays(self, tmp_path):
        folder = files(tmp_path / "index", "thesis.md")
        with pytest.raises(UsageError, match="not rag's"):
            make_owned(folder)
        assert (folder / "thesis.md").exists() and not is_marked(folder)

    def test_its_place_must_be_no_link(self, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "work").symlink_to(tmp_path / "real")
        with pytest.raises(UsageError, match="is a link"):
            make_owned(tmp_path / "work")


class TestRemoving:
    def test_one_of_ours_goes_with_all_it_holds(self, tmp_path):
        make_owned(tmp_path / "gen-1")
        files(tmp_path / "gen-1", "shard/x", "points")
        (tmp_path / "gen-1/link").symlink_to(tmp_path)
        remove(tmp_path / "gen-1")
        assert not (tmp_path / "gen-1").exists() and tmp_path.exists()

    def test_what_a_link_leads_to_stays(self, tmp_path):
        make_owned(tmp_path / "real")
        (tmp_path / "gen-1").symlink_to(tmp_path / "real")
        remove(tmp_path / "gen-1")
        assert is_marked(tmp_path / "real")

    def test_the_mark_goes_last(self, tmp_path, monkeypatch):
        make_owned(tmp_path / "gen-1")
        files(tmp_path / "gen-1", *"abcdefgh")

        def killed(path: Path, missing_ok: bool = False) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            remove(tmp_path / "gen-1")
        assert is_marked(tmp_path / "gen-1")


def test_a_link_is_not_narrowed(tmp_path):
    (tmp_path / "real").mkdir(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    narrow(tmp_path / "link")
    assert mode(tmp_path / "real") == 0o755
