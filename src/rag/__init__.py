"""rag: search and questions over folders of Markdown notes, on your own machine."""

import os

__version__ = "0.2.0"

# Haystack sends telemetry and writes a file into the home folder unless told otherwise before its
# first import. Every module of ours comes after this line; docs/architecture.md says what a program
# does that imports Haystack earlier.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
# So does onnxruntime, which also asks the network for where to send it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
