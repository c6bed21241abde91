"""What is said once on a terminal, and not at every command."""

import os
import subprocess
import sys

BY_NOBODY = "No model wrote this"


def test_that_no_model_wrote_an_answer_is_said_in_full_once(library, environment):
    ours, theirs = os.openpty()
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": theirs}
    said = []
    for question in ("How long do we keep backups?", "How long does rolling back take?"):
        command = [sys.executable, "-m", "rag", "ask", question]
        subprocess.run(command, env=environment | {"COLUMNS": "300"}, check=True, **streams)
        said.append(os.read(ours, 65536).decode())
    os.close(theirs)
    os.close(ours)
    assert BY_NOBODY in said[0]
    assert BY_NOBODY not in said[1] and "Quoted from your notes (confidence" in said[1]
