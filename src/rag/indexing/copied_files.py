"""Files whose times are those of a copy: a clone of a vault writes all of them within moments, and
what they say is no date of a note."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag.index.vault_facts import Span

_MINUTE = 60_000_000_000  # nanoseconds
_FEWEST = 5  # files; fewer may be written by hand
_MOST_SPANS = 8  # that are remembered of a vault
_ROUNDED = 1_000  # nanoseconds, by which a time in seconds may be wrong


def spans_of_copies(times: Iterable[int], known: Sequence[Span] = ()) -> tuple[Span, ...]:
    """Return the minutes in which a vault was copied, each by its first and last moment.

    That is a minute in which more than half of its files, and at least 5, were last written. What
    was found once stays so, though files are edited later; those have times of their own then.

    :param times: when each file of the vault was last written, in nanoseconds since the epoch.
    :param known: what was found before.
    """
    ordered = sorted(times)
    most = max(len(ordered) // 2, _FEWEST - 1)
    for first, last in zip(ordered, ordered[most:], strict=False):
        if last - first <= _MINUTE:
            if _holding(first / 1e9, known):
                break
            return (*known, (first, first + _MINUTE))[-_MOST_SPANS:]
    return tuple(known)


def own_time(seconds: float | None, copied: Sequence[Span]) -> float | None:
    """Return the time of a file; `None` where it is that of a copy, or not known.

    :param seconds: since the epoch.
    """
    return None if seconds is None or _holding(seconds, copied) else seconds


def _holding(seconds: float, spans: Sequence[Span]) -> bool:
    moment = int(seconds * 1e9)
    return any(first - _ROUNDED <= moment <= last + _ROUNDED for first, last in spans)
