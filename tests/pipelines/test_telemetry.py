"""Haystack's telemetry is off in whatever process imports `rag` first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_RUN = """
import {module}
import posthog
events = []
posthog.capture = lambda *given, **named: events.append(named)
from haystack import Pipeline, telemetry
pipeline = Pipeline()
telemetry.pipeline_running(pipeline)
pipeline.run({{}})
print(len(events))
"""


def events_of(module: str, home: Path) -> int:
    """Return how many events a process sends that imports a module and runs a pipeline; the
    environment that it is started in asks for telemetry."""
    environment = {**os.environ, "HOME": str(home), "HAYSTACK_TELEMETRY_ENABLED": "true"}
    run = [sys.executable, "-c", _RUN.format(module=module)]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_a_process_that_imports_rag_first_sends_no_event_and_leaves_no_file(tmp_path: Path):
    assert events_of("rag.pipelines", tmp_path) == 0
    assert not (tmp_path / ".haystack").exists()


def test_haystack_by_itself_sends_some(tmp_path: Path):
    """Else the test above would prove nothing."""
    assert events_of("haystack", tmp_path) > 0
