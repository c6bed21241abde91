"""rag: search and questions over folders of Markdown notes, on your own machine."""

import os

__version__ = "0.1.0"

# Haystack sends telemetry and writes a file into the home folder unless told otherwise
# before its first import; nothing in this package may import it earlier than this line.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
