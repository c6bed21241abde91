"""The Qdrant server, where one is configured."""

from __future__ import annotations

from collections.abc import Iterator

import httpx

from rag.app.doctor.check import Check, Examination
from rag.exceptions import Message, Remedy
from rag.stores.server.api_key import server_key
from rag.support.http_transport import DeadlineTransport

_SECONDS = 3.0  # for each of two requests


def check_server(examination: Examination) -> Iterator[Check]:
    """Say whether the configured Qdrant server answers, and what it is.

    :raises ConfigError: when its API key could not be sent, or would travel in the clear.
    """
    store = examination.config.store
    url, variable = store.url, store.api_key_env
    if not url:
        return
    key = server_key(store)
    facts = {"server": url}
    try:
        version = _ask(url, key)
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        hint: str = Message(hint="Check store.url.", remedy=Remedy.CHECK_STORE_URL)
        if status in (401, 403):
            where = f"in {variable}" if variable else "in the variable that store.api_key_env names"
            hint = f"Put the server's API key {where}."
        yield Check("qdrant", "fail", f"{url} answered with error {status}", hint, facts)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, RecursionError) as error:
        said = str(error).replace(key, "…") if key else str(error)
        message = f"{url} does not answer as Qdrant does ({said or type(error).__name__})"
        yield Check(
            "qdrant",
            "fail",
            message,
            Message(hint="Start it, or check store.url.", remedy=Remedy.START_STORE),
            facts,
        )
    else:
        yield Check("qdrant", "pass", f"{version} at {url}", facts=facts | {"version": version})


def _ask(url: str, key: str) -> str:
    """Return the version of a server that is ready.

    :raises httpx.HTTPError: when it does not answer, or with an error.
    :raises ValueError: when it is no Qdrant.
    """
    base = url.rstrip("/")
    with httpx.Client(
        transport=DeadlineTransport(httpx.URL(base), _SECONDS),
        timeout=_SECONDS,
        headers={"api-key": key} if key else {},
        trust_env=False,
    ) as client:
        client.get(f"{base}/readyz").raise_for_status()
        about = client.get(f"{base}/").raise_for_status().json()
    if not isinstance(about, dict) or "version" not in about:
        raise ValueError("no version")
    return str(about["version"])
