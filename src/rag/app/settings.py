"""The settings in force, and which files are trusted to set them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag.config import Ask, RAGConfig
    from rag.config.trust import Entry


@dataclass(frozen=True)
class SettingsReport:
    """The settings in force."""

    config: RAGConfig


@dataclass(frozen=True)
class TrustReport:
    """A project's file, and what it asks for; it is trusted when it asks for anything."""

    file: Path
    asks: Sequence[Ask]


@dataclass(frozen=True)
class TrustListReport:
    """The files that were asked about, and what was answered."""

    files: Mapping[str, Entry]


@dataclass(frozen=True)
class TrustRemovedReport:
    """A file that is not trusted any more; `removed` is false when it was not in the list."""

    file: Path
    removed: bool
