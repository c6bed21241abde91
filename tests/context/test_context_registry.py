"""Steps that plug-ins bring."""

from collections.abc import Callable

import pytest

from rag.context import find_step
from rag.exceptions import RAGError


@pytest.fixture
def install(tmp_path, monkeypatch) -> Callable[..., None]:
    """Install a distribution: `install("rag.steps", newest="make_newest")`."""

    def write(group: str, **entries: str) -> None:
        info = tmp_path / "plugins" / "extra-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n")
        lines = [f"{name} = {__name__}:{function}" for name, function in entries.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
        monkeypatch.syspath_prepend(info.parent)

    return write


def make_nothing() -> None:
    return None


def test_a_plugin_that_makes_something_else_is_an_error(install):
    install("rag.steps", nothing="make_nothing")
    with pytest.raises(RAGError, match="made a NoneType, which is no PipelineStep"):
        find_step("nothing")
