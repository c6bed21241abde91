"""Texts of a given size from a unit that is repeated, or from one that counts."""

from collections.abc import Callable

_SPREAD = 2_654_435_761  # 2^32 / golden ratio: neighbouring numbers get words without likeness


def size_of(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def repeated(unit: str, size: int, head: str = "", tail: str = "") -> str:
    """Return `head`, as many units as fit, and `tail`."""
    room = size - size_of(head) - size_of(tail)
    return head + unit * max(0, room // size_of(unit)) + tail


def counted(unit: Callable[[int], str], size: int, head: str = "", tail: str = "") -> str:
    """Return `head`, the units of 0, 1, 2, … as far as they fit, and `tail`."""
    room = size - size_of(head) - size_of(tail)
    parts: list[str] = []
    number = 0
    while True:
        part = unit(number)
        room -= size_of(part)
        if room < 0:
            return head + "".join(parts) + tail
        parts.append(part)
        number += 1


def word(number: int) -> str:
    """Return a word of eight letters that no other number below 2^32 has."""
    spread = number * _SPREAD % 2**32
    return "".join(chr(97 + (spread >> shift & 15)) for shift in range(0, 32, 4))
