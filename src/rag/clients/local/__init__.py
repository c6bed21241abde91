"""The built-in embedding model: multilingual-e5-small in 4 bits, in this machine's processor.

It needs no server and no download. Its engine is a C library that a fault may end: it runs in
processes of its own.
"""
