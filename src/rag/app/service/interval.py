"""How often a job runs: a number of minutes, hours or days."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from rag.exceptions import UsageError

_HOUR, _DAY = 60, 24 * 60
_MOST = 30 * _DAY
_NOON = 12 * _HOUR  # when a daily job runs: machines that sleep at night are on
_UNITS = {"m": 1, "h": _HOUR, "d": _DAY}
_EXAMPLES = "Say a number and m, h or d: 15m, 2h, 1d."


@dataclass(frozen=True)
class Interval:
    """A time between two runs.

    :param minutes: from 1 to those of 30 days.
    """

    minutes: int

    def __str__(self) -> str:
        """Return it in the largest unit that it is a whole number of: `15m`, `2h`, `1d`."""
        unit = next(unit for unit in "dhm" if self.minutes % _UNITS[unit] == 0)
        return f"{self.minutes // _UNITS[unit]}{unit}"

    @property
    def is_even(self) -> bool:
        """Whether it divides an hour, or a day by whole hours, so that runs are at the same times
        of every day."""
        hours = self.minutes % _HOUR == 0
        return _DAY % self.minutes == 0 if hours else _HOUR % self.minutes == 0

    def next_after(self, now: datetime) -> datetime:
        """Return when an even interval next begins.

        :param now: in the time of this place.
        """
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        first = _NOON if self.minutes == _DAY else 0
        passed = (now - midnight) // timedelta(minutes=1) - first
        return midnight + timedelta(minutes=first + (passed // self.minutes + 1) * self.minutes)


EVEN = tuple(one for one in map(Interval, range(1, _DAY + 1)) if one.is_even)


def parse_interval(text: str) -> Interval:
    """Return the interval that a text names: `15m`, `2h`, `1d`.

    :raises UsageError: for any other text, and for less than a minute or more than 30 days.
    """
    found = re.fullmatch(r"(\d{1,9}) ?([smhd])", text.strip(), re.ASCII)
    if found is None:
        raise UsageError(f"{text!r} is no interval", hint=_EXAMPLES)
    number, unit = int(found[1]), found[2]
    if unit == "s" and number >= 60:
        raise UsageError(f"{text!r} is no interval: seconds are not counted", hint=_EXAMPLES)
    if unit == "s" or number == 0:
        raise UsageError(f"{text!r} is too short: 1m is the least", hint=_EXAMPLES)
    minutes = number * _UNITS[unit]
    if minutes > _MOST:
        raise UsageError(f"{text!r} is too long: {Interval(_MOST)} is the most", hint=_EXAMPLES)
    return Interval(minutes)


def nearest_even(interval: Interval) -> list[Interval]:
    """Return the even intervals next to one that is not: the longest that is shorter, and the
    shortest that is longer where there is one."""
    shorter = [one for one in EVEN if one.minutes < interval.minutes]
    longer = [one for one in EVEN if one.minutes > interval.minutes]
    return [*shorter[-1:], *longer[:1]]
