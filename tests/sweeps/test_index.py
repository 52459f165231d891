"""A compact index says what dictionaries would."""

import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvable.sweeps import index
from solvable.sweeps.index import Index, Table
from solvable.sweeps.segments import Place


def key(number: int) -> bytes:
    """Of 32 bytes; some end alike."""
    digest = hashlib.sha256(str(number).encode()).digest()
    return digest[:24] + (b"12345678" if number % 3 == 0 else digest[24:])


@given(st.lists(st.lists(st.integers(0, 30), unique=True, max_size=8), max_size=8), st.integers(0, 40), st.data())
def test_as_dictionaries(segments: list[list[int]], recent: int, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "RECENT", recent)
        names = [f"{random.Random(i).random()}" for i in range(len(segments))]
        plain: dict[str, dict[bytes, Place]] = {}
        tables: dict[str, Table] = {}
        found = Index(tables)
        for name, numbers in zip(names, segments, strict=True):
            held = {key(number): Place(name, 10**12 * number, number) for number in numbers}
            plain[name] = held
            tables[name] = Table(name, held)
            found.learn(held)
            _agree(found, plain)
        if names:
            gone = data.draw(st.sampled_from(names))
            del plain[gone], tables[gone]
            _agree(Index(tables), plain)


def _agree(found: Index, plain: dict[str, dict[bytes, Place]]) -> None:
    expected: dict[bytes, Place] = {}
    for name in sorted(plain, reverse=True):  # the smallest name counts
        expected |= plain[name]
    assert dict(found) == expected
    assert len(list(found)) == len(found) == len(expected)
    assert key(99) not in found
    assert all(one in found for one in expected)
