"""How this program was installed, and the command that adds a library to it."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

DISTRIBUTION = "rag-notes"


def add_extra(extra: str) -> str:
    """Return the sentence that says how to add what an extra of the distribution names."""
    return f"That takes `{command_to_add(extra)}`; `rag doctor` then checks it."


def command_to_add(extra: str) -> str:
    """Return the command that installs what an extra of the distribution names.

    It names the libraries themselves: pipx leaves alone what it finds installed, and pip would look
    for the distribution in an index, where a wheel or a checkout was given.

    :param extra: the name of an optional dependency in pyproject.toml.
    """
    libraries = [shlex.quote(library) for library in _libraries(extra)]
    folder, names = Path(sys.prefix), " ".join(libraries)
    python = shlex.quote(sys.executable)
    if (folder / "uv-receipt.toml").is_file():
        added = " ".join(f"--with {library}" for library in libraries)
        return f"uv tool install {added} {shlex.quote(_origin())}"
    if (folder / "pipx_metadata.json").is_file():
        return f"pipx inject {shlex.quote(folder.name)} {names}"
    if _metadata("INSTALLER").strip() == "uv":  # which puts no pip there
        return f"uv pip install --python {python} {names}"
    return f"{python} -m pip install {names}"


def _libraries(extra: str) -> list[str]:
    """Return the requirements of an extra, without their markers."""
    try:
        required = distribution(DISTRIBUTION).requires or []
    except PackageNotFoundError:
        required = []
    marks = (f'extra == "{extra}"', f"extra == '{extra}'")
    libraries = [one.partition(";")[0].strip() for one in required if any(m in one for m in marks)]
    return libraries or [f"{DISTRIBUTION}[{extra}]"]


def _origin() -> str:
    """Return the wheel or folder that was installed from; the distribution, where there is none."""
    address = urlsplit(json.loads(_metadata("direct_url.json") or "{}").get("url", ""))
    return url2pathname(address.path) if address.scheme == "file" else DISTRIBUTION


def _metadata(name: str) -> str:
    try:
        return distribution(DISTRIBUTION).read_text(name) or ""
    except (PackageNotFoundError, OSError):
        return ""
