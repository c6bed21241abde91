"""Stand-ins of modules, and of what is in them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from rag.daemon.deferred_imports import DeferringLoader

_LIBRARY = "put_off_library"
_TEXT = """
class Shape:
    sides = 4
    def __init__(self):
        self.corners = []

def double(number):
    return 2 * number
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules; one is a library that others import."""
    (tmp_path / f"{_LIBRARY}.py").write_text(_TEXT, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop(_LIBRARY, None)


def _load(folder: Path, text: str) -> ModuleType:
    path = folder / "reader.py"
    path.write_text(text, "utf-8")
    loader = DeferringLoader("reader", str(path), (_LIBRARY,))
    spec = spec_from_file_location("reader", path, loader=loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_a_library_is_loaded_when_a_function_uses_it(folder: Path) -> None:
    reader = _load(folder, f"import {_LIBRARY} as l\ndef four():\n    return l.double(2)\n")
    assert _LIBRARY not in sys.modules
    assert reader.four() == 4


def test_an_imported_name_becomes_what_it_stands_for_when_it_is_called(folder: Path) -> None:
    reader = _load(folder, f"from {_LIBRARY} import double\n")
    assert _LIBRARY not in sys.modules
    assert reader.double(4) == 8


def test_annotations_and_default_values_load_nothing(folder: Path) -> None:
    text = f"""
import {_LIBRARY}
from {_LIBRARY} import Shape, double
DEFAULT = Shape()
def area(shape: {_LIBRARY}.Shape | None = DEFAULT, edges: int | Shape["a"] = double(2)):
    return shape.sides
"""
    reader = _load(folder, text)
    assert _LIBRARY not in sys.modules
    assert reader.area() == 4


def test_a_default_value_is_made_once(folder: Path) -> None:
    reader = _load(folder, f"from {_LIBRARY} import Shape\nONE = Shape()\n")
    reader.ONE.corners.append("top")
    assert reader.ONE.corners == ["top"]


def test_nothing_is_an_instance_of_a_class_that_is_not_loaded(folder: Path) -> None:
    reader = _load(folder, f"from {_LIBRARY} import Shape\n")
    assert not isinstance(5, reader.Shape)
    assert _LIBRARY not in sys.modules


def test_an_instance_of_a_class_that_was_loaded_elsewhere_is_known(folder: Path) -> None:
    reader = _load(folder, f"from {_LIBRARY} import Shape\n")
    library = __import__(_LIBRARY)
    assert isinstance(library.Shape(), reader.Shape)
    assert issubclass(library.Shape, reader.Shape)


def test_a_class_inherits_from_the_real_one(folder: Path) -> None:
    reader = _load(folder, f"from {_LIBRARY} import Shape\nclass Square(Shape):\n    pass\n")
    assert reader.Square.__mro__[1].__module__ == _LIBRARY


def test_an_import_in_a_function_is_put_off_too(folder: Path) -> None:
    text = (
        f"def is_shape(it):\n    from {_LIBRARY} import Shape\n    return isinstance(it, Shape)\n"
    )
    reader = _load(folder, text)
    assert not reader.is_shape(5)
    assert _LIBRARY not in sys.modules


def test_all_names_of_a_library_are_there_when_one_is_asked_for(folder: Path) -> None:
    reader = _load(folder, f"from {_LIBRARY} import *\n")
    assert _LIBRARY not in sys.modules
    assert reader.double(3) == 6
    with pytest.raises(AttributeError, match="'reader' has no attribute 'treble'"):
        reader.treble  # noqa: B018
    assert reader.Shape.sides == 4


def test_a_library_that_is_loaded_already_is_no_stand_in(folder: Path) -> None:
    library = __import__(_LIBRARY)
    assert _load(folder, f"from {_LIBRARY} import Shape\n").Shape is library.Shape
