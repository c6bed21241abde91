"""The settings in force, and which files are trusted to set them."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.config import project_of, settings, unknown_setting
from rag.config.files import nearest_file, real_path
from rag.config.sections import LeftOut
from rag.config.trust import TrustEntry, forget, read_trust, record
from rag.exceptions import UsageError
from rag.support.json_reports import optional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag.config import Ask, RAGConfig


@dataclass(frozen=True)
class Setting:
    """A setting in force.

    :param origin: the file or variable that sets it, or `default`.
    :param left_out: the value of a file that is not trusted.
    """

    value: Any
    origin: str
    left_out: LeftOut | None = optional(None)


@dataclass(frozen=True)
class SettingsReport:
    """The settings in force, by name."""

    settings: dict[str, Setting]


@dataclass(frozen=True)
class TrustReport:
    """A project's file that is trusted.

    :param asks: what it asks for.
    :param trusted: false where it asks for nothing that takes trust.
    """

    file: Path
    asks: Sequence[Ask]
    trusted: bool


@dataclass(frozen=True)
class TrustListReport:
    """The files that were asked about."""

    files: list[TrustEntry]


@dataclass(frozen=True)
class TrustRemovedReport:
    """A file that is not trusted any more; `removed` is false when it was not in the list."""

    file: Path
    removed: bool


def settings_report(config: RAGConfig, key: str = "") -> SettingsReport:
    """Return the settings, or one, or those of a section, and where the values came from.

    :raises ConfigError: for one that does not exist, with the nearest name.
    """
    shown = {}
    for name in settings():
        if f"{name}.".startswith(f"{key}.") or not key:
            value, origin = attrgetter(name)(config), config.origins.get(name, "default")
            value = str(value) if isinstance(value, Path) else value
            shown[name] = Setting(value, origin, config.left_out.get(name))
    if not shown:
        raise unknown_setting(key)
    return SettingsReport(shown)


def trusted_files() -> TrustListReport:
    """Return the files that were asked about, by path."""
    return TrustListReport([*read_trust().values()])


def trust_project(place: Path) -> TrustReport:
    """Trust a project's file as it is now.

    :param place: the file, or its folder or one below.
    :raises UsageError: where no such file is read.
    """
    project = project_of(place)
    if project is None:
        if place.is_dir():
            raise _no_file(place)
        hint = "A file that `--config` or RAG_CONFIG names needs no trust."
        what = f"{place} is not the rag.toml of a folder" if place.exists() else f"no file {place}"
        raise UsageError(what, hint=hint)
    if project.asks:
        record(project.file, project.digest)
    return TrustReport(project.file, project.asks, bool(project.asks))


def trust_no_more(place: Path) -> TrustRemovedReport:
    """Take a project's file out of the list, be it there or not.

    :raises UsageError: for a folder in which none is read.
    """
    file = place.expanduser()
    if file.is_dir():
        nearest = nearest_file(file.absolute())
        if nearest is None:
            raise _no_file(place)
        file = nearest[0]
    file = real_path(file)
    return TrustRemovedReport(file, forget(file))


def _no_file(folder: Path) -> UsageError:
    where = folder.expanduser().absolute()
    return UsageError(f"no rag.toml is read in {where}", hint="rag trust FOLDER")
