"""The map of docs/architecture.md, held to: who may import whom, small folders, small modules."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from rag.cli.framework.lazy_group import COMMANDS

REPO = Path(__file__).resolve().parents[1]
SOURCE = REPO / "src"
MODULES = sorted((SOURCE / "rag").rglob("*.py"))
# The warm process runs the program, and the program governs it.
EXCEPTIONS = {
    ("rag.cli.commands.processes", "rag.mcp.stdio"),
    ("rag.cli.commands.processes", "rag.daemon.control"),
    ("rag.cli.commands.processes", "rag.web.serve"),
    # The protocol is spoken over HTTP too.
    *(("rag.web.mcp", f"rag.mcp.{name}") for name in ("calls", "protocol")),
    ("rag.daemon.server", "rag.cli.app"),
    ("rag.daemon.server", "rag.cli.framework.lazy_group"),
}
# `rag init` looks for Ollama and writes its section of the settings.
KNOWS_OLLAMA = {"rag.app.setup"}
# What search, indexing and answers may know of who runs models.
ASKED_OF_PROVIDERS = {*("rag.clients.factory", "rag.clients.protocols")}
WITHOUT_HAYSTACK = {"exceptions", "support", "config", "vault", "text", "index", "answers"}
# Private words that gave way to standard ones, and the standard words.
RETIRED = {
    "adopt": "import_segments",
    "anew": "rebuild",
    "bearer": "note value",
    "errand": "forwarded command",
    "generation": "snapshot",
    "house": "package",
    "inventions": "fabrications",
    "planted": "prompt injection",
    "portion": "note batch",
    "settle": "commit_write",
    "struck": "removed",
}
# An argument of Haystack.
KEPT_NAMES = {"generation_kwargs"}


def name_of(file: Path) -> str:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(file) for file in MODULES}
LAZY = NAMES - {"rag"}


def package_of(module: str) -> str:
    """`rag.stores.edge` lies in `stores`; `rag` itself in none."""
    return module.split(".")[1] if "." in module else ""


@cache
def layers() -> tuple[tuple[str, ...], ...]:
    """The lines of the map in docs/architecture.md, the upper ones first."""
    document = (REPO / "docs/architecture.md").read_text("utf-8")
    found = re.search(r"```layers\n(.*?)```", document, re.DOTALL)
    assert found
    return tuple(tuple(line.split()) for line in found[1].splitlines())


@cache
def level_of(package: str) -> int:
    """Return how high a package stands; the lowest has 0."""
    return next(n for n, line in enumerate(reversed(layers())) if package in line)


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and module of every import: of those for type checkers too, of those inside
    functions, and of modules that are named for later."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            for alias in node.names:
                below = f"{node.module}.{alias.name}"
                yield node.lineno, below if below in NAMES else node.module or ""
        elif isinstance(node, ast.Constant) and node.value in LAZY:
            # Names that load lazily: `import_module(_HOMES[name])`.
            yield node.lineno, str(node.value)


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


@cache
def arrows() -> tuple[tuple[str, int, str], ...]:
    """Every import of one of our modules by another: module, line, imported module."""
    return tuple(
        (name_of(file), line, module)
        for file in MODULES
        for line, module in imports(tree_of(file))
        if module.split(".")[0] == "rag" and module != name_of(file)
    )


def test_every_package_is_on_the_map():
    packages = {package_of(name) for name in NAMES} - {"", "__main__"}
    assert packages <= {name for line in layers() for name in line}


def test_no_import_goes_up_or_sideways():
    wrong = [
        f"{module}:{line} imports {imported}"
        for module, line, imported in arrows()
        if package_of(module) not in ("", "__main__", package_of(imported))
        and package_of(imported)
        and level_of(package_of(imported)) >= level_of(package_of(module))
        and (module, imported) not in EXCEPTIONS
    ]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle():
    below = defaultdict(set)
    # The face of a package names its modules, to be loaded later, and these may use the face.
    faces = {name_of(file) for file in MODULES if file.name == "__init__.py"}
    for module, _, imported in arrows():
        if module not in faces:
            below[module].add(imported)
    assert circle(below) == []


def circle(below: dict[str, set[str]]) -> list[str]:
    """Return modules that import each other, none when there are no such."""
    left = {module: {*found} & {*below} for module, found in below.items()}
    while ends := {module for module, found in left.items() if not found}:
        left = {module: found - ends for module, found in left.items() if module not in ends}
    while tops := {*left} - {module for found in left.values() for module in found}:
        left = {module: found for module, found in left.items() if module not in tops}
    return sorted(left)


def test_packages_without_haystack_do_not_import_it():
    wrong = [
        f"{name_of(file)}:{line}"
        for file in MODULES
        if package_of(name_of(file)) in WITHOUT_HAYSTACK
        for line, module in imports(tree_of(file))
        if module.split(".")[0] == "haystack"
    ]
    assert wrong == []


def test_only_providers_know_servers_of_one_kind():
    """Others ask `clients.factory` for the provider that the settings name."""
    assert [
        f"{module}:{line} imports {imported}"
        for module, line, imported in arrows()
        if package_of(module) != "clients"
        and imported.startswith("rag.clients")
        and imported not in ASKED_OF_PROVIDERS
        and module not in KNOWS_OLLAMA
    ] == []


def test_what_is_public_has_a_docstring():
    bare = [
        f"{name_of(file)}.{getattr(node, 'name', '')}".rstrip(".")
        for file in MODULES
        if tree_of(file).body
        for node in (tree_of(file), *public(tree_of(file)))
        if not ast.get_docstring(node)
    ]
    assert bare == []


def public(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in tree.body:
        named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        if named and not node.name.startswith("_"):
            yield node


def test_retired_words_do_not_come_back_in_names():
    """Of classes, functions and parameters; `RETIRED` has the standard words."""
    assert [
        f"{name_of(file)}:{line} {name}: say {RETIRED[word]!r}"
        for file in MODULES
        for line, name in named(tree_of(file))
        for word in words_in(name)
        if word in RETIRED and name not in KEPT_NAMES
    ] == []


def named(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the names of classes, functions and parameters, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def words_in(name: str) -> list[str]:
    """Return the words of a name, in lower case and without a plural's s."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]
    return [*words, *(word.removesuffix("s") for word in words if word.endswith("s"))]


def test_no_function_of_a_front_end_makes_json():
    """JSON comes from `rag.support.json_reports`: neither returned, nor given to what prints it."""
    assert [
        f"{name_of(file)}:{line}"
        for file in MODULES
        if package_of(name_of(file)) == "cli"
        for line in makers_of_dicts(tree_of(file))
    ] == []


def makers_of_dicts(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of functions that return dicts, by annotation or by what they return."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            said = ast.unparse(node.returns) if node.returns else ""
            if re.search(r"\b([dD]ict|Mapping|MutableMapping|TypedDict)\b", said):
                yield node.lineno
        returned = node.value if isinstance(node, (ast.Return, ast.Yield)) else None
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("print_json"):
            returned = node.args[0]
        if isinstance(returned, (ast.Dict, ast.DictComp)) or (
            isinstance(returned, ast.Call) and ast.unparse(returned.func) == "dict"
        ):
            yield node.lineno


def test_texts_name_commands_that_there_are():
    """A hint is a sentence that names the command, wherever an error is raised."""
    texts = [
        node.value
        for file in MODULES
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    commands = {name for text in texts for name in re.findall(r"`rag ([a-z]+)", text)}
    assert commands and commands <= {*COMMANDS}


class TestTheWalkItself:
    """The rules above would hold of anything if the walk saw nothing."""

    def found(self, source: str) -> list[str]:
        return [module for _, module in imports(ast.parse(source))]

    def test_it_sees_imports_inside_functions(self):
        assert self.found("def f():\n    from rag.cli import app") == ["rag.cli.app"]

    def test_it_sees_names_imported_from_a_module(self):
        assert self.found("from rag.exceptions import RAGError") == ["rag.exceptions"]

    def test_it_sees_modules_named_for_later(self):
        assert self.found("HOMES = {'x': 'rag.stores.edge'}") == ["rag.stores.edge"]

    def test_it_sees_what_is_for_type_checkers(self):
        assert self.found("if TYPE_CHECKING:\n    import rag.text") == ["rag.text"]

    def test_it_sees_circles(self):
        below = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
        assert circle(below) == ["b", "c"]
        assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []

    def test_it_sees_dicts(self):
        wrong = (
            *("def f() -> dict[str, int]: ...", "def f() -> Mapping[str, int] | None: ..."),
            *("def f():\n    return {'a': 1}", "def f():\n    return dict(a=1)"),
            *("def f():\n    return {a: a for a in b}", "print_json({'a': 1})"),
        )
        right = "def f() -> int:\n    names = {'a': 1}\n    return names['a']"
        assert [bool([*makers_of_dicts(ast.parse(source))]) for source in wrong] == [True] * 6
        assert not [*makers_of_dicts(ast.parse(right))]

    def test_it_sees_retired_words(self):
        source = "class OldGeneration:\n    def get(self, last_portions): pass\n"
        found = [word for _, name in named(ast.parse(source)) for word in words_in(name)]
        assert {*found} & {*RETIRED} == {"generation", "portion"}
