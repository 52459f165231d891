"""Problem files and data that someone else wrote, by mistake or on purpose: one line says what is wrong with each."""

import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import solvable as sv
from solvable.cli.main import main
from solvable.problems import foreign
from solvable.problems.foreign import one_line, parse_json

GOOD = '{"teacher": {"width": 1}, "student": {"width": 1}, "training": {"learning_rate": 0.1}, "inputs": %s}'


def refused(make: Callable[[], object], match: str, kind: type[Exception] = ValueError) -> None:
    with pytest.raises(kind, match=match) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("depth", [60, 900, 5000, 200_000])
def test_deep_nesting(depth: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lists, tables, and the dotted names of TOML, which nest without any bracket."""
    lists, tables = "[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth
    dotted = "inputs." + ".".join("a" * min(depth, 1000)) + " = 1"
    for name, text in {
        "a.json": GOOD % lists,
        "b.json": GOOD % tables,
        "c.json": lists,
        "d.toml": f"inputs = {lists}",
        "e.toml": dotted,
        "f.toml": "inputs = " + "{a=" * depth + "1" + "}" * depth,
    }.items():
        read = sv.Problem.from_json if name.endswith("json") else sv.Problem.from_toml
        refused(lambda read=read, text=text: read(text), "is nested too deeply", sv.InvalidProblem)
        (tmp_path / name).write_text(text)
        refused(lambda name=name: sv.Problem.load(tmp_path / name), f"{name}: .*nested", sv.InvalidProblem)
        for command in ("run", "sweep", "landscape"):
            assert main([command, str(tmp_path / name)]) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert name in line
            assert "nested" in line


def test_what_is_just_deep_enough_is_read() -> None:
    assert parse_json("[" * 50 + "]" * 50) is not None
    refused(lambda: parse_json("[" * 52 + "]" * 52), "nested")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (GOOD % ("1" * 5000), "not valid JSON"),  # a number of too many digits
        (GOOD % '{"dim": 1e999}', "inputs.dim"),
        (GOOD % '{"\\n\\u001b[31m": 1}', r"inputs\.\\n\\x1b\[31m: is not a field"),
        (GOOD % '{"\\ud800": 1}', r"inputs.*\\ud800"),
        (GOOD % json.dumps({"k" * 100_000: 1}), r"inputs\.kkk.*\.\.\..*must be one of dim, spectrum"),
        (GOOD % json.dumps({"spectrum": {"eigenvalues": [-1.0] * 10_000}}), "must not be negative"),
        ("\ufeff{}", "not valid JSON"),
        ("", "not valid JSON"),
    ],
)
def test_text_that_would_break_a_line(text: str, match: str) -> None:
    refused(lambda: sv.Problem.from_json(text), match, sv.InvalidProblem)


def test_many_mistakes_are_counted() -> None:
    with pytest.raises(sv.InvalidProblem) as caught:
        sv.Problem.from_json(GOOD % json.dumps({f"a{i}": 1 for i in range(5000)}))
    assert len(caught.value.problems) == 101
    assert caught.value.problems[-1] == "... and 4900 more"


def test_long_and_binary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "LONGEST_TEXT", 1 << 20)
    path = tmp_path / "a.json"
    path.write_text(" " * ((1 << 20) + 1))
    refused(lambda: sv.Problem.load(path), "a.json: longer than 1 MB", sv.InvalidProblem)
    path.unlink()
    path.symlink_to("/dev/zero")  # never ends
    refused(lambda: sv.Problem.load(path), "a.json: longer than 1 MB", sv.InvalidProblem)
    path.unlink()
    path.write_bytes(b"\xff\xfe{}")
    refused(lambda: sv.Problem.load(path), "a.json: not a text file", sv.InvalidProblem)


def test_a_line_keeps_its_end() -> None:
    assert one_line("a\nb\tc") == r"a\nb\tc"
    long = one_line("/" + "x\n" * 5000 + ": not valid JSON")
    assert len(long) <= 300
    assert long.startswith("/x")
    assert long.endswith(": not valid JSON")


def test_a_long_line_is_cut_between_words() -> None:
    words = [f"word_{i}" for i in range(100)]
    begin, end = one_line(" ".join(words)).split(" ... ")
    assert begin.split() == words[: len(begin.split())]
    assert end.split() == words[-len(end.split()) :]
    assert len(begin) + len(end) > 250


def header(shape: str, dtype: str = "<f8") -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def archived(path: Path, content: bytes, name: str = "a.npy") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        header("(-1, 5)") + bytes(400),
        header("(5, -1)") + bytes(400),
        header("(-5, -10)") + bytes(400),
        header("(10**9, 10**9)") + bytes(80),
        header("(1000000000, 1000000000)") + bytes(80),
        header("(9223372036854775807, 2)") + bytes(80),
        header("(5, 10, )") + bytes(399),
        header("(" * 3000) + bytes(80),
        header("(5, 10)", "|O") + bytes(400),
        header("(5, 10)", "<U10") + bytes(2000),
        header("(True, 10)") + bytes(80),
        header("(5.0, 10)") + bytes(400),
        header("'a'") + bytes(400),
        b"\x93NUMPY\x09\x00" + header("(5, 10)")[8:] + bytes(400),
        b"\x93NUMPY\x01\x00",
    ],
)
def test_arrays_that_are_none(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    for path in (tmp_path / "a.npy", archived(tmp_path / "a.npz", content)):
        refused(lambda path=path: sv.Data(path), "^data: ")
        assert main(["spectrum", str(path)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("solvable: data: ")


def test_archives_that_would_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousandfold: megabytes of zeros in kilobytes. It is told by the archive's own list, before anything is read."""
    monkeypatch.setattr(foreign, "INFLATED", 1 << 20)
    rows = 1 << 17
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as file, file.open("a.npy", "w") as entry:
        entry.write(header(f"({8 * rows}, 1)"))
        for _ in range(8):
            entry.write(bytes(8 * rows))
    assert (tmp_path / "a.npz").stat().st_size < 10_000
    refused(lambda: sv.Data(tmp_path / "a.npz"), r"would take 8388\d+ bytes of memory, from a file of \d{4}\)$")


def test_archives_are_as_long_as_they_say(tmp_path: Path) -> None:
    """The size in the list of the archive is a claim; less is found out, and more is not read."""
    whole = io.BytesIO()
    np.save(whole, np.ones((5, 10)))
    good = archived(tmp_path / "a.npz", whole.getvalue()).read_bytes()
    assert sv.Data(tmp_path / "a.npz").rows is not None
    size = struct.pack("<I", len(whole.getvalue()))
    for claimed in (0, 100, len(whole.getvalue()) - 80, len(whole.getvalue()) + 80):
        (tmp_path / "a.npz").write_bytes(good.replace(size, struct.pack("<I", claimed)))
        refused(lambda: sv.Data(tmp_path / "a.npz"), r"^data: .*a\.npz is not a readable")


def test_names_in_archives(tmp_path: Path) -> None:
    whole = io.BytesIO()
    np.save(whole, np.ones((5, 10)))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        for i in range(300):
            file.writestr(f"a\n{i}" + "x" * 50 + ".npy", whole.getvalue())
    refused(lambda: sv.Data(tmp_path / "a.npz"), r"^array: is missing; .*holds a\\n0xxx")


def test_archived_rows_are_those_that_were_saved(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((7, 3))
    for given in (rows, np.asfortranarray(rows), rows.astype(">f4"), rows[::2], (100 * rows).astype(np.int16)):
        np.savez_compressed(tmp_path / "a.npz", given)
        found = sv.Data(tmp_path / "a.npz").rows
        assert found is not None
        assert np.array_equal(found, given)
        assert found.dtype == given.dtype
        assert found.flags.writeable
    assert os.listdir(tmp_path) == ["a.npz"]


@pytest.mark.parametrize("name", ["macro", "meso", "empirical"])
def test_whole_numbers_that_no_machine_counts_to(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    level = {"name": name, "max_steps": 2**63}
    tables = {**json.loads(GOOD % '{"dim": 10}'), "level": level, "start": {"seed": 0}, "run": {"until": 1}}
    (tmp_path / "a.json").write_text(json.dumps(tables))
    assert main(["run", str(tmp_path / "a.json")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "max_steps: 9.22e+18 given, must be at most 10^18" in line


@pytest.mark.parametrize("values", [[1e308, -1e308], [1.7e308, 1.7e308], [1e200, 0.0], [1.3e154, 0.0]])
def test_rows_too_large_to_square(values: list[float]) -> None:
    rows = np.array([values, values[::-1], [0.0, 0.0]])
    for given in (rows, -rows):
        refused(lambda given=given: sv.Data(given).inputs, "^data: numbers too large to square$")
