"""The server's store against Haystack's own conformance suite, over the REST interface."""

from collections.abc import Iterator
from typing import Any

import pytest
from test_edge_conformance import TestConformance as _EdgeConformance


@pytest.mark.slow
class TestServerConformance(_EdgeConformance):
    @pytest.fixture
    def document_store(self, tmp_path, open_store) -> Iterator[Any]:
        with open_store("server", tmp_path / "index") as store:
            yield store
