"""`python -m rag` is the `rag` command."""

from rag.cli.app import main

if __name__ == "__main__":
    main()
