"""What libraries do not promise to keep is there, takes what it took, and nothing else is used."""

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from private_parts import PRIVATE_PARTS
from tables import rows

SOURCE = Path(__file__).resolve().parents[2] / "src" / "rag"
LISTED = {(part.used_by, part.name.rpartition(".")[2].rpartition(":")[2]) for part in PRIVATE_PARTS}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@rows("part", PRIVATE_PARTS)
def test_it_is_there_and_takes_what_it_took(part):
    module, _, name = part.name.partition(":")
    found: Any = import_module(module)
    *owners, last = name.split(".")
    for owner in filter(None, owners):
        found = getattr(found, owner)
    if last and not hasattr(found, last):  # of an instance
        assert f"self.{last}" in "".join(
            inspect.getsource(kind) for kind in found.__mro__ if kind is not object
        )
        return
    found = getattr(found, last) if last else found
    if part.parameters:
        assert part.parameters.split() == [*inspect.signature(found).parameters]


def private_uses() -> Iterator[tuple[str, str]]:
    """Yield module and name of what is imported that is private, and of what our classes use or
    stand in for that is private to a class of a library."""
    for file in sorted(SOURCE.rglob("*.py")):
        module = file.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((module, one.name) for one in node.names if is_private(one.name))
            elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("rag"):
                inside = any(map(is_private, (node.module or "").split(".")))
                names = [one.name for one in node.names]
                yield from ((module, name) for name in names if inside or is_private(name))
            elif isinstance(node, ast.ClassDef) and node.bases:
                used = {
                    *(inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)),
                    *(inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)),
                }
                names = [*filter(is_private, used)]
                theirs = inherited(module, node.name) if names else set()
                yield from ((module, name) for name in names if name in theirs)


def inherited(module: str, name: str) -> set[str]:
    """Return the private names of the libraries' classes that one of ours inherits from."""
    dotted = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    kind = getattr(import_module(f"rag.{dotted}"), name, None)
    theirs = [
        base
        for base in getattr(kind, "__mro__", ())
        if base.__module__.partition(".")[0] in ("haystack", "haystack_integrations", "ollama")
        or base.__module__.startswith("typer._")
    ]
    return {name for base in theirs for name in vars(base) if is_private(name)}


def test_nothing_else_is_used():
    assert sorted({*private_uses()} - LISTED) == []
