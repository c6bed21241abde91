"""Steps and formatters by name, and those that plug-ins bring."""

from collections.abc import Callable
from pathlib import Path

import pytest

from context_parts import contents
from rag.context import (
    ContextWindow,
    OpenAIFormatter,
    find_formatter,
    find_step,
)
from rag.exceptions import RAGError, UsageError
from tables import rows

BUILT_IN = ["anthropic", "chat_messages", "generic", "openai"]


class Shouting:
    """A formatter that a plug-in could bring."""

    format_type = "shouting"

    def format(self, window: ContextWindow) -> str:
        return " ".join(contents(window.items)).upper()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install a distribution: `install("rag.steps", newest="make_newest")`."""

    def write(group: str, **entries: str) -> None:
        info = tmp_path / "plugins" / "extra-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n")
        lines = [f"{name} = {__name__}:{function}" for name, function in entries.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
        monkeypatch.syspath_prepend(info.parent)

    return write


@rows("name", BUILT_IN)
def test_a_built_in_formatter_is_found_by_its_name(name: str):
    assert find_formatter(name).format_type == name


def test_an_unknown_formatter_is_a_usage_error_with_the_nearest_names():
    with pytest.raises(UsageError, match="no format is named 'anthropics'") as caught:
        find_formatter("anthropics")
    assert caught.value.hint.startswith("Did you mean anthropic?")


def test_a_plugin_cannot_take_the_name_of_a_built_in_formatter(install):
    install("rag.formatters", openai="Shouting", chat_messages="Shouting")
    assert isinstance(find_formatter("openai"), OpenAIFormatter)


def make_nothing() -> None:
    return None


def test_a_plugin_that_makes_something_else_is_an_error(install):
    install("rag.steps", nothing="make_nothing")
    with pytest.raises(RAGError, match="made a NoneType, which is no PipelineStep"):
        find_step("nothing")
