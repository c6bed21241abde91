"""Components in a pipeline that runs in an event loop."""

import asyncio
import copy
from typing import Any

from haystack import Pipeline


def in_a_loop(component: Any, **inputs: Any) -> dict[str, Any]:
    """Return what a component gives when `Pipeline.run_async` runs it."""
    pipeline = Pipeline()
    pipeline.add_component("it", copy.copy(component))
    try:
        found: dict[str, Any] = asyncio.run(pipeline.run_async({"it": inputs}))["it"]
        return found
    finally:
        pipeline.close()
