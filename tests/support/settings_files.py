"""Files of settings, written for a test."""

from pathlib import Path


def write(file: Path, text: str) -> Path:
    """Write a file, and the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file
