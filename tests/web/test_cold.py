"""The explorer on a machine that has no machine code: curves at once, SGD when it is compiled, and words meanwhile."""

import io
import json
import math
import os
import re
import struct
import subprocess
import sys
import time

import httpx2 as httpx
import pytest

from solvable.numerics import interpreting
from solvable.numerics.compiled import Kernel
from solvable.runfiles import warming
from solvable.web import preparing
from solvable.web.preparing import CURVE, DIFFUSION, PREPARATION, SCHEDULE, SGD, Preparation
from solvable.web.presets import PRESETS

STATE = PRESETS[0]["state"]


def facts_of(content: bytes) -> dict:
    (size,) = struct.unpack("<I", content[:4])
    return json.loads(content[4 : 4 + size])["facts"]


def test_nothing_is_prepared_where_machine_code_is_at_hand() -> None:
    for kernels in preparing.needed_kernels().values():
        for kernel in kernels:
            kernel.settle()
    prepared = Preparation()
    prepared.begin()
    assert prepared.missing == []
    prepared.end()


def test_sgd_says_that_it_is_being_compiled(monkeypatch) -> None:
    from starlette.testclient import TestClient

    from solvable.web.server import make_app

    PREPARATION.begin()
    monkeypatch.setattr(PREPARATION, "missing", [SGD])
    client = TestClient(make_app(["localhost"]), base_url="http://localhost")
    small = {**STATE, "inputs": {"dim": 50}, "run": {"until": 1.0}}
    lines = []
    with client.stream("POST", "/api/simulate", json={"state": small, "runs": 1, "seed": 0}) as answer:
        for line in answer.iter_lines():
            lines.append(json.loads(line))
            PREPARATION.missing.clear()
    assert lines[0] == {"compiling": "beginning"}
    assert "risk" in lines[-1]
    assert client.get("/api/compiling").json() == {"compiling": ""}


def test_a_process_tells_how_far_it_is(tmp_path) -> None:
    """Whoever waits for a kind hears it, and what is made before."""
    told = (tmp_path / "told").open("w+b")
    preparation, one = Preparation(), warming.Compiling(subprocess.Popen(["true"]), io.StringIO(), told)
    assert one.progress() == (0, 0, "")
    for number in range(100):
        told.write(f"{number} 160 {number // 2} of 80 kernels\n".encode())
    told.write(b"100 16")  # not yet a line
    told.flush()
    assert one.progress() == (99, 160, "49 of 80 kernels")
    preparation.missing, preparation._compiling = [CURVE, SGD], one
    assert preparation.words(CURVE) == "49 of 80 kernels"
    assert preparation.words(SGD) == "first limit, 49 of 80 kernels"
    assert preparation.words(SCHEDULE) == ""
    one.process.wait()
    assert one.failure() is None
    assert one.progress() == (0, 0, "")
    assert preparation.words(CURVE) == "beginning"


@pytest.mark.slow
def test_a_first_curve_comes_before_anything_is_compiled(tmp_path) -> None:
    words = [sys.executable, "-m", "solvable.cli.main", "explore", "--port", "0", "--no-browser"]
    settings = {**os.environ, "SOLVABLE_CACHE_DIR": str(tmp_path / "cache"), "SOLVABLE_PATIENCE": "2"}
    server = subprocess.Popen(words, env=settings, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r"http\S+", server.stdout.readline())
        assert found
        with httpx.Client(base_url=found[0], timeout=120) as client:
            facts = facts_of(client.post("/api/curve", json=STATE).content)
            assert facts["compiling"]
            assert not list((tmp_path / "cache").glob("*/macro.integrators.fifth_order-*"))
            small = {**STATE, "inputs": {"dim": 50}, "run": {"until": 1.0}}
            with client.stream("POST", "/api/simulate", json={"state": small, "runs": 1, "seed": 0}) as answer:
                lines = [json.loads(line) for line in answer.iter_lines()]
            assert "compiling" in lines[0]
            assert "risk" in lines[-1]
            assert not facts_of(client.post("/api/curve", json=STATE).content)["compiling"]
    finally:
        server.kill()
        server.communicate()


def test_curves_come_first_and_are_interpreted_until_then(monkeypatch) -> None:
    """With the real kernels told to have no machine code, and processes that compile nothing."""
    order, patience = [], []

    class Nothing:
        returncode = 0

        def wait(self) -> None:
            patience.append(preparing.CURVE in prepared.missing)

    def start(name: str) -> warming.Compiling:
        order.append(name)
        return warming.Compiling(Nothing(), io.StringIO(), io.BytesIO())

    monkeypatch.setattr(warming, "start", start)
    monkeypatch.setattr(Kernel, "at_hand", False)
    monkeypatch.setattr(interpreting.PATIENCE, "left", 0.0)
    monkeypatch.setattr(interpreting.PATIENCE, "over", False)
    prepared = Preparation()
    prepared.begin()
    assert interpreting.PATIENCE.left == math.inf
    while prepared.missing:
        time.sleep(0.01)
    assert order == [CURVE, SGD, DIFFUSION, SCHEDULE]
    assert patience == [True, False, False, False]
    assert interpreting.PATIENCE.over
