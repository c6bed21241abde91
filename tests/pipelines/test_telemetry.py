"""The telemetry of libraries is off in whatever process imports `rag` first."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("module", ["rag", "sys"])
def test_onnxruntime_leaves_files_in_the_home_folder_only_where_rag_is_not_imported_first(
    tmp_path: Path, module: str
):
    if find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime has no wheel for here")
    without = {"ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in without}
    run = [sys.executable, "-c", f"import {module}, onnxruntime"]
    subprocess.run(run, env=kept | {"HOME": str(tmp_path)}, check=True)
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert ("deviceid" in left) == (module == "sys"), left
