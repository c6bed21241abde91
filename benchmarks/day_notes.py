"""A vault of a journal keeper: days of one template, and notes on the topics of some of them.

Of 60 English and 40 Japanese days, some speak of a topic that has a note of its own, in other
words than that note does; the others tell of nothing that has one. The texts are in
`questions/day-notes.json`.
"""

import json
from datetime import date, timedelta
from pathlib import Path

_TEXTS = json.loads((Path(__file__).parent / "questions" / "day-notes.json").read_text("utf-8"))
_DAYS = {"en": 60, "ja": 40}
# By the number of a day, the topic that it speaks of, and what it says.
EN_SPOKEN, JA_SPOKEN = (
    {int(number): tuple(text) for number, text in _TEXTS["spoken"][language].items()}
    for language in _DAYS
)


def day_path(number: int) -> str:
    """Return the path of a day of the journal, in either language."""
    return f"days/{_day(number)}.md"


def english_days() -> dict[str, str]:
    """Return 60 days and eight topics: the notes of a vault, by path."""
    return _notes("en", EN_SPOKEN)


def japanese_days() -> dict[str, str]:
    """Return 40 days and five topics: the notes of a vault, by path."""
    return _notes("ja", JA_SPOKEN)


def _notes(language: str, spoken: dict[int, tuple[str, ...]]) -> dict[str, str]:
    log, must, sky = (_TEXTS[kind][language] for kind in ("log", "must", "sky"))
    notes = {
        f"topics/{title}.md": f"# {title}\n\n{text}\n"
        for title, text in _TEXTS["topics"][language].items()
    }
    for number in range(_DAYS[language]):
        notes[day_path(number)] = _TEXTS["day"][language].format(
            day=_day(number),
            hours=6 + number % 3,
            sky=sky[number * 3 % len(sky)],
            degrees=4 + number * 5 % 17,
            must=must[number * 2 % len(must)],
            log=spoken[number][1] if number in spoken else log[number * 4 % len(log)],
        )
    return notes


def _day(number: int) -> date:
    return date(2026, 2, 1) + timedelta(number)
