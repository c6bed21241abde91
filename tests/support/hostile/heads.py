"""Hostile front matter. What cannot be made larger is followed by a body of plain words."""

from collections.abc import Callable

from hostile.making import counted, repeated, word

_PLAIN = "plain words "


def _front(block: str, size: int) -> str:
    """Return front matter, and as many plain words below it as make up the size."""
    return repeated(_PLAIN, size, f"---\n{block}\n---\n")


def _long(unit: str, head: str = "", tail: str = "") -> Callable[[int], str]:
    return lambda size: repeated(unit, size, f"---\n{head}", f"{tail}\n---\nbody\n")


def _counted(unit: Callable[[int], str], head: str = "", tail: str = "") -> Callable[[int], str]:
    return lambda size: counted(unit, size, f"---\n{head}", f"{tail}\n---\nbody\n")


def merge_keys(levels: int) -> str:
    """Return mappings each of which merges the one before nine times: .4 KB is 9^11 pairs."""
    lines = ["a0: &a0 {k: v}"]
    for level in range(1, levels):
        again = ",".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} {{<<: [{again}]}}")
    return "\n".join(lines)


def laughs(levels: int) -> str:
    """Return lists each of which holds the one before nine times: the billion laughs."""
    rest = [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(["a0: &a0 [ha]", *rest])


_INDENTED = "\n".join(f"{' ' * depth}a:" for depth in range(400))

FAMILIES: dict[str, Callable[[int], str]] = {
    "merge keys": lambda size: _front(merge_keys(12), size),
    "merge keys in one entry": lambda size: _front(
        "x: [\n " + merge_keys(12).replace("\n", ",\n ") + "]\n: broken", size
    ),
    "merge of itself": lambda size: _front("a: &a\n  <<: *a", size),
    "aliases of aliases": lambda size: _front(laughs(12) + "\ntags: *a11\naliases: *a11", size),
    "alias of itself": lambda size: _front("tags: &a [*a, b]\naliases: *a", size),
    "many anchors": _counted(lambda n: f"&a{n} x, *a{n}, ", "a: [", "z]"),
    "nested flow lists": _long("["),
    "nested flow lists, closed": lambda size: _front(f"a: {'[' * 9000}{']' * 9000}", size),
    "nested flow mappings": _long("{a: "),
    "nested block lists": _long("- "),
    "nested keys": lambda size: _front(_INDENTED, size),
    "explicit keys": _long("? "),
    "front matter tags in a list": _counted(lambda n: f"{word(n)}, ", "tags: [", "z]"),
    "front matter tags in a text": _counted(lambda n: f"{word(n)}, ", "tags: "),
    "front matter nested tag": _long("a/", "tags: [", "a]"),
    "front matter aliases": _counted(lambda n: f"{word(n)} {word(n + 1)}, ", "aliases: [", "z]"),
    "front matter fields": _counted(lambda n: f"{word(n)}: {n}, ", "{", "z: 1}"),
    "front matter number": _long("9", "a: "),
    "front matter sexagesimal number": _long(":1", "a: 1"),
    "front matter date": _long("0", "date: 2024-01-01 "),
    "front matter title": _long("title and words ", "title: "),
    "front matter quotes": _long("'\"", "a: "),
    "front matter spaces": _long(" ", "a:", "b"),
    "front matter words without a key": _long("word "),
    "front matter simple line": _long("word ", "a: ", "!"),
    "front matter simple list": _long("word, ", "a: [", "!"),
    "front matter keys and colons": _long("a: "),
    "front matter comments": _long("#"),
    "front matter tabs": _long("\t", "a:\n", "- b"),
    "front matter controls": _long("\x07", "a: "),
    "front matter lines": lambda size: repeated("a: [\n", size, "---\n", "---\n"),
    "front matter never closed": lambda size: repeated("a: b\n", size, "---\n"),
    "front matter folded": _long("word " * 50 + "\n\n ", "a: >\n "),
    "front matter escapes": _long("\\u0301", 'title: "a', '"'),
    "front matter combining marks": _long("\u0301\u0323", "tags: [a", "]"),
}

FRAGMENTS = [
    "---\n", "\n---\n", "a: ", "tags: ", "aliases: ", "title: ", "date: ", "&a ", "*a", "<<: ",
    "<<: *a", "[", "]", "{", "}", "- ", "? ", "!!", "!!binary ", "!!set ", "!!omap ", "|\n ",
    ">\n ", "'", '"', "\\u0301", "1:1", "0x1", "1e9", "%YAML 1.2", "# ", ", ", ": ", "\t",
    "...\n", "~",
]  # fmt: skip
