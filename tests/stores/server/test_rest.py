"""`RestClient`: where it asks, and what it sends."""

import json

import httpx
import numpy as np

from rag.config import StoreConfig
from rag.stores.server.rest import RestClient, to_json
from tables import rows


@rows(
    "url, asked",
    ("http://127.0.0.1", "http://127.0.0.1:6333/collections/x"),
    ("http://127.0.0.1:80", "http://127.0.0.1/collections/x"),
    ("https://[::1]:443/", "https://[::1]/collections/x"),
    ("http://127.0.0.1:7000/behind/", "http://127.0.0.1:7000/behind/collections/x"),
)
def test_an_address_without_a_port_means_qdrant_s(monkeypatch, url, asked):
    urls: list[str] = []

    def answer(_: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        urls.append(str(request.url))
        return httpx.Response(200, stream=httpx.ByteStream(b'{"result": 1}'))

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", answer)
    assert RestClient(StoreConfig(url=url)).request("GET", "/collections/x") == 1
    assert urls == [asked]


def test_an_embedding_is_sent_in_the_digits_that_tell_32_bits():
    embedding = np.float32([0.1, 1 / 3])
    assert to_json({"vector": embedding}) == b'{"vector":[0.1,0.33333334]}'
    assert np.float32(json.loads(to_json(embedding))).tolist() == embedding.tolist()
