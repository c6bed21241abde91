"""Forms of English verbs that no stemmer joins: keep and kept, go and went."""

from __future__ import annotations

_VERBS = """
become became, begin began begun, bite bit bitten, blow blew blown, break broke broken,
bring brought, build built, buy bought, catch caught, choose chose chosen, come came, dig dug,
do did done, draw drew drawn, drink drank drunk, drive drove driven, eat ate eaten,
fall fell fallen, feed fed, feel felt, fight fought, find found, fly flew flown,
forbid forbade forbidden, forget forgot forgotten, freeze froze frozen, get got gotten,
give gave given, go went gone, grow grew grown, hang hung, have had, hear heard,
hide hid hidden, hold held, keep kept, know knew known, lay laid, lead led, leave left,
lend lent, lose lost, make made, mean meant, meet met, pay paid, ride rode ridden,
ring rang rung, rise rose risen, run ran, say said, see saw seen, sell sold, send sent,
shake shook shaken, shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung,
sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken, spend spent, stand stood,
steal stole stolen, stick stuck, strike struck, swim swam swum, take took taken, teach taught,
tear tore torn, tell told, think thought, throw threw thrown, understand understood,
wake woke woken, wear wore worn, win won, wind wound, write wrote written
"""
_FORMS = [tuple(verb.split()) for verb in _VERBS.replace("\n", " ").split(",")]
_OTHERS = {form: tuple(f for f in forms if f != form) for forms in _FORMS for form in forms}


def other_forms(word: str) -> tuple[str, ...]:
    """Return the irregular forms of the verb that a word, in small letters, is a form of.

    >>> other_forms("kept"), other_forms("table")
    (('keep',), ())
    """
    return _OTHERS.get(word, ())
