"""What goes wrong with the engine, as errors of ours."""

from __future__ import annotations

import signal

from rag.exceptions import ConnectionError, ModelError, Remedy

PLACE = "this machine's processor"
_HINT = "Report it with the text; another embedding.provider does without the engine."


def ended(code: int) -> ModelError:
    """Return what the end of a process of the engine means.

    :param code: its exit code, negative for a signal.
    """
    why = f"exit code {code}"
    if code < 0:
        try:
            why = signal.Signals(-code).name
        except ValueError:
            why = f"signal {-code}"
    return ModelError(f"the embedding engine ended ({why})", PLACE, hint=_HINT)


def silent(seconds: float) -> ModelError:
    """Return that the engine did not come to an end."""
    return ModelError(f"the embedding engine did not answer in {seconds:g} s", PLACE, hint=_HINT)


def raised(error: BaseException) -> ConnectionError:
    """Return what an error in a process of the engine means."""
    return ModelError(f"the embedding engine failed ({error})", PLACE, hint=_HINT)


def not_installed() -> ConnectionError:
    """Return that there is no engine."""
    return ConnectionError(
        "the built-in embedding model is not installed",
        PLACE,
        hint="Install it, or set another embedding.provider.",
        remedy=Remedy.ADD_EXTRA,
        subject="builtin",
    )
