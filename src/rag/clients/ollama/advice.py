"""What to tell of Ollama servers that do not answer."""

from __future__ import annotations

from rag.clients.servers.reachability import Advice


def advice(setting: str = "ollama.url") -> Advice:
    """Return what to tell of servers that do not answer.

    :param setting: which names the server.
    """
    return Advice(
        name="Ollama",
        start=f"Start it with `ollama serve`, or set {setting}.",
        start_there=f"Check {setting}, and that `ollama serve` runs there and listens to the "
        "network.",
        restart="If it hangs, start `ollama serve` anew; ollama.url names another.",
        slow="Raise ollama.request_timeout or ollama.query_timeout, or take a smaller model.",
        mute="See `ollama ps`; a model that takes long to load needs a longer ollama.read_timeout.",
        broken="See the log of `ollama serve`; the model may not fit into memory.",
    )
