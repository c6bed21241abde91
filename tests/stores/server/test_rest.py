"""`RestClient`: where it asks."""

import httpx
import pytest

from rag.config import StoreConfig
from rag.stores.server.rest import RestClient


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://127.0.0.1", "http://127.0.0.1:6333/collections/x"),
        ("http://127.0.0.1:80", "http://127.0.0.1/collections/x"),
        ("https://[::1]:443/", "https://[::1]/collections/x"),
        ("http://127.0.0.1:7000/behind/", "http://127.0.0.1:7000/behind/collections/x"),
    ],
)
def test_an_address_without_a_port_means_qdrant_s(
    monkeypatch: pytest.MonkeyPatch, url: str, asked: str
) -> None:
    urls: list[str] = []

    def answer(_: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        urls.append(str(request.url))
        return httpx.Response(200, stream=httpx.ByteStream(b'{"result": 1}'))

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", answer)
    assert RestClient(StoreConfig(url=url)).request("GET", "/collections/x") == 1
    assert urls == [asked]
