"""How this program was installed, and the command that adds a library to it."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
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
    folder = Path(sys.prefix)
    if (folder / "uv-receipt.toml").is_file():
        # uv forgets what an earlier command added, unless it is named again.
        added = [shlex.quote(library) for library in _added_by_uv(folder / "uv-receipt.toml")]
        names = " ".join(f"--with {library}" for library in dict.fromkeys([*added, *libraries]))
        return f"uv tool install {names} {shlex.quote(_origin())}"
    names = " ".join(libraries)
    if (folder / "pipx_metadata.json").is_file():
        return f"pipx inject {shlex.quote(folder.name)} {names}"
    if _was_installed_by() == "uv":
        return f"uv pip install --python {shlex.quote(sys.executable)} {names}"
    return f"{shlex.quote(sys.executable)} -m pip install {names}"


def _libraries(extra: str) -> list[str]:
    """Return the requirements of an extra, without their markers."""
    try:
        required = distribution(DISTRIBUTION).requires or []
    except PackageNotFoundError:
        required = []
    marks = (f'extra == "{extra}"', f"extra == '{extra}'")
    found = [one.partition(";")[0].strip() for one in required if any(m in one for m in marks)]
    return found or [f"{DISTRIBUTION}[{extra}]"]


def _added_by_uv(receipt: Path) -> list[str]:
    """Return the libraries that `uv tool install --with` added before."""
    try:
        requirements = tomllib.loads(receipt.read_text("utf-8"))["tool"]["requirements"]
    except (OSError, ValueError, KeyError):
        return []
    others = [one for one in requirements if one.get("name") != DISTRIBUTION]
    return [_as_requirement(one) for one in others]


def _as_requirement(one: dict[str, Any]) -> str:
    extras = ",".join(one.get("extras", []))
    return f"{one['name']}{f'[{extras}]' if extras else ''}{one.get('specifier', '')}"


def _origin() -> str:
    """Return the wheel or folder that was installed from; the distribution, where there is none."""
    try:
        said = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
        address = urlsplit(said.get("url", ""))
    except (PackageNotFoundError, ValueError, OSError):
        return DISTRIBUTION
    return url2pathname(address.path) if address.scheme == "file" else DISTRIBUTION


def _was_installed_by() -> str:
    try:
        return (distribution(DISTRIBUTION).read_text("INSTALLER") or "").strip()
    except (PackageNotFoundError, OSError):
        return ""
