"""Models that run on this machine's processor: the built-in one, and those in ONNX on disk.

They need no server. Their engines are C libraries that a fault may end: they run in processes of
their own.
"""
