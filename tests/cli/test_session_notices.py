"""What is said once on a terminal, and not at every command."""

import os
import select
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
            text = b""
            while b"(confidence" not in text and select.select([shown], [], [], 30)[0]:
                text += shown.read(65536)
            said.append(text.decode())
    assert BY_NOBODY in said[0]
    assert BY_NOBODY not in said[1] and "Quoted from your notes (confidence" in said[1]
