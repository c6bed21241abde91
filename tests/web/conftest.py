"""A server of notes on a real socket, and those who ask it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from disk_files import write, write_all
from http_client import Client, serving
from rag.config import RAGConfig
from rag.web.gate import Limits

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(64)
DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
VAULTS: dict[str, dict[str, str]] = {
    "work": {
        "Backups.md": "---\ntags: [ops/backup]\ncreated: 2025-03-01\naliases: [Safety copies]\n"
        "status: done\n---\n# Backups\n\nWe keep backups for ninety days.\n\n## Restore\n\n"
        "Run the restore script. See [[Rolling back]].\n\n![[plan.png]]\n",
        "runbooks/Rollback 100%.md": "---\ntags: [ops]\ncreated: 2025-06-30\n"
        "aliases: [Rolling back]\n---\n# Rolling back\n\n"
        "Rolling back a deploy takes two minutes.\n",
        **{f"daily/2026-11-{d:02}.md": f"# Day {d}\n\nWe fed the quokka.\n" for d in range(1, 9)},
    },
    "日本": {
        "証明書.md": "---\ncreated: 2024-01-01\ntags: [運用]\n---\n# 証明書の更新\n\n"
        "証明書は毎年三月に更新する。\n"
    },
}


@pytest.fixture(scope="session")
def http_config(build_index) -> RAGConfig:
    """The settings of an index that no test changes, nor the server itself."""
    config = build_index(VAULTS)
    folder = config.data_dir.parent / "vaults" / "work"
    files = {"plan.png": PICTURE, "drawing.svg": DRAWING, ".trash/thrown.png": PICTURE}
    write_all(folder, {**files, "secret.txt": "the key of the safe"})
    write(folder.parent / "outside.png", PICTURE + b"picture of another folder")
    (folder / "link.png").symlink_to(folder.parent / "outside.png")
    return replace(config, search=replace(config.search, refresh="never"))


@pytest.fixture(scope="session")
def client(http_config) -> Iterator[Client]:
    """A server, and a program that has its token."""
    with serving(http_config, Limits(readers=2)) as one:
        yield one


@pytest.fixture
def vault(tmp_path) -> Path:
    """A folder with one note."""
    return write_all(tmp_path / "vault", {"First.md": "# First\n\nA wombat lives here.\n"})
