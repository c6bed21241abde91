"""Which vaults there are: those registered by `rag index PATH`, and the folders of `vaults_dir`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import permutations
from pathlib import Path
from shlex import quote

from rag.config import RAGConfig
from rag.exceptions import UsageError
from rag.support.files import claim_data_folder, replace_durably, strange_kind
from rag.support.unicode_forms import nfc
from rag.text.tokenizer import name_key

NO_VAULT = "There is no vault yet: `rag index FOLDER` makes one."

_SHOWN = 5  # vaults, where none is near the one that was named


@dataclass
class Registry:
    """The registered vaults, kept as JSON in the data folder; change it under the index lock.

    `removed` names folders of `vaults_dir` that the user took out; `notice` says what was damaged.
    """

    file: Path
    vaults: dict[str, Path]
    removed: set[str]
    notice: str = ""

    @classmethod
    def load(cls, config: RAGConfig) -> Registry:
        """Read the registry; a missing file is an empty one."""
        file = config.data_dir / "vaults.json"
        try:
            if strange_kind(file):
                raise ValueError("no file")
            data = json.loads(file.read_text("utf-8"))
            vaults = {str(name): Path(path) for name, path in data["vaults"].items()}
            return cls(file, vaults, set(data["removed"]))
        except FileNotFoundError:
            return cls(file, {}, set())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            notice = f"the list of vaults {file} was damaged: those that are indexed stay"
            if _folders(config):
                notice += "; take out again, with `rag vault remove`, what you had taken out"
            return cls(file, {}, set(), notice)

    def save(self) -> None:
        """Write the registry, all of it or nothing."""
        data = {
            "vaults": {name: str(path) for name, path in sorted(self.vaults.items())},
            "removed": sorted(self.removed),
        }
        claim_data_folder(self.file.parent)
        if self.file.is_dir():
            hint = "Move it away: the list of vaults is written there."
            raise UsageError(f"{self.file} is a folder", hint=hint)
        text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
        replace_durably(self.file, text.encode("utf-8"))

    def identify(self, config: RAGConfig, folder: Path, name: str = "") -> tuple[str, Path]:
        """Return the name and the real path of the vault that a folder is or would be.

        :raises UsageError: when it is no folder, or has a name, or the name belongs to another.
        """
        root = folder.expanduser()
        if not root.is_dir():
            what = "is a file, not a folder" if root.exists() else "does not exist"
            raise UsageError(
                f"{folder} {what}", hint="Name the folder that holds your notes: `rag index FOLDER`"
            )
        root = root.resolve()
        if not _is_unicode(str(root)):
            raise UsageError(f"the name of {folder} is not valid UTF-8", hint="Rename the folder.")
        vaults = configured_vaults(config, self)
        wanted = nfc(name or root.name or "root")
        other = next((vault for vault, path in vaults.items() if path == root), None)
        if other is not None:
            if name and other != wanted:
                rename = f"`rag vault rename {quote(other)} {quote(wanted)}` renames it."
                raise UsageError(f"{folder} is the vault {other!r} already", hint=rename)
            return other, root
        if wanted in vaults:
            raise UsageError(
                f"a vault named {wanted!r} exists already: {vaults[wanted]}", hint=_name_it(folder)
            )
        if "/" in wanted or not wanted.strip():
            raise UsageError(f"{wanted!r} cannot name a vault", hint="Use a name without `/`.")
        return wanted, root

    def register(self, config: RAGConfig, folder: Path, name: str = "") -> str:
        """Add a folder and return its vault's name; errors are those of `identify`."""
        [wanted] = added = self.identify_all(config, [folder], name)
        if self.add(config, added):
            self.save()
        return wanted

    def identify_all(
        self, config: RAGConfig, folders: Iterable[Path], name: str = ""
    ) -> dict[str, Path]:
        """Return the real path of every vault that these folders are or would be, by its name.
        Errors are those of `identify`, and one for two folders of one name."""
        vaults: dict[str, Path] = {}
        for folder in folders:
            vault, root = self.identify(config, folder, name)
            if vaults.setdefault(vault, root) != root:
                raise UsageError(
                    f"two folders cannot both be the vault {vault!r}: {vaults[vault]} and {root}",
                    hint=_name_it(folder),
                )
        return vaults

    def add(self, config: RAGConfig, vaults: Mapping[str, Path]) -> bool:
        """Add what `identify_all` found, and return whether that changed anything to be saved."""
        fresh = dict(vaults.items() - configured_vaults(config, self).items())
        self.removed -= fresh.keys()
        self.vaults |= fresh
        return bool(fresh)

    def remove(self, config: RAGConfig, name: str) -> None:
        """Take a vault out; its folder is left alone, and the registry not saved."""
        self.vaults.pop(name, None)
        if name in _folders(config):
            self.removed.add(name)


def configured_vaults(config: RAGConfig, registry: Registry | None = None) -> dict[str, Path]:
    """Return the folder of every vault by name, sorted by name."""
    registry = registry or Registry.load(config)
    return dict(sorted((_unregistered(config, registry) | registry.vaults).items()))


def vaults_passed_over(config: RAGConfig, registry: Registry) -> Iterator[str]:
    """Yield a sentence for each folder of `vaults_dir` whose name another, registered vault has."""
    for name, path in _unregistered(config, registry).items():
        if name in registry.vaults:
            yield (
                f"{path} is passed over: {name!r} is the vault {registry.vaults[name]}; give it"
                f" another name: `rag index --name NAME {quote(str(path))}`"
            )


def known_vaults(
    config: RAGConfig, indexed: Mapping[str, str | Path], registry: Registry | None = None
) -> dict[str, Path]:
    """Return every vault there is: the configured ones, and those that are indexed."""
    roots = {name: Path(root) for name, root in indexed.items()}
    return dict(sorted((roots | configured_vaults(config, registry)).items()))


def overlaps(vaults: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    """Yield the names of two vaults where the first lies in the second, or is the same folder:
    its notes are found twice."""
    for inner, outer in permutations(vaults, 2):
        is_same = vaults[inner] == vaults[outer] and inner > outer
        if is_same or vaults[outer] in vaults[inner].parents:
            yield inner, outer


def check_collision(name: str, root: Path, indexed: dict[str, Path]) -> None:
    """Refuse to put a folder in the place of another one of the same name that is still there.

    :raises UsageError: when another folder's notes are indexed under that name.
    """
    other = indexed.get(name)
    if other is not None and other != root and other.is_dir():
        raise UsageError(
            f"the vault {name!r} in the index is {other}, not {root}", hint=_name_it(root)
        )


def _name_it(folder: Path) -> str:
    return f"Give this one another name: `rag index --name NAME {quote(str(folder))}`"


def unknown_vault(name: str, vaults: list[str]) -> UsageError:
    """Return the error for a vault that does not exist, with the near names, or else some."""
    if not vaults:
        return UsageError(f"no vault named {name!r}", hint=NO_VAULT)
    keys = {name_key(vault): vault for vault in vaults}
    near = [keys[key] for key in get_close_matches(name_key(name), keys, 3, 0.6)]
    more = ", …" if len(vaults) > _SHOWN else ""
    hint = f"There are: {', '.join(vaults[:_SHOWN])}{more}."
    hint = f"Did you mean: {', '.join(near)}?" if near else hint
    return UsageError(f"no vault named {name!r}", hint=f"{hint} `rag vault list` shows all.")


def _unregistered(config: RAGConfig, registry: Registry) -> dict[str, Path]:
    """Return the folders of `vaults_dir` that were neither taken out nor registered."""
    roots, folders = {*registry.vaults.values()}, _folders(config).items()
    return {n: path for n, path in folders if n not in registry.removed and path not in roots}


def _folders(config: RAGConfig) -> dict[str, Path]:
    if config.vaults_dir is None or not config.vaults_dir.is_dir():
        return {}
    folders = {
        nfc(path.name): path.resolve()
        for path in config.vaults_dir.iterdir()
        if path.is_dir() and not path.name.startswith(".") and _is_unicode(path.name)
    }
    wanted, within = {nfc(name) for name in config.target_vaults}, config.vaults_within
    return {
        n: p
        for n, p in folders.items()
        if (not wanted or n in wanted) and (within is None or p.is_relative_to(within))
    }


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)
