"""How a query can be searched: the modes that the settings know."""

from __future__ import annotations

from rag.config import SearchMode as SearchMode
