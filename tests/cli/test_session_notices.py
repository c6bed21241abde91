"""What is said once on a terminal, and not at every command."""

import os
import sys

BY_NOBODY = "No model wrote this"


def test_that_no_model_wrote_an_answer_is_said_in_full_once(rag, library, monkeypatch):
    ours, theirs = os.openpty()
    monkeypatch.setenv("COLUMNS", "300")
    said = []
    with os.fdopen(theirs, "w") as terminal, os.fdopen(ours, "rb", 0) as shown:
        monkeypatch.setattr(sys, "stderr", terminal)
        for question in ("How long do we keep backups?", "How long does rolling back take?"):
            assert rag("ask", question).code == 0
            said.append(shown.read(65536).decode())
    assert BY_NOBODY in said[0]
    assert BY_NOBODY not in said[1] and "Quoted from your notes (confidence" in said[1]
