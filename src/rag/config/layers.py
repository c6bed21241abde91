"""Reading the settings in force: the defaults, the user's file, the project's file as far as the
user trusts it, and `RAG_*` in the environment. Later ones win."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Any

from rag.config.files import ProjectFile, find_project, read_settings, real_path, user_file
from rag.config.sections import (
    SECTIONS,
    Ask,
    LeftOut,
    OllamaConfig,
    PlannerConfig,
    Project,
    RAGConfig,
    Setting,
    models_config,
    settings,
)
from rag.config.servers import KEYS, hosts_in
from rag.config.trust import Place, read_trust, record, shown, takes_trust, visible
from rag.exceptions import LIST_SETTINGS, SHOW_SETTINGS, ConfigError

DEFAULT, ENVIRONMENT, BESIDE = "default", "environment", "default, beside the project file"
_TOLD = ("origins", "root", "project", "left_out", "vaults_within")  # what is told of settings
_OTHER_VARIABLES = ("RAG_CONFIG",)  # which the program reads, and are no settings


def load_config(
    path: str | Path | None = None, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> RAGConfig:
    """Read the settings in force.

    :param path: the project file; without it `RAG_CONFIG`, else `config/rag.toml` or
        `rag.toml` of the working folder or the nearest folder above it.
    :raises ConfigError: for a file that is missing or does not parse, an unknown setting, or
        a value that is not allowed.
    """
    env, cwd = os.environ if env is None else env, cwd or Path.cwd()
    return Layers(find_project(path, env, cwd), env, cwd).config()


def complete(config: RAGConfig | OllamaConfig | None = None) -> RAGConfig:
    """Return all settings: those given, else those in force with the `[ollama]` section given.

    Who gives one asks for Ollama, whichever provider the settings in force name.
    """
    if isinstance(config, OllamaConfig):
        given = models_config(config)
        return replace(load_config(), embedding=given.embedding, chat=given.chat, ollama=config)
    return config or load_config()


def project_of(place: Path) -> Project | None:
    """Return the project's file that is read in a folder, with what it asks for.

    :param place: the folder, or the file itself.
    :returns: `None` when none is read there, or another than the one named.
    """
    where = place.expanduser().absolute()
    folder = where
    if not where.is_dir():
        folder = where.parent.parent if where.parent.name == "config" else where.parent
    file = find_project(None, {}, folder)
    if file is None or (folder != where and file.file != real_path(where)):
        return None
    return Layers(file, {}, folder).project or Project(file.file)


def trust_own(file: Path, written: Collection[str]) -> None:
    """Trust a project's file that the program has just written for the user.

    :param written: the settings that it wrote; a file that asks for more is not trusted.
    """
    project = project_of(file)
    if project and project.asks and {ask.name for ask in project.asks} <= {*written}:
        record(project.file, project.digest)


def planner_config(given: Mapping[str, Any], origin: str) -> PlannerConfig:
    """Return the settings of the planner that were kept somewhere."""
    layers = Layers()
    layers.put(origin, layers.read(origin, Path(), {"planner": given}))
    return layers.config().planner


class Layers:
    """Settings by name, as far as they are set, and where each came from; without an environment
    only the defaults."""

    def __init__(
        self,
        project: ProjectFile | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.known = settings()
        self.values = {name: setting.default for name, setting in self.known.items()}
        self.origins = dict.fromkeys(self.known, DEFAULT)
        self.left_out: dict[str, LeftOut] = {}
        self.root = project.root if project else None
        self.project: Project | None = None
        self.vaults_within: Path | None = None
        if env is None or cwd is None:
            return
        if os.path.lexists(file := user_file()):
            self.put(str(file), self.read(str(file), file.parent, read_settings(file)[1]))
        users_own = {**self.values}
        # An empty variable counts as unset. A name that cannot be a setting is not ours; one that
        # is unknown, but in a known section, is a mistake.
        texts = {
            name: text
            for key, text in env.items()
            if key.startswith("RAG_") and text
            for name in [key[4:].lower().replace("__", ".")]
            if name in self.known or name.partition(".")[0] in SECTIONS
        }
        variables = self.read(ENVIRONMENT, cwd, texts)
        if project:
            self._put_project(project, variables)
        self.put(ENVIRONMENT, variables)
        if project:
            self._withhold_keys(str(project.file), users_own)

    def put(self, origin: str, layer: Mapping[str, Any]) -> None:
        """Put a layer on top."""
        self.values.update(layer)
        self.origins.update(dict.fromkeys(layer, origin))

    def read(self, origin: str, base: Path, tree: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a layer by their names, each of its setting's type.

        :param base: the folder that its paths are relative to.
        :raises ConfigError: for an unknown setting or a value of another type.
        """
        flat: dict[str, Any] = {}
        for key, value in tree.items():
            if key in SECTIONS and isinstance(value, dict):
                flat |= {f"{key}.{inner}": v for inner, v in value.items()}
            else:
                flat[key] = value
        layer = {}
        for name, value in flat.items():
            setting = self.known.get(name)
            if setting is None:
                where = variable_of(name) if origin == ENVIRONMENT else origin
                if name in SECTIONS:
                    raise ConfigError(f"{name} must be a table (from {where})", hint=SHOW_SETTINGS)
                raise unknown_setting(name, f" in {where}")
            try:
                layer[name] = _typed(setting, value, base, is_text=origin == ENVIRONMENT)
            except (ValueError, RuntimeError, OSError, OverflowError):  # a zero byte, ~nobody
                raise _refusal(setting, value, origin) from None
        return layer

    def _put_project(self, project: ProjectFile, overridden: Collection[str]) -> None:
        """Put a project's file on top as far as it counts, and below it `vaults` beside it."""
        origin = str(project.file)
        own = self.read(origin, project.root, project.settings)
        for name in {key.hosts for key in KEYS} & {*own}:
            reason = "a project's file may not name hosts for your key"
            hint = f"Set it in {user_file()}, or with {variable_of(name)}."
            self.left_out[name] = LeftOut(shown(own.pop(name)), reason, hint)
        vaults = project.root / "vaults"
        beside = {"vaults_dir": vaults} if "vaults_dir" not in own and vaults.is_dir() else {}
        offered = {**beside, **own}
        refused = () if project.is_named else self._refused(project, offered, overridden)
        for where, layer in ((BESIDE, beside), (origin, own)):
            self.put(where, {n: v for n, v in layer.items() if n not in refused})

    def _refused(
        self, project: ProjectFile, offered: Mapping[str, Any], overridden: Collection[str]
    ) -> Collection[str]:
        """Return the names of what does not count for want of trust; note why, and what it asks."""
        folder = project.folder
        has_vaults = self.origins["vaults_dir"] != DEFAULT or "vaults_dir" in overridden
        changed = {n: v for n, v in offered.items() if v != self.values[n]}
        asked = {n: v for n, v in changed.items() if takes_trust(n, v, Place(folder, has_vaults))}
        if any(name.startswith("routes.") for name in asked):  # they make sense together only
            asked |= {n: v for n, v in changed.items() if n.startswith("routes.")}
        vaults = offered.get("vaults_dir") if "vaults_dir" not in asked else None
        if vaults and "vaults_dir" not in overridden:
            self.vaults_within = folder
        links: list[str] = []  # among the vaults, that lead out of the project, and where to
        with suppress(OSError):  # no folder, or one that nobody may read
            inside = sorted(vaults.iterdir()) if vaults else []
            ends = [(link, real_path(link)) for link in inside if link.is_symlink()]
            links = [f"{link} -> {to}" for link, to in ends if not to.is_relative_to(folder)]
        asks = [Ask(name, shown(value)) for name, value in asked.items()]
        asks += [Ask("vaults_dir", shown(links))] if links else []
        if not asks:
            return ()
        digest = sha256(project.content)
        # A link in the project could be turned elsewhere while the file stays as it is.
        if outside := [f"{n} {v}" for n, v in asked.items() if isinstance(v, Path)] + links:
            digest.update(b"\0" + json.dumps(outside).encode())
        entry, content = read_trust().get(str(project.file)), digest.hexdigest()
        is_trusted = bool(entry and entry.trusted and entry.sha256 == content)
        self.project = Project(project.file, content, tuple(asks), is_trusted)
        if is_trusted:
            self.vaults_within = None
            return ()
        reason = visible(f"{project.file} is not trusted")
        hint = "`rag trust` shows what it asks for, and trusts it."
        self.left_out |= {
            name: LeftOut(value, reason, hint) for name, value in asks if name not in overridden
        }
        return asked

    def _withhold_keys(self, project: str, users_own: Mapping[str, Any]) -> None:
        """Take the variable of a key away where only a project's file names one of the servers:
        that the user trusts the file does not mean that its server may have the user's key."""
        for key in KEYS:
            variable = self.values[key.variable]
            if self.origins[key.url] != project or not variable:
                continue
            allowed = {name.strip().lower() for name in self.values[key.hosts]}
            allowed |= hosts_in(users_own[key.url]) - {""}
            if strange := sorted(hosts_in(self.values[key.url]) - allowed):
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
        tables: dict[str, dict[str, Any]] = {section: {} for section in ("", *SECTIONS)}
        for name, value in self.values.items():
            section, _, key = name.rpartition(".")
            tables[section][key] = value
        sections = {name: kind(**tables[name]) for name, kind in SECTIONS.items()}
        facts = {name: getattr(self, name) for name in _TOLD}
        config = RAGConfig(**tables[""], **sections, **facts)
        changed = {n.rpartition(".")[0] for n, o in self.origins.items() if o != DEFAULT}
        for name, setting in self.known.items():
            section, value = name.rpartition(".")[0], self.values[name]
            if section in changed and not setting.test(value, sections.get(section, config)):
                raise _refusal(setting, value, self.origins[name])
        return config


def unknown_setting(name: str, where: str = "") -> ConfigError:
    """Return the error for a setting that does not exist, with the nearest name."""
    near = _nearest(name, [*settings(), *SECTIONS])
    hint = f"Did you mean {near!r}? {LIST_SETTINGS}" if near else LIST_SETTINGS
    return ConfigError(f"unknown setting {name[:100]!r}{where}", hint=hint)


def _refusal(setting: Setting, value: Any, origin: str) -> ConfigError:
    where = variable_of(setting.name) if origin == ENVIRONMENT else origin
    is_shown = isinstance(setting.default, (bool, int, float))
    # Another text may be a key or a password: it is not repeated.
    given = f", not {repr(value)[:100]}" if is_shown or setting.demand[:6] == "one of" else ""
    message = f"{setting.name} must be {setting.demand}{given} (from {where})"
    return ConfigError(message, hint=SHOW_SETTINGS)


def _typed(setting: Setting, value: Any, base: Path, is_text: bool) -> Any:
    """Return a value as the type of its setting, or raise an error of a value, path or number. The
    text of a variable is a list with commas between, true or 0, or as in JSON."""
    default = setting.default
    if default is None or isinstance(default, Path):
        if not isinstance(value, str) or max(map(len, Path(value).parts), default=0) > 255:
            raise ValueError
        return (base / Path(value).expanduser()).resolve()
    kind = type(default)
    if is_text and kind is not str:
        text = value.strip()
        if kind is list and not text.startswith("["):
            return [item.strip() for item in text.split(",") if item.strip()]
        if kind is bool:
            text = {"0": "false", "1": "true"}.get(text, text.lower())
        value = json.loads(text)
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        raise ValueError
    if setting.name == "store.url" and isinstance(value, list):
        return ",".join(value)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError
    return value


def variable_of(setting: str) -> str:
    """Return the variable of a setting: `RAG_SEARCH__TOP_K` of `search.top_k`."""
    return f"RAG_{setting.upper().replace('.', '__')}"


def unknown_in_environment(config: RAGConfig, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that look like settings and set nothing, each with the nearest name, or
    with "" where none is near."""
    names = settings()
    of_keys = [attrgetter(key.variable)(config) for key in KEYS]
    strange = [
        key
        for key, value in sorted(env.items())
        # `RAG_TEST_…` are those of the program's tests.
        if key.startswith("RAG_") and value and not key.startswith("RAG_TEST_")
        if key[4:].lower().replace("__", ".") not in names or not key.isupper()
        if key not in {*_OTHER_VARIABLES, *of_keys}
    ]
    return {key: _nearest(key, [*map(variable_of, names), *_OTHER_VARIABLES]) for key in strange}


def _nearest(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name[:100], list(names), 1, 0.7)), "")
