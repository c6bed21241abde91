"""Opening a result with the program that opens links."""

from __future__ import annotations

import shlex
import subprocess
import sys

from rag.cli.render.console import say
from rag.exceptions import UsageError

_SECONDS = 3.0  # in which an opener that fails has said so; one that is still there shows the note


def open_link(link: str, opener: str) -> None:
    """Open a link.

    :param opener: the command, with its options; empty for that of the system.
    :raises UsageError: when there is no such command, or it fails.
    """
    default = "open" if sys.platform == "darwin" else "xdg-open"
    try:
        command = shlex.split(opener) or [default]
    except ValueError as error:
        raise UsageError(
            f"links.opener is no command: {error}", hint="See `rag config`."
        ) from error
    say(f"opening {link}")
    nowhere = subprocess.DEVNULL
    try:
        running = subprocess.Popen(
            [*command, link], stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
        code = running.wait(_SECONDS)
    except OSError as error:
        why = f"{command[0]} cannot be run: {error.strerror or error}"
        raise UsageError(why, hint="Name another command in links.opener.") from error
    except subprocess.TimeoutExpired:
        return
    if code:
        raise UsageError(
            f"{command[0]} could not open it (exit code {code})",
            hint="links.opener names another command, links.uri another kind of link.",
        )
