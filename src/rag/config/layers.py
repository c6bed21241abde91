"""The layers of settings, put on each other: the defaults, the user's file, the project's file as
far as the user trusts it, and `RAG_*` in the environment. Later ones win."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from rag.config.files import ProjectFile, find_project, read_settings, real_path, user_file
from rag.config.rules import Place
from rag.config.sections import (
    SECTIONS,
    Ask,
    LeftOut,
    OllamaConfig,
    PlannerConfig,
    Project,
    RAGConfig,
    models_config,
    settings,
    values,
)
from rag.config.servers import KEYS, hosts_in
from rag.config.trust import TrustList, digest_of, record, shown, visible
from rag.exceptions import LIST_SETTINGS, SHOW_SETTINGS, ConfigError

DEFAULT, ENVIRONMENT, BESIDE = "default", "environment", "default, beside the project file"
_OTHER_VARIABLES = ("RAG_CONFIG",)  # which the program reads, and are no settings


def load_config(
    path: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> RAGConfig:
    """Read the settings in force.

    :param path: the project file; without it `RAG_CONFIG`, else `config/rag.toml` or
        `rag.toml` of the working folder or the nearest folder above it.
    :raises ConfigError: for a file that is missing or does not parse, an unknown setting, or
        a value of the wrong type.
    """
    env, cwd = os.environ if env is None else env, cwd or Path.cwd()
    layers = Layers.of_user()
    own_hosts = {key.url: hosts_in(layers.values.get(key.url, "")) for key in KEYS}
    project, variables = find_project(path, env, cwd), _in_environment(env, layers.known)
    if project:
        layers.add_project(project, variables)
    layers.add(ENVIRONMENT, cwd, variables)
    if project:
        layers.withhold_keys(str(project.file), own_hosts)
    return layers.config()


def complete(config: RAGConfig | OllamaConfig | None = None) -> RAGConfig:
    """Return all settings: those given, else those in force with the `[ollama]` section given.

    Who gives one asks for Ollama, whichever provider the settings in force name.

    :raises ConfigError: see `load_config`.
    """
    if isinstance(config, OllamaConfig):
        given = models_config(config)
        return replace(load_config(), embedding=given.embedding, chat=given.chat, ollama=config)
    return config or load_config()


def project_of(place: Path) -> Project | None:
    """Return the project's file that is read in a folder, with what it asks for.

    :param place: the folder, or the file itself.
    :returns: `None` when none is read there, or another than the one named.
    :raises ConfigError: see `load_config`.
    """
    where = place.expanduser().absolute()
    folder = where
    if not where.is_dir():
        folder = where.parent.parent if where.parent.name == "config" else where.parent
    file = find_project(None, {}, folder)
    if file is None or (folder != where and file.file != real_path(where)):
        return None
    layers = Layers.of_user()
    layers.add_project(file, ())
    return layers.project or Project(file.file)


def trust_own(file: Path, written: Collection[str]) -> None:
    """Trust a project's file that the program has just written for the user.

    :param written: the settings that it wrote; a file that asks for more is not trusted.
    :raises ConfigError: when the user's list of trusted files cannot be written.
    """
    project = project_of(file)
    if project and project.asks and {ask.name for ask in project.asks} <= {*written}:
        record(project.file, project.digest, True)


def planner_config(given: Mapping[str, Any], origin: str) -> PlannerConfig:
    """Return the settings of the planner that were kept somewhere.

    :raises ConfigError: for what cannot be one of them.
    """
    layers = Layers()
    layers.add(origin, Path(), {"planner": given})
    return layers.config().planner


class Layers:
    """Settings by name, as far as they are set, and where each came from."""

    def __init__(self) -> None:
        self.known = settings()
        self.values: dict[str, Any] = {}
        self.origins = dict.fromkeys(self.known, DEFAULT)
        self.left_out: dict[str, LeftOut] = {}
        self.root: Path | None = None
        self.project: Project | None = None
        self.vaults_within: Path | None = None

    @classmethod
    def of_user(cls) -> Layers:
        """Return the user's own file on the defaults."""
        layers, file = cls(), user_file()
        if os.path.lexists(file):
            layers.add(str(file), file.parent, read_settings(file)[1])
        return layers

    def add(self, origin: str, base: Path, tree: Mapping[str, Any]) -> None:
        """Put a layer on top.

        :param base: the folder that its paths are relative to.
        :raises ConfigError: for an unknown setting or a value of another type.
        """
        self._put(origin, self._read(origin, base, tree))

    def add_project(self, found: ProjectFile, overridden: Collection[str]) -> None:
        """Put a project's file on top, and the folder `vaults` beside it below that.

        :param overridden: the names of settings that a later layer will set.
        :raises ConfigError: as for `add`, and when the list of trusted files is damaged.
        """
        self.root, origin = found.root, str(found.file)
        own = self._read(origin, found.root, found.settings)
        for name in {key.hosts for key in KEYS} & {*own}:
            reason = "a project's file may not name hosts for your key"
            hint = f"Set it in {user_file()}, or with {variable_of(name)}."
            self.left_out[name] = LeftOut(shown(own.pop(name)), reason, hint)
        beside = {"vaults_dir": found.root / "vaults"}
        if "vaults_dir" in own or not beside["vaults_dir"].is_dir():
            beside = {}
        refused: Collection[str] = ()
        if not found.is_named:
            refused = self._untrusted(found, {**beside, **own}, overridden)
        self._put(BESIDE, {n: v for n, v in beside.items() if n not in refused})
        self._put(origin, {n: v for n, v in own.items() if n not in refused})

    def _untrusted(
        self, found: ProjectFile, offered: Mapping[str, Any], overridden: Collection[str]
    ) -> Collection[str]:
        """Return the names of what does not count for want of trust; note why, and what the file
        asks for."""
        place = Place(found.folder, "vaults_dir" in {*self.values, *overridden})
        changed = {n: v for n, v in offered.items() if v != self._value(n)}
        asked = {n: v for n, v in changed.items() if self.known[n].free(v, place)}
        if any(name.startswith("routes.") for name in asked):  # they make sense together only
            asked = {n: v for n, v in changed.items() if n in asked or n.startswith("routes.")}
        vaults = offered.get("vaults_dir") if "vaults_dir" not in asked else None
        if vaults and "vaults_dir" not in overridden:
            self.vaults_within = found.folder
        links = _links_out(vaults, found.folder) if vaults else []
        asks = [Ask(name, shown(value)) for name, value in asked.items()]
        asks += [Ask("vaults_dir", shown(links))] if links else []
        if not asks:
            return ()
        folders = [f"{n} {v}" for n, v in asked.items() if isinstance(v, Path)]
        digest = digest_of(found.content, folders + links)
        answer = TrustList.load().answer(found.file, digest)
        self.project = Project(found.file, digest, tuple(asks), answer)
        if answer:
            self.vaults_within = None
            return ()
        reason = visible(f"{found.file} is not trusted")
        hint = "`rag trust` shows what it asks for, and trusts it."
        self.left_out |= {
            name: LeftOut(value, reason, hint) for name, value in asks if name not in overridden
        }
        return asked

    def withhold_keys(self, project: str, own_hosts: Mapping[str, set[str]]) -> None:
        """Take the variable of an API key away where only a project's file names a server.

        That the user trusts the file does not mean that its server may have the user's key.
        Requests go to any of the servers, so that one of them is enough.

        :param project: the file, as the origin of settings.
        :param own_hosts: the hosts that the user's own file names, by the setting.
        """
        for key in KEYS:
            allowed = {name.strip().lower() for name in self._value(key.hosts)}
            strange = sorted(hosts_in(self._value(key.url)) - (own_hosts[key.url] - {""}) - allowed)
            variable = self._value(key.variable)
            if strange and variable and self.origins[key.url] == project:
                gets = "it gets" if len(strange) == 1 else "they get"
                self.values[key.variable] = ""
                self.left_out[key.variable] = LeftOut(
                    variable,
                    f"only {project} names {', '.join(strange)}, so that {gets} no key of yours",
                    f"{key.hosts} = {json.dumps(strange)} in {user_file()} would change that.",
                )

    def config(self) -> RAGConfig:
        """Return the settings.

        :raises ConfigError: when one is not as it must be.
        """
        tables: dict[str, dict[str, Any]] = {}
        for name, value in self.values.items():
            section, _, key = name.rpartition(".")
            tables.setdefault(section, {})[key] = value
        config = RAGConfig(
            **tables.pop("", {}),
            origins=self.origins,
            root=self.root,
            project=self.project,
            left_out=self.left_out,
            vaults_within=self.vaults_within,
        )
        sections = {name: replace(getattr(config, name), **tables[name]) for name in tables}
        config = replace(config, **sections)
        for name, setting in self.known.items():
            head = name.rpartition(".")[0]
            around = getattr(config, head) if head else config
            if demand := setting.check(attrgetter(name)(config), around):
                space = "" if demand.startswith(".") else " "  # it is about a part of the value
                where = _where(name, self.origins[name])
                raise ConfigError(f"{name}{space}{demand} (from {where})", hint=SHOW_SETTINGS)
        return config

    def _value(self, name: str) -> Any:
        return self.values.get(name, self.known[name].default)

    def _put(self, origin: str, layer: Mapping[str, Any]) -> None:
        self.values.update(layer)
        self.origins.update(dict.fromkeys(layer, origin))

    def _read(self, origin: str, base: Path, tree: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a layer by their names, each of its setting's type."""
        layer = {}
        for name, value in flatten(tree).items():
            where = _where(name, origin)
            if name in SECTIONS:
                raise ConfigError(
                    f"{name} in {where} must be a table, not {shown(value)}",
                    hint=f"Write [{name}] on a line of its own, and its settings below.",
                )
            if name not in self.known:
                raise ConfigError(
                    f"unknown setting {name[:100]!r} in {where}",
                    hint=f"Did you mean {_nearest(name, self.known)!r}? {LIST_SETTINGS}",
                )
            try:
                if origin == ENVIRONMENT:
                    value = _parse_text(value, self.known[name].default)
                layer[name] = _typed(name, value, self.known[name].default)
                if name.endswith("_dir"):
                    layer[name] = _path(value, base)
            except (ValueError, RuntimeError, OSError) as error:  # a zero byte, ~nobody
                why = str(error)[:600]
                raise ConfigError(f"{name} in {where}: {why}", hint=SHOW_SETTINGS) from None
        return layer


def flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a file by the dotted names of settings."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if key in SECTIONS and isinstance(value, dict):
            flat.update({f"{key}.{inner}": item for inner, item in value.items()})
        else:
            flat[key] = value
    return flat


def _typed(name: str, value: Any, default: Any) -> Any:
    """Return a value as the type of its setting.

    :raises ValueError: when it is of another; the message says which it must be of.
    """
    expected = str if name.endswith("_dir") else type(default)
    if name == "store.url" and isinstance(value, list) and all(isinstance(v, str) for v in value):
        return ",".join(value)
    if expected is float and type(value) is int and value.bit_length() <= 64:
        return float(value)
    good = isinstance(value, expected) and not (isinstance(value, bool) and expected is not bool)
    if good and expected is list:
        good = all(isinstance(item, str) for item in value)
    if good:
        return value
    kind = {"list": "list of strings", "dict": "table"}.get(expected.__name__, expected.__name__)
    raise ValueError(f"must be of type {kind}, not {shown(value)}")


def _parse_text(text: str, default: Any) -> Any:
    """Return what a variable says: a list with commas between, true or 0, or as in JSON."""
    if default is None or isinstance(default, (str, Path)):
        return text
    text = text.strip()
    if isinstance(default, list) and not text.startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    if isinstance(default, bool):
        text = {"0": "false", "1": "true"}.get(text, text.lower())
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _path(text: str, base: Path) -> Path:
    """Return the path that a setting says.

    :raises ValueError: when there can be none; so do `RuntimeError` and `OSError`.
    """
    path = (base / Path(text).expanduser()).resolve()
    if len(os.fsencode(path)) < 4096 and all(len(os.fsencode(part)) < 256 for part in path.parts):
        return path
    raise ValueError("the name is too long")


def _links_out(vaults: Path, folder: Path) -> list[str]:
    """Return the links among the vaults of a project that lead out of it, and where to."""
    try:
        links = {link: real_path(link) for link in sorted(vaults.iterdir()) if link.is_symlink()}
    except OSError:  # no folder, or one that nobody may read
        return []
    return [f"{link} -> {to}" for link, to in links.items() if not to.is_relative_to(folder)]


def _where(name: str, origin: str) -> str:
    """Return the file or the variable that sets a setting."""
    return variable_of(name) if origin == ENVIRONMENT else origin


def variable_of(setting: str) -> str:
    """Return the variable of a setting: `RAG_SEARCH__TOP_K` of `search.top_k`."""
    return f"RAG_{setting.upper().replace('.', '__')}"


def _in_environment(env: Mapping[str, str], known: Collection[str]) -> dict[str, str]:
    """Return the settings that are in the environment, as text, by name.

    An empty value counts as unset. A name that cannot be a setting is not ours; one that is
    unknown, but in a known section, is among them.
    """
    names = {key[4:].lower().replace("__", "."): key for key in env if key.startswith("RAG_")}
    return {
        name: env[key]
        for name, key in names.items()
        if env[key] and (name in known or (name.partition(".")[0] in SECTIONS and "." in name))
    }


def unknown_in_environment(config: RAGConfig, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that look like settings and set nothing, each with the nearest name."""
    known = [*map(variable_of, values(config)), *_OTHER_VARIABLES]
    of_keys = [attrgetter(key.variable)(config) for key in KEYS]
    strange = (
        key
        for key, value in sorted(env.items())
        # `RAG_TEST_…` are those of the program's tests.
        if key.startswith("RAG_") and value and not key.startswith("RAG_TEST_")
    )
    return {key: _nearest(key, known) for key in strange if key not in {*known, *of_keys}}


def _nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    names = [*known]
    return next(iter(get_close_matches(name[:100], names, 1, 0)), names[0])
