"""The telemetry of libraries is off in whatever process imports `rag` first."""

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


def test_a_process_that_imports_rag_first_sends_no_event_and_leaves_no_file(tmp_path):
    assert events_of("rag.pipelines", tmp_path) == 0
    assert not (tmp_path / ".haystack").exists()


@pytest.mark.slow
def test_haystack_by_itself_sends_some(tmp_path):
    """Else the test above would prove nothing."""
    assert events_of("haystack", tmp_path) > 0


def files_left_by_importing(modules: str, home: Path) -> list[str]:
    """Return the names of the files in a home folder after a process imported some modules."""
    without = {"ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in without}
    run = [sys.executable, "-c", f"import {modules}"]
    subprocess.run(run, env=kept | {"HOME": str(home)}, check=True)
    return [path.name for path in home.rglob("*") if path.is_file()]


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime has no wheel for here")
def test_onnxruntime_leaves_no_device_id_in_the_home_folder_after_rag(tmp_path):
    by_itself, after_rag = tmp_path / "by-itself", tmp_path / "after-rag"
    by_itself.mkdir()
    after_rag.mkdir()
    if "deviceid" not in files_left_by_importing("onnxruntime", by_itself):
        pytest.skip("onnxruntime leaves no device id on this machine, with or without rag")
    assert files_left_by_importing("rag, onnxruntime", after_rag) == []
