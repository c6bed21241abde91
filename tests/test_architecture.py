"""The house rules of the design: who may import whom, words for what is public, small modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
MODULES = sorted((SOURCE / "rag").rglob("*.py"))

# Room -> the rooms of ours that it may import; the modules at the top are rooms too.
ROOMS = {
    "": {""},
    "exceptions": {""},
    "checks": {""},
    "composing": {""},
    "transport": {""},
    "lazy": {""},
    "leaving": {""},
    "locking": {"", "exceptions"},
    "durable": {""},
    "owned": {"", "durable", "exceptions"},
    "plugins": {"", "exceptions"},
    "runtime": {""},
    "config": {"", "checks", "durable", "exceptions", "locking"},
    "vault": {"", "composing", "config", "exceptions"},
    "text": {"", "composing", "exceptions"},
    "clients": {"", "checks", "config", "exceptions", "lazy", "runtime", "transport"},
    "stores": {
        *("", "config", "durable", "exceptions", "lazy", "leaving", "owned", "text", "transport"),
    },
    "query": {
        "",
        "composing",
        "config",
        "exceptions",
        "lazy",
        "locking",
        "owned",
        "text",
        "clients",
        "plugins",
    },
    "context": {
        *("", "durable", "exceptions", "lazy", "locking", "owned", "text", "query", "plugins"),
    },
    "answers": {"", "config", "durable", "exceptions", "locking", "owned", "text", "vault"},
}
ROOMS["pipelines"] = {*ROOMS}
ROOMS["evaluation"] = {*ROOMS}
ROOMS["cli"] = {*ROOMS, "service"}
ROOMS["service"] = {*ROOMS}  # the warm process runs commands, and a command governs it
ROOMS["__main__"] = {"", "cli", "leaving", "service"}
WITHOUT_HAYSTACK = (
    *("", "durable", "exceptions", "checks", "composing", "lazy", "leaving", "locking", "owned"),
    *("plugins", "runtime", "transport"),
    *("config", "vault", "text", "answers"),
)


def name_of(file: Path) -> str:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """`rag.stores.edge` lives in `stores`, `rag` itself in the hall, which has no name."""
    return module.split(".")[1] if "." in module else ""


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and module of every import that can happen, those inside functions too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from imports(ast.Module(node.orelse, []))
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            module = node.module or ""
            yield node.lineno, module
            if module == "rag":  # `from rag import config` names a room, or a value of the hall
                for alias in node.names:
                    if alias.name in ROOMS:
                        yield node.lineno, f"rag.{alias.name}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # Names that load lazily: `import_module(_HOMES[name])`.
            if node.value.startswith("rag.") and node.value in map(name_of, MODULES):
                yield node.lineno, node.value
        else:
            yield from imports(node)


def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def test_every_room_is_one_of_the_design():
    assert {room_of(name_of(file)) for file in MODULES} <= set(ROOMS)


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_no_import_runs_against_the_arrows(file: Path):
    room = room_of(name_of(file))
    allowed = ROOMS[room] | {room}
    wrong = [
        f"{file.name}:{line} imports {module}"
        for line, module in imports(tree_of(file))
        if module.split(".")[0] == "rag" and room_of(module) not in allowed
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "file", [f for f in MODULES if room_of(name_of(f)) in WITHOUT_HAYSTACK], ids=name_of
)
def test_rooms_without_haystack_do_not_import_it(file: Path):
    assert [m for _, m in imports(tree_of(file)) if m.split(".")[0] == "haystack"] == []


def public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    for node in tree.body:
        named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        if named and not node.name.startswith("_"):
            yield node


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_public_functions_and_classes_and_modules_have_docstrings(file: Path):
    tree = tree_of(file)
    empty = not tree.body
    bare = [node.name for node in public_functions(tree) if not ast.get_docstring(node)]
    assert bare == []
    assert empty or ast.get_docstring(tree)


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_no_module_is_longer_than_450_lines(file: Path):
    assert len(file.read_text("utf-8").splitlines()) <= 450


class TestTheWalkItself:
    """The rules above would hold of anything if the walk saw nothing."""

    def found(self, source: str) -> list[str]:
        return [module for _, module in imports(ast.parse(source))]

    def test_it_sees_imports_inside_functions(self):
        assert self.found("def f():\n    from rag.cli import app") == ["rag.cli"]

    def test_it_sees_rooms_imported_from_the_hall(self):
        assert self.found("from rag import cli") == ["rag", "rag.cli"]

    def test_it_sees_modules_named_for_later(self):
        assert self.found("HOMES = {'x': 'rag.stores.edge'}") == ["rag.stores.edge"]

    def test_it_passes_over_what_is_for_type_checkers(self):
        source = "if TYPE_CHECKING:\n    import rag.cli\nelse:\n    import rag.text"
        assert self.found(source) == ["rag.text"]
