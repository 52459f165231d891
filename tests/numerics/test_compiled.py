"""Cached kernels are dropped when any kernel source changes, and only then."""

from pathlib import Path

import pytest

from solvable.numerics import compiled


@pytest.mark.parametrize("elsewhere", [False, True])
def test_stale_kernels_are_forgotten(elsewhere, tmp_path: Path, monkeypatch) -> None:
    package = tmp_path / "package"
    (package / "room" / "__pycache__").mkdir(parents=True)
    source, plain = package / "room" / "kernel.py", package / "room" / "plain.py"
    source.write_text("@compiled()\ndef f(x):\n    return x\n")
    plain.write_text("x = 1\n")
    cache = package / "room" / "__pycache__"
    if elsewhere:
        cache = tmp_path / "cache" / "room_1234"
        cache.mkdir(parents=True)
    monkeypatch.setattr(compiled.config, "CACHE_DIR", str(cache.parent) if elsewhere else "")

    def survives() -> bool:
        cached = cache / "kernel.f-1.nbi"
        cached.write_text("machine code")
        compiled.forget_stale_kernels(package)
        return cached.exists()

    assert not survives()  # nothing is known about these yet
    assert survives()
    plain.write_text("x = 2\n")
    assert survives()
    source.write_text("@compiled()\ndef f(x):\n    return 5 * x\n")
    assert not survives()
    assert survives()
