"""Distributions that a test installs, for plug-ins."""

import sys
from collections.abc import Callable, Iterator

import pytest

from rag.query import registry

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path, monkeypatch) -> Iterator[Install]:
    """Install a distribution: `install("fancy", {"rag.steps": {"x": "mod:f"}}, mod="f = 1")`."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    before = set(sys.modules)

    def make(name: str, groups: dict[str, dict[str, str]], **modules: str) -> None:
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = []
        for group, entries in groups.items():
            lines += [f"[{group}]", *(f"{entry} = {value}" for entry, value in entries.items())]
        (info / "entry_points.txt").write_text("\n".join(lines))
        for module, source in modules.items():
            (site / f"{module}.py").write_text(source)

        registry._entries.cache_clear()

    yield make
    registry._entries.cache_clear()
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", None) or "").startswith(str(site)):
            del sys.modules[module]
