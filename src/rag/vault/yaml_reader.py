"""YAML from strangers: refused before it is built where it is nested too deep, or where aliases
and merge keys stand for too much.

The parser calls itself for each level, outside of Python, and ends the process where the stack
does. Merge keys are copied for each name they are merged into, so that ten lines can stand for
a thousand million values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rag.vault.limits import MOST_NESTED, MOST_VALUES

# A block is certainly not nested too deep when it opens few brackets and no line begins far from
# the margin: each level of a block begins at a column of its own, or at that of the key it is in.
_FEW_BRACKETS = 12
_NEAR = 8
_FAR = re.compile(rf"^[ \t?:-]{{{_NEAR + 1},}}", re.MULTILINE)
_LONGEST_NUMBER = 300  # characters; to read one costs the square of them
_LONG_NUMBER = re.compile(rf"\d[\d:._]{{{_LONGEST_NUMBER}}}")
_TOO_DEEP = f"nested deeper than {MOST_NESTED} levels"
_UNKNOWN = (0, 0)
assert _FEW_BRACKETS + 2 * (_NEAR + 1) <= MOST_NESTED


def load_yaml(block: str) -> Any:
    """Return what a block of YAML holds.

    :raises ValueError: when it is nested too deep, its aliases stand for too much, or a number is
        too long.
    :raises Exception: whatever the parser says of a block that is no YAML.
    """
    from frontmatter.default_handlers import SafeLoader, YAMLHandler

    if _LONG_NUMBER.search(block):
        raise ValueError(f"a number of more than {_LONGEST_NUMBER} characters")
    if block.count("[") + block.count("{") > _FEW_BRACKETS or _FAR.search(block):
        _check_depth(SafeLoader(block))
    if "*" in block and "&" in block:
        _check_aliases(SafeLoader(block).get_single_node())
    return YAMLHandler().load(block)


def _check_depth(loader: Any) -> None:
    from yaml import CollectionEndEvent, CollectionStartEvent, YAMLError

    depth = 0
    while True:
        try:
            event = loader.get_event() if loader.check_event() else None
        except YAMLError as error:
            if "nesting depth" in str(error):  # a limit of the parser's own, in newer versions
                raise ValueError(_TOO_DEEP) from error
            raise
        if event is None:
            return
        if isinstance(event, CollectionStartEvent):
            depth += 1
            if depth > MOST_NESTED:
                raise ValueError(_TOO_DEEP)
        elif isinstance(event, CollectionEndEvent):
            depth -= 1


def _check_aliases(root: Any) -> None:
    """Count the values of a tree whose branches may be the same, each as often as it is named, and
    its levels."""
    counted: dict[int, tuple[int, int]] = {}  # values and levels by the identity of a node

    def count(node: Any) -> tuple[int, int]:
        if id(node) not in counted:
            counted[id(node)] = _UNKNOWN  # while its parts are counted
            values, levels = 1, 0
            for part in _parts(node):
                more, below = count(part)
                values, levels = values + more, max(levels, below + 1)
            counted[id(node)] = values, levels
        values, levels = counted[id(node)]
        if not values:
            raise ValueError("an alias stands within what it names")
        if levels > MOST_NESTED:
            raise ValueError(_TOO_DEEP)
        if values > MOST_VALUES:
            raise ValueError(f"aliases and merge keys stand for more than {MOST_VALUES:,} values")
        return values, levels

    if root is not None:
        count(root)


def _parts(node: Any) -> Iterator[Any]:
    """Yield what a node is made of: the members of a list, the keys and values of a mapping."""
    if node.id == "scalar":
        return
    for part in node.value:
        yield from part if isinstance(part, tuple) else (part,)
