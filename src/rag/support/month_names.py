"""The names of months: English ones whole or in three letters, those of other languages whole."""

from __future__ import annotations

import re
import unicodedata

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
# In German, French, Spanish, Italian, Portuguese and Dutch.
_OTHERS = (
    *(
        "januar jänner janvier enero gennaio janeiro januari",
        "februar février febrero febbraio fevereiro februari",
    ),
    *("märz mars marzo março maart", "avril abril aprile", "mai mayo maggio maio mei"),
    *("juni juin junio giugno junho", "juli juillet julio luglio julho", "août agosto augustus"),
    *("septembre septiembre settembre setembro", "oktober octobre octubre ottobre outubro"),
    *("novembre noviembre novembro", "dezember décembre diciembre dicembre dezembro"),
)
_MARKS = re.compile("[\u0300-\u036f]")
_NUMBERS = {
    form: number
    for number, names in enumerate(_OTHERS, 1)
    for name in names.split()
    for form in (name, _MARKS.sub("", unicodedata.normalize("NFD", name)))
}
ENGLISH_MONTH = rf"{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in MONTHS)}|sept"
FOREIGN_MONTH = rf"(?:{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})(?!\w)"
# A pattern of them all, of a text in normal form; a letter may not follow.
MONTH = rf"(?:{FOREIGN_MONTH}|(?:{ENGLISH_MONTH})(?![a-z]))"
# What may stand between the number of a day and the name of its month (`1º` is `1o` in normal
# form), and between that and a year.
DAY_OF = r"(?:st|nd|rd|th|er|[.o])?(?: (?:of|de|di))? "
YEAR_OF = r"(?:\.|,)?(?: del?)? "


def month_number(name: str) -> int:
    """Return the number, from 1, of a month by its name, or the first three letters of it.

    >>> month_number("sept"), month_number("May"), month_number("Juillet")
    (9, 5, 7)
    """
    number = _NUMBERS.get(name.lower())
    return number or [month[:3] for month in MONTHS].index(name[:3].lower()) + 1
