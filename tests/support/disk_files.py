"""Files, written for a test."""

from collections.abc import Mapping
from pathlib import Path


def write(file: Path, content: str | bytes) -> Path:
    """Write a file, and the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def write_all(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files of a folder, which is there without any too; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        write(folder / path, content)
    return folder
