"""The command that adds a library to this program, as it was installed."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

DISTRIBUTION = "rag-notes"


def add_extra(extra: str) -> str:
    """Return the sentence that says how to add what an extra of the distribution names."""
    return f"That takes `{command_to_add(extra)}`; `rag doctor` then checks it."


def command_to_add(extra: str) -> str:
    """Return the command that installs what an extra of the distribution names.

    It names the libraries themselves: pipx leaves alone what it finds installed, and pip would look
    for the distribution in an index, where a wheel or a checkout was given."""
    libraries, installer = [f"{DISTRIBUTION}[{extra}]"], ""
    with suppress(PackageNotFoundError, OSError):
        ours = distribution(DISTRIBUTION)
        ends = (f'extra == "{extra}"', f"extra == '{extra}'")
        required = [line for line in ours.requires or () if line.endswith(ends)]
        libraries = [line.partition(";")[0].strip() for line in required] or libraries
        installer = (ours.read_text("INSTALLER") or "").strip()
    names, python = shlex.join(libraries), shlex.quote(sys.executable)
    if (Path(sys.prefix) / "pipx_metadata.json").is_file():
        return f"pipx inject {shlex.quote(Path(sys.prefix).name)} {names}"
    if installer == "uv":  # which puts no pip there
        return f"uv pip install --python {python} {names}"
    return f"{python} -m pip install {names}"
