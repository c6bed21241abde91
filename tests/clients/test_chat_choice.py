"""Which models write text, by what their server says of them and by their names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag.clients.models import ModelInfo, can_write, choose_writer, does_other_work
from tables import rows

NAMES = ["llama3.2:latest", "bge-m3:latest", "my-reranker", "llava", "x-e5-large", "mistral"]
TOLD = [(), ("completion",), ("embedding",), ("vision",), ("completion", "vision", "tools")]

models = st.builds(
    ModelInfo,
    st.sampled_from(NAMES),
    capabilities=st.sampled_from(TOLD),
    family=st.sampled_from(["", "llama", "nomic-bert"]),
)


@rows(
    "name, capabilities, family, writes",
    [
        ("llama3.2", ("completion", "tools"), "llama", True),
        ("llava", ("completion", "vision"), "llama", True),
        ("llava", ("vision",), "llama", False),
        ("chatty", ("embedding",), "llama", False),
        ("Qwen3-Reranker-0.6B", ("completion", "tools"), "qwen3", False),
        ("hf.co/Qwen/Qwen3-Embedding-0.6B-GGUF", ("completion",), "qwen3", False),
        ("embed-and-chat", ("embedding", "completion"), "", True),
        ("albert-chat", ("completion",), "llama", True),
        ("mistral", (), "llama", True),
        ("mistral", (), "", True),
        ("x-e5-large", (), "", False),
        ("some", (), "nomic-bert", False),
        ("bge-reranker-v2-m3", (), "", False),
        ("qwen2.5-vl-7b-instruct", (), "", True),
        ("whisper-large-v3", (), "", False),
    ],
)
def test_what_writes(name: str, capabilities: tuple[str, ...], family: str, writes: bool) -> None:
    assert can_write(ModelInfo(name, capabilities=capabilities, family=family)) is writes


@rows(
    "name", ["gpt-4o-mini-tts", "text-embedding-3-small", "omni-moderation-latest", "clip-vit-l-14"]
)
def test_names_of_models_for_other_work(name: str) -> None:
    assert does_other_work(name)


@given(st.lists(models, max_size=5), st.sampled_from(NAMES))
def test_a_preferred_model_is_chosen_where_it_is_listed_and_writes(
    listed: list[ModelInfo], name: str
) -> None:
    chosen = choose_writer(listed, name)
    if any(model.name == name and can_write(model) for model in listed):
        assert chosen is not None and chosen.name == name and can_write(chosen)
    else:
        assert chosen == choose_writer(listed)
