"""How much of one note is read: bounds that no honest note meets, so that no other can take the
machine.

A note that goes beyond one is read as far as that; what was left out is reported in its problems,
and the rest of the note is found as ever. How many bytes are read at all says
`index.max_note_mb`.
"""

from __future__ import annotations

from functools import cache

# Each line is read by itself; a dictionary with a word on each line has a third of these.
MOST_LINES = 300_000

# Front matter is read by a YAML parser, whose cost rises faster than the text.
LONGEST_FRONT_MATTER = 50_000  # characters
MOST_NESTED = 32  # levels; the parser, which calls itself for each, crashes at 20,000

# Tags are stored with each chunk, and each is followed by its parents.
MOST_TAGS = 1_000  # parents too
MOST_TAG_LEVELS = 32
LONGEST_TAG = 200  # characters

# Titles and headings are stored and weighed with each chunk, aliases with the first.
LONGEST_TITLE = 500
LONGEST_HEADING = 500
MOST_HEADINGS = 10_000  # each may begin a chunk
MOST_ALIASES = 1_000
LONGEST_ALIAS = 200

MOST_LINKS = 10_000
LONGEST_LINK = 1_000

# 5 MB of English or Japanese make 4,400 chunks of the usual size.
MOST_CHUNKS = 4_500
# Each is measured. 5 MB of prose without a blank line have 17,000; past these the text is cut at
# spaces.
MOST_SENTENCES = 50_000
# 5 MB of English prose hold 30,000. Each new one is stemmed, hashed and remembered.
MOST_WORDS = 65_000
# What title and headings may come to in characters, and the tags, counted with each chunk that
# has them. 4,400 chunks may have 450 characters and 15 tags of a dozen characters each.
MOST_REPEATED = 2_000_000
MOST_OF_TAGS = 1_600_000
COST_OF_TAG = 12  # as many characters, beside its own

LARGEST_IGNORE_FILE = 100_000  # bytes; each of its patterns is tried on each file
LARGEST_PRINTED = 50_000_000  # bytes of a note, which is held as lines before it is printed


@cache  # a note may have a hundred thousand of them
def too_many(things: str, most: int) -> str:
    """Return the problem of a note that holds more things than are kept."""
    return f"more than {most:,} {things}: only the first {most:,} are kept"


def too_long(thing: str, longest: int) -> str:
    """Return the problem of a note with a thing that is left out for its length."""
    return f"a {thing} is longer than {longest:,} characters: it is left out"


def cut_short(thing: str, longest: int) -> str:
    """Return the problem of a note of whose thing only the beginning is kept."""
    return f"a {thing} is longer than {longest:,} characters: only its first {longest:,} are kept"
