"""A folder for files of settings."""

from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path) -> Path:
    """A project's folder, empty."""
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    return folder
