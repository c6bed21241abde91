"""Files cut into blocks: what is cut, sent and put together again is what it was."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.stores.server.blocks import BLOCK, Listing, cut, key_of, pack, unpack

NAMES = ("manifest", "frequencies")
# A few bytes say what many blocks hold: each stands for a block, or for the end of one.
contents = st.builds(
    lambda blocks, rest: b"".join(bytes([n]) * BLOCK for n in blocks) + rest,
    st.lists(st.integers(0, 3), max_size=10),
    st.binary(max_size=9),
)


@settings(max_examples=examples(100), deadline=None)
@given(st.binary(max_size=5000) | contents)
def test_bytes_that_are_cut_and_sent_are_what_they_were(content: bytes) -> None:
    sent = [(key, pack(block)) for key, block in cut(content)]
    assert b"".join(unpack(key, text) for key, text in sent) == content


@settings(max_examples=examples(100), deadline=None)
@given(st.binary(min_size=1, max_size=500), st.data())
def test_a_block_that_was_changed_is_found_out(block: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(block) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda n: n != block[place]))
    changed = block[:place] + bytes([other]) + block[place + 1 :]
    with pytest.raises(ValueError, match="damaged"):
        unpack(key_of(block), pack(changed))


@settings(max_examples=examples(100), deadline=None)
@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda block: pack(block)[:-4]))
def test_a_text_that_is_no_block_is_found_out(text: str) -> None:
    with pytest.raises(ValueError, match="damaged"):
        unpack(key_of(b"another block"), text)


def test_a_block_that_would_fill_the_memory_is_not_unpacked() -> None:
    bomb = bytes(200 * BLOCK)
    with pytest.raises(ValueError, match="damaged"):
        unpack(key_of(bomb), pack(bomb))


def test_what_cannot_be_compressed_is_sent_in_less_than_a_megabyte() -> None:
    noise = random.Random(1).randbytes(3 * BLOCK)
    assert max(len(pack(block)) for _, block in cut(noise)) < 400_000


@settings(max_examples=examples(60), deadline=None)
@given(st.fixed_dictionaries(dict.fromkeys(NAMES, contents)), st.data())
def test_files_are_written_from_blocks_at_hand_and_blocks_fetched(
    files: dict[str, bytes], data: st.DataObject
) -> None:
    with TemporaryDirectory() as base:
        source, target = Path(base) / "source", Path(base) / "target"
        for folder in (source, target):
            folder.mkdir()
        for name, content in files.items():
            (source / name).write_bytes(content)
        listing = Listing.from_bytes(Listing.of(source, NAMES).to_bytes(), NAMES)
        places = listing.places(source)
        at_hand = data.draw(st.sets(st.sampled_from(sorted(places)))) if places else set()
        asked: list[str] = []

        def fetch(keys: Sequence[str]) -> dict[str, bytes]:
            asked.extend(keys)
            return {key: places[key].read() for key in keys}

        listing.write(target, {key: places[key] for key in at_hand}, fetch)
        assert {name: (target / name).read_bytes() for name in NAMES} == files
        assert {*asked} == listing.keys() - at_hand


def test_a_block_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    missing = key_of(b"x")
    with pytest.raises(KeyError, match=missing):
        Listing({"manifest": [missing]}).write(tmp_path, {}, lambda keys: {})


def test_no_more_than_a_few_blocks_are_asked_for_at_once(tmp_path: Path) -> None:
    keys = [key_of(str(n).encode()) for n in range(20)]
    asked: list[int] = []

    def fetch(keys: Sequence[str]) -> dict[str, bytes]:
        asked.append(len(keys))
        return dict.fromkeys(keys, b"")

    Listing({"manifest": keys}).write(tmp_path, {}, fetch)
    assert asked == [8, 8, 4]


KEY = key_of(b"")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"null",
        b"[]",
        b"[" * 100_000,
        json.dumps({"../CURRENT": [KEY]}).encode(),
        json.dumps({"manifest": 5}).encode(),
        json.dumps({"manifest": None}).encode(),
        json.dumps({"manifest": KEY}).encode(),
        json.dumps({"manifest": {KEY: 1}}).encode(),
        json.dumps({"manifest": [5]}).encode(),
        json.dumps({"manifest": [[KEY]]}).encode(),
        json.dumps({"manifest": ["0"]}).encode(),
        json.dumps({"manifest": [KEY.upper() + "\n"]}).encode(),
        json.dumps({"manifest": [KEY + "\n"]}).encode(),
    ],
    ids=lambda content: repr(content[:40]),
)
def test_what_is_no_listing_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):
        Listing.from_bytes(content, NAMES)


def test_a_listing_of_thousands_of_blocks_is_read_as_it_was_written() -> None:
    files = {"manifest": [key_of(str(n).encode()) for n in range(20_000)], "frequencies": [KEY]}
    assert Listing.from_bytes(Listing(files).to_bytes(), NAMES).files == files
