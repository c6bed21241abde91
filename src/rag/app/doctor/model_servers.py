"""The model servers and their models."""

from __future__ import annotations

from collections.abc import Iterator

from rag.app.doctor.check import Check, Examination, Status, from_error
from rag.clients.ollama.inventory import ServerView, can_embed, fixed_chat_model, survey
from rag.clients.ollama.model_info import ModelInfo, can_chat
from rag.exceptions import Message, ModelMissingError, RAGError, Remedy
from rag.text.messages import plural

_EMBED = Message(remedy=Remedy.MAKE_VECTORS_ANEW)


def check_servers(examination: Examination) -> Iterator[Check]:
    """Say of every configured server whether it answers."""
    ollama = examination.config.ollama
    if not ollama.enabled:
        message = "off (ollama.enabled = false): search is by words, answers are quotations"
        yield Check("ollama", "pass", message)
        return
    examination.servers = survey(ollama)
    for found in (view.connection for view in examination.servers):
        facts = {
            "server": found.server,
            "version": found.version,
            "models": list(found.models),
            "milliseconds": round(found.milliseconds),
        }
        if found.error is None:
            message = f"{found.version} at {found.server}, {plural(len(found.models), 'model')}, "
            message += f"{found.milliseconds:,.0f} ms"
            yield Check("ollama", "pass", message, facts=facts)
        else:
            yield from_error("ollama", found.error, examination.without_models, **facts)


def check_models(examination: Examination) -> Iterator[Check]:
    """Say of every server that answers whether it has the models that are wanted of it."""
    ollama = examination.config.ollama
    for view in examination.servers:
        url = view.connection.server
        if isinstance(view.embedding, ModelInfo):
            yield _check_embedding(view.embedding, url, examination)
        elif view.embedding:
            status = examination.without_models
            yield _useless("embedding model", view.embedding, url, status, examination)
    for view in examination.servers:
        if view.connection.reachable and view.connection.server == ollama.local_url:
            yield _check_chat(view, examination)


def _useless(
    name: str, error: RAGError, url: str, status: Status, examination: Examination
) -> Check:
    """A model that is missing is a failure only where the user asked for it."""
    setting = f"ollama.{name.replace(' ', '_')}"
    if isinstance(error, ModelMissingError) and examination.is_chosen(setting):
        status = "fail"
    return from_error(name, error, status, server=url)


def _check_embedding(model: ModelInfo, url: str, examination: Examination) -> Check:
    facts = {
        "server": url,
        "model": model.name,
        "digest": model.digest,
        "context": model.limit,
        "dimension": model.dimension,
    }
    name = "embedding model"
    if not can_embed(model) and model.capabilities:
        hint = f"Name another in ollama.embedding_model: `ollama show {model.name}`"
        return Check(name, "fail", f"{model.name} at {url} gives no vectors", hint, facts)
    index = examination.index
    space = index.embedding.space if index and index.embedding else None
    if space and space.is_configured(examination.config.ollama):
        if model.dimension and model.dimension != space.dimension:
            message = f"{model.name} at {url} gives {model.dimension:,} dimensions, "
            message += f"the index has {space.dimension:,}"
            return Check(name, "fail", message, _EMBED, facts)
        if space.digest and model.digest and space.digest != model.digest:
            message = f"{model.name} at {url} is not the one that made the vectors of the index"
            return Check(name, "fail", message, _EMBED, facts)
    size = examination.config.index.chunk_size
    if 0 < model.limit < size:
        message = f"{model.name} at {url} reads {model.limit:,} tokens; longer chunks "
        message += f"(index.chunk_size = {size:,}) are embedded in parts"
        hint = Message(
            hint=f"Set index.chunk_size below {model.limit:,}.",
            remedy=Remedy.SET_CHUNK_SIZE,
            subject=f"{model.limit:,}",
        )
        return Check(name, "warn", message, hint, facts)
    message = f"{model.name} at {url}: {model.dimension:,} dimensions, reads {model.limit:,} tokens"
    return Check(name, "pass", message, facts=facts)


def _check_chat(view: ServerView, examination: Examination) -> Check:
    name, url, model = "chat model", view.connection.server, view.chat
    fixed = fixed_chat_model(examination.config.ollama)
    if model is None:
        message = f"{url} has no model that writes answers: questions are answered by quotation"
        return Check(name, "warn", message, "`ollama pull llama3.2`", {"server": url})
    if isinstance(model, RAGError):
        return _useless(name, model, url, "warn", examination)
    facts = {"server": url, "model": model.name, "context": model.context, "fixed": bool(fixed)}
    if not can_chat(model):
        hint = f"Name another in ollama.chat_model: `ollama show {model.name}`"
        return Check(name, "fail", f"{model.name} at {url} writes no answers", hint, facts)
    how = "" if fixed else ", the first that can write answers"
    message = f"{model.name} at {url}{how}: reads {model.context:,} tokens"
    return Check(name, "pass", message, facts=facts)
