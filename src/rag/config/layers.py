"""The layers of settings, put on each other: later ones win, and a project's file as far as the
user trusts it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag.config.addresses import hosts_in
from rag.config.environment import parse_text
from rag.config.files import ProjectFile, user_file
from rag.config.keys import KEYS, KeySetting, no_hosts_for_keys
from rag.config.sections import SECTIONS, RAGConfig, free_rules, settings
from rag.config.untrusted import Ask, LeftOut, Place, Project, real_path
from rag.exceptions import LIST_SETTINGS, SHOW_SETTINGS, ConfigError

_TRUST = "`rag trust` shows what it asks for, and trusts it."
_LISTS_AS_TEXT = ("store.url",)  # which a file may write as lists, and the environment cannot
_LONGEST = 4096  # bytes of a path
_MOST_LINKS = 20  # that are shown
DEFAULT, ENVIRONMENT, BESIDE = "default", "environment", "default, beside the project file"


class Layers:
    """Settings by name, as far as they are known, and where each came from."""

    def __init__(self) -> None:
        self.known = settings()
        self.values: dict[str, Any] = {}
        self.origins = dict.fromkeys(self.known, DEFAULT)
        self.root: Path | None = None
        self.project: Project | None = None
        self.left_out: dict[str, LeftOut] = {}
        self.vaults_within: Path | None = None

    def add(self, origin: str, base: Path, tree: Mapping[str, Any]) -> None:
        """Put a layer on top.

        :param base: the folder that its paths are relative to.
        :raises ConfigError: for an unknown setting or a value of another type.
        """
        self._put(origin, self._coerced(origin, base, tree))

    def add_project(self, found: ProjectFile, overridden: Iterable[str]) -> None:
        """Put a project's file on top, and the folder `vaults` beside it below that.

        :param overridden: the names of settings that a later layer will set.
        :raises ConfigError: as for `add`, and when the list of trusted files is damaged.
        """
        self.root, origin, overridden = found.root, str(found.file), set(overridden)
        own = self._coerced(origin, found.root, found.settings)
        for name in {key.hosts for key in KEYS} & {*own}:
            from rag.config.trust import shown

            self.left_out[name] = no_hosts_for_keys(name, shown(own.pop(name)))
        beside = {"vaults_dir": found.root / "vaults"}
        if "vaults_dir" in own or not beside["vaults_dir"].is_dir():
            beside = {}
        offered = {**beside, **own}
        asked: set[str] = set()
        if not found.is_named:
            asked = self._judge(found, offered, overridden)
        self._put(BESIDE, {n: v for n, v in beside.items() if n not in asked})
        self._put(origin, {n: v for n, v in own.items() if n not in asked})

    def _judge(
        self, found: ProjectFile, offered: Mapping[str, Any], overridden: set[str]
    ) -> set[str]:
        """Return the names of what does not count for want of trust; note why, and what the file
        asks for."""
        from rag.config.trust import TrustList, digest_of, shown, visible  # not without such a file

        has_vaults = "vaults_dir" in {*self.values, *overridden}
        asked = self._asked(offered, Place(found.folder, has_vaults))
        vaults = offered.get("vaults_dir") if "vaults_dir" not in asked else None
        links = _links_out(vaults, found.folder) if vaults else []
        asks = [Ask(name, shown(offered[name])) for name in offered if name in asked]
        asks += [Ask("vaults_dir", visible(link)) for link in links[:_MOST_LINKS]]
        if len(links) > _MOST_LINKS:
            asks.append(Ask("vaults_dir", f"{len(links) - _MOST_LINKS:,} more links"))
        if vaults and "vaults_dir" not in overridden:
            self.vaults_within = found.folder
        if not asks:
            return set()
        digest = digest_of(found, [*_outside(offered, found.folder), *links])
        answer = TrustList.load().answer(found.file, digest)
        self.project = Project(found.file, digest, tuple(asks), answer)
        if answer:
            self.vaults_within = None
            return set()
        reason = visible(f"{found.file} is not trusted")
        for name in {ask.name: None for ask in asks if ask.name not in overridden}:
            value = "; ".join(ask.value for ask in asks if ask.name == name)
            self.left_out[name] = LeftOut(value, reason, _TRUST)
        return asked

    def _asked(self, offered: Mapping[str, Any], place: Place) -> set[str]:
        """Return the names of what is neither free nor so already."""
        rules = free_rules()
        new = {n for n, v in offered.items() if v != self.values.get(n, self.known[n][1])}
        asked = {name for name in new if not rules[name](offered[name], place)}
        if any(name.startswith("routes.") for name in asked):  # they make sense together only
            asked |= {name for name in new if name.startswith("routes.")}
        return asked

    def _put(self, origin: str, values: Mapping[str, Any]) -> None:
        self.values.update(values)
        self.origins.update(dict.fromkeys(values, origin))

    def _coerced(self, origin: str, base: Path, tree: Mapping[str, Any]) -> dict[str, Any]:
        values = {}
        for name, value in flatten(tree).items():
            if name in SECTIONS:
                raise ConfigError(
                    f"{name} in {origin} must be a table, not {_brief(value)}",
                    hint=f"Write [{name}] on a line of its own, and its settings below.",
                )
            if name not in self.known:
                raise ConfigError(
                    f"unknown setting {name[:100]!r} in {origin}",
                    hint=f"Did you mean {_nearest(name, [*self.known])!r}? {LIST_SETTINGS}",
                )
            values[name] = _coerce(name, value, self.known[name][1], base, origin)
        return values

    def config(self) -> RAGConfig:
        """Return the settings, not yet checked against each other."""
        sections: dict[str, dict[str, Any]] = {}
        top: dict[str, Any] = {}
        for name, value in self.values.items():
            section, _, key = name.rpartition(".")
            (sections.setdefault(section, {}) if section else top)[key] = value
        config = replace(
            RAGConfig(),
            origins=self.origins,
            root=self.root,
            project=self.project,
            left_out=self.left_out,
            vaults_within=self.vaults_within,
            **top,
        )
        for section, changes in sections.items():
            config = replace(config, **{section: replace(getattr(config, section), **changes)})
        return config


def flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a file by the dotted names of settings."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if key in SECTIONS and isinstance(value, dict):
            flat.update({f"{key}.{inner}": item for inner, item in value.items()})
        else:
            flat[key] = value
    return flat


def _links_out(vaults: Path, folder: Path) -> list[str]:
    """Return the links among the vaults of a project that lead out of it, and where to."""
    try:
        links = [link for link in sorted(vaults.iterdir()) if link.is_symlink()]
    except OSError:  # no folder, or one that nobody may read
        return []
    found = [(link, real_path(link)) for link in links]
    return [f"{link} -> {to}" for link, to in found if not to.is_relative_to(folder)]


def _outside(offered: Mapping[str, Any], folder: Path) -> list[str]:
    paths = {n: real_path(v) for n, v in offered.items() if isinstance(v, Path)}
    return [f"{n} {path}" for n, path in sorted(paths.items()) if not path.is_relative_to(folder)]


def _coerce(name: str, value: Any, default: Any, base: Path, origin: str) -> Any:
    """Make `value` what the setting needs; text (from the environment) is parsed."""
    expected = str if name in ("data_dir", "vaults_dir") else type(default)
    if name in _LISTS_AS_TEXT and isinstance(value, list):
        value = ",".join(value) if all(isinstance(item, str) for item in value) else value
    if origin == ENVIRONMENT and expected is not str:
        value = parse_text(value, expected)
    good = isinstance(value, expected) and not (isinstance(value, bool) and expected is not bool)
    if expected is float and type(value) is int and value.bit_length() <= 64:
        good, value = True, float(value)
    if good and expected is list:
        good = all(isinstance(item, str) for item in value)
    if not good:
        kind = expected.__name__
        want = {"list": "list of strings", "dict": "table"}.get(kind, kind)
        raise ConfigError(
            f"{name} in {origin} must be of type {want}, not {_brief(value)}",
            hint=SHOW_SETTINGS,
        )
    return _path(name, value, base, origin) if name.endswith("_dir") else value


def _path(name: str, text: str, base: Path, origin: str) -> Path:
    try:
        path = (base / Path(text).expanduser()).resolve()
        if len(os.fsencode(path)) < _LONGEST and all(len(os.fsencode(p)) < 256 for p in path.parts):
            return path
        why = "the name is too long"
    except (RuntimeError, ValueError, OSError) as error:  # ~nobody, a zero byte
        why = str(error)
    raise ConfigError(f"{name} in {origin}: {why[:200]}", hint=SHOW_SETTINGS)


def _brief(value: Any) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of many digits, tables in each other
        return f"this {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:200]}…"


def _nearest(name: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name[:100], names, 1, 0)
    return close[0] if close else names[0]


def withhold_keys(layers: Layers, project: str, hosts: Mapping[str, set[str]]) -> None:
    """Take the variable of an API key away where only a project's file names a server.

    That the user trusts the file does not mean that its server may have the user's key. Requests
    go to any of the servers, so that one of them is enough.

    :param project: the file, as the origin of settings.
    :param hosts: what `key_hosts` gave.
    """
    for key in KEYS:
        _withhold(layers, project, key, hosts[key.section])


def _withhold(layers: Layers, project: str, key: KeySetting, hosts: set[str]) -> None:
    values, origins = layers.values, layers.origins
    named = {name.strip().lower() for name in values.get(key.hosts, [])}
    strange = sorted(hosts_in(values.get(key.url, "")) - hosts - named)
    variable = values.get(key.variable, layers.known[key.variable][1])
    if not (strange and variable) or origins[key.url] != project:
        return
    gets = "it gets" if len(strange) == 1 else "they get"
    reason = f"only {project} names {', '.join(strange)}, so that {gets} no key of yours"
    hint = f"{key.hosts} = {json.dumps(strange)} in {user_file()} would change that."
    values[key.variable] = ""
    layers.left_out[key.variable] = LeftOut(variable, reason, hint)
