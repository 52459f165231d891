"""Trajectories in files that someone else wrote or changed: what is wrong is told in one line, and nothing else is opened."""

import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray

import solvable as sv
from solvable.problems import foreign
from solvable.results import netcdf, storage

PROBLEM = sv.Problem(
    teacher=sv.Teacher(width=1),
    student=sv.Student(width=2),
    inputs=sv.Inputs(dim=100),
    training=sv.Training(learning_rate=0.1),
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "run.nc"
    batch = [sv.start(PROBLEM, seed=seed) for seed in range(2)]
    stop = sv.when("risk", below=0.5, relative=True)
    sv.levels.run_batch(PROBLEM, batch, sv.Macro(), times=[0.0, 0.1, 0.2], stop=stop).save(path)
    return path


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(saved, tmp_path / "run.nc"))


def refused(path: Path, match: str) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        sv.Trajectory.load(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    assert len(text) < 600


def sealed(path: Path, change: Callable[[h5py.File], Any]) -> None:
    """Change a file and give it a checksum that fits: what a checksum cannot tell."""
    with h5py.File(path, "r+") as file:
        change(file)
    with suppress(ValueError):  # not of what we do not read ourselves
        netcdf.seal(path)


def changed(path: Path, change: Callable[[h5py.File], Any]) -> None:
    with h5py.File(path, "r+") as file:
        change(file)


def set_values(name: str, values: Any, **options: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        if name in file:
            del file[name]
        file.create_dataset(name, data=values, **options)

    return change


def set_attribute(name: str, value: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file.attrs[name] = value

    return change


def test_whatever_is_changed_is_noticed(saved: Path, copy: Path) -> None:
    """One number, one letter, one attribute, one dimension's name, and the checksum itself; also where no trajectory reads it."""
    with h5py.File(saved) as file:
        names, attributes = list(file), [name for name in file.attrs if name not in netcdf.BOOKKEEPING]
        kinds = {name: file[name].dtype.kind for name in names}

    def more(file: h5py.File, name: str) -> None:
        variable = file[name]
        if kinds[name] == "O":
            variable[0] = variable.asstr()[0] + "x"
        else:
            values = variable[...]
            values.flat[-1] = np.nextafter(values.flat[-1], 1e9) if kinds[name] == "f" else values.flat[-1] + 1
            variable[...] = values

    changes: list[Callable[[h5py.File], Any]] = [lambda file, name=name: more(file, name) for name in names]
    changes += [lambda file, name=name: file.attrs.__setitem__(name, "x") for name in attributes if name != "format"]
    changes += [lambda file, name=name: file.attrs.__delitem__(name) for name in attributes if name != "format"]
    changes += [
        lambda file: file["risk"].attrs.__setitem__("long_name", "something else"),
        lambda file: file["risk"].attrs.__setitem__("scale_factor", 2.0),
        lambda file: file.create_dataset("more", data=[1.0]),
        lambda file: file.attrs.__setitem__("more", 1),
        lambda file: file.__delitem__("population_loss" if "population_loss" in file else "eigenvalue"),
        lambda file: file.move("risk_error", "risk_mistake"),
        lambda file: file["risk"].dims[1].detach_scale(file["time"]),
        lambda file: file.attrs.__setitem__("checksum", "0" * 64),
        lambda file: file.attrs.__setitem__("format", 1),
        lambda file: file.attrs.__delitem__("checksum"),
    ]
    for change in changes:
        changed(copy, change)
        refused(copy, "was changed since it was written|not a trajectory of format")
        shutil.copy(saved, copy)
    assert len(changes) > 40
    assert sv.Trajectory.load(copy).problem == PROBLEM


def test_files_without_a_checksum_load_with_a_warning(copy: Path) -> None:
    """As they were written before there was one."""

    def older(file: h5py.File) -> None:
        del file.attrs["checksum"]
        file.attrs["format"] = 1

    changed(copy, older)
    with pytest.warns(UserWarning, match=r"run\.nc: was written before files had a checksum.*save it again"):
        loaded = sv.Trajectory.load(copy)
    loaded.save(copy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(sv.Trajectory.load(copy).risk, loaded.risk)


def test_other_tools_may_copy_and_compress(saved: Path, tmp_path: Path) -> None:
    data = xarray.load_dataset(saved, engine="h5netcdf")
    encoding = {
        str(name): {"zlib": True} for name in data.data_vars if data[name].dtype.kind == "f" and data[name].ndim
    }
    data.to_netcdf(tmp_path / "small.nc", engine="h5netcdf", encoding=encoding)
    one, two = sv.Trajectory.load(saved), sv.Trajectory.load(tmp_path / "small.nc")
    assert np.array_equal(one.risk, two.risk)
    assert one.stop == two.stop == sv.when("risk", below=0.5, relative=True)


def test_labels_come_back_as_they_were(copy: Path) -> None:
    """Numbers, truth values and text."""
    loaded = sv.Trajectory.load(copy)
    given = {"number": np.array([1, 2]), "truth": np.array([True, False]), "text": np.array(["a", "bé"], dtype=object)}
    sv.Trajectory(**{**vars(loaded), "labels": given}).save(copy)
    labels = sv.Trajectory.load(copy).labels
    for name, values in given.items():
        assert labels[name].tolist() == values.tolist()
        assert labels[name].dtype == values.dtype


SECRET = np.arange(6.0)


def external_link(file: h5py.File, other: Path) -> None:
    del file["risk"]
    file["risk"] = h5py.ExternalLink(str(other), "/risk")


def more_links(file: h5py.File, other: Path) -> None:
    file["elsewhere"] = h5py.ExternalLink(str(other), "/")


def soft_link(file: h5py.File, other: Path) -> None:
    file["again"] = h5py.SoftLink("/risk")


def virtual(file: h5py.File, other: Path) -> None:
    del file["risk"]
    layout = h5py.VirtualLayout(shape=(2, 3), dtype="f8")
    layout[...] = h5py.VirtualSource(str(other), "risk", shape=(2, 3))
    file.create_virtual_dataset("risk", layout)


def external_storage(file: h5py.File, other: Path) -> None:
    del file["risk"]
    file.create_dataset("risk", shape=(2, 3), dtype="f8", external=[(str(other.with_suffix(".raw")), 0, 48)])


def group(file: h5py.File, other: Path) -> None:
    file.create_group("inner")["loop"] = file["/"]


@pytest.mark.parametrize("point", [external_link, more_links, soft_link, virtual, external_storage, group])
def test_nothing_else_is_opened(point: Any, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links, virtual and external datasets name other files; these are neither read nor looked for."""
    other = tmp_path / "other.nc"
    with h5py.File(other, "w") as file:
        file["risk"] = SECRET.reshape(2, 3)
    other.with_suffix(".raw").write_bytes(SECRET.tobytes())
    for there in (True, False):
        with h5py.File(copy, "r+") as file:
            if "inner" not in file and "elsewhere" not in file and "again" not in file:
                point(file, other)
        if not there:
            other.unlink()
            other.with_suffix(".raw").unlink()
        refused(copy, "which is not followed|is not a variable")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda file: file.__delitem__("risk"), "not a trajectory, risk is missing"),
        (lambda file: file.__delitem__("alpha"), "not a trajectory, alpha is missing"),
        (lambda file: file.__delitem__("end_block_cross_overlap"), "end_block_cross_overlap is missing"),
        (lambda file: file.attrs.__delitem__("stop"), "not a trajectory, stop is missing"),
        (lambda file: file.attrs.__delitem__("problem_hash"), "not a trajectory, problem_hash is missing"),
        (set_values("block_student_overlap", np.ones((2, 1, 3, 2, 2))), "block_cross_overlap is missing"),
        (set_values("risk", np.ones((2, 4))), r"risk: shape \(2, 4\), must be \('run', 'time'\), as \(2, 3\)"),
        (set_values("risk", np.ones((3, 3))), "shape"),
        (set_values("risk", 1.0), "risk: shape"),
        (set_values("risk", np.ones((2, 3), dtype="c16")), "risk holds complex128, must be numbers or text"),
        (set_values("risk", np.ones((2, 3), dtype="i8")), "risk: an array of int64"),
        (set_values("risk", np.zeros((2, 3), dtype="V8")), "risk holds"),
        (set_values("risk", h5py.Empty("f8")), "risk is not a variable"),
        (set_values("student_overlap", np.ones((2, 3, 5, 5))), "student_overlap: shape"),
        (set_values("ending", ["finished", "nonsense"]), "ending: 'nonsense' is none"),
        (set_values("start_hash", [1.0, 2.0]), "start_hash: an array of float64"),
        (set_values("nfev", [1.0, 2.0]), "nfev: an array of float64"),
        (set_attribute("settings", "[" * 100_000), "settings: .*nested"),
        (set_attribute("settings", "[1]"), "settings: list given, must be a dict"),
        (set_attribute("labels", '["nothing"]'), "not a trajectory, nothing is missing"),
        (set_attribute("labels", "[[]]"), "labels: must be names"),
        (set_attribute("labels", '["alpha"]'), "alpha: shape"),
        (set_attribute("stop", '{"quantity": "risk"}'), "stop: is no threshold"),
        (set_attribute("stop", '{"quantity": [], "level": 1, "falls": 1, "relative": 1}'), "stop: is no threshold"),
        (set_attribute("stop", "5"), "stop: int given"),
        (set_attribute("unit", "years"), "clock: 'years' given"),
        (set_attribute("unit", 3), "unit: int given, must be text"),
        (set_attribute("problem", "[" * 100_000), "its problem is not valid: .*nested"),
        (set_attribute("problem", '{"teacher": 3}'), "its problem is not valid: teacher"),
        (set_attribute("problem", PROBLEM.replace(student__width=3).to_json()), "student_overlap: shape"),
        (set_attribute("format", 3), "not a trajectory of format 2"),
        (set_attribute("format", "a\nb"), "not a trajectory of format 2"),
    ],
)
def test_what_is_no_trajectory(change: Any, match: str, copy: Path) -> None:
    """Also with a checksum that fits."""
    sealed(copy, change)
    refused(copy, match)


def huge(file: h5py.File) -> None:
    """Not written anywhere: a shape costs nothing."""
    file.create_dataset("big", shape=(1 << 20, 1 << 20), dtype="f8")


def packed(file: h5py.File) -> None:
    file.create_dataset("big", data=np.zeros(1 << 20), compression="gzip", compression_opts=9)


def one_chunk(file: h5py.File) -> None:
    """Ten numbers, in a chunk of a million."""
    made = file.create_dataset("big", shape=(10,), maxshape=(None,), chunks=(1 << 20,), compression="gzip", dtype="f8")
    made[...] = 1.0


def repeated(file: h5py.File) -> None:
    file.create_dataset("big", data=np.full(40, "x" * 60_000, dtype=object), dtype=h5py.string_dtype())


@pytest.mark.parametrize("inflate", [huge, packed, one_chunk, repeated])
def test_files_that_would_fill_the_memory(inflate: Any, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(copy, inflate)
    monkeypatch.setattr(foreign, "INFLATED", 1 << 20)
    monkeypatch.setattr(foreign, "RATIO", 20 if inflate is not repeated else 0)
    refused(copy, r"would take \d+ bytes of memory, from a file of \d+$")


def test_unknown_filters_are_not_loaded(copy: Path) -> None:
    changed(copy, lambda file: file.create_dataset("x", data=np.ones(10), compression="lzf"))
    refused(copy, "x has a filter of an unknown kind")


@pytest.mark.parametrize("content", [b"", b"\x89HDF\r\n\x1a\n", b"CDF\x01" + bytes(100), b"risk\n1\n"])
def test_what_is_no_netcdf(content: bytes, copy: Path) -> None:
    copy.write_bytes(content)
    refused(copy, "not a readable NetCDF file")


def test_every_name_of_a_file_has_its_dimensions(saved: Path) -> None:
    with xarray.open_dataset(saved, engine="h5netcdf") as data:
        for name in data.data_vars:
            assert data[name].dims == storage.dimensions()[str(name)]


def heaps(content: bytes) -> list[tuple[int, int]]:
    """Begin and end of all heaps of text."""
    found, at = [], content.find(b"GCOL\x01")
    while at >= 0:
        found.append((at, at + int.from_bytes(content[at + 8 : at + 16], "little")))
        at = content.find(b"GCOL\x01", at + 1)
    return found


@pytest.mark.parametrize("head", [bytes(16), b"\x01" + bytes(7) + b"\xff" * 8, bytes(8) + b"\xf0" + b"\xff" * 7])
def test_heaps_of_text_that_have_no_end(head: bytes, saved: Path, copy: Path) -> None:
    """HDF5 alone would never come back from reading some of these."""
    whole = saved.read_bytes()
    found = heaps(whole)
    assert found
    for begin, end in found:
        at = begin + 16
        while at + 16 <= end:  # every text, and what is free behind the last
            copy.write_bytes(whole[:at] + head + whole[at + 16 :])
            refused(copy, "its text is damaged")
            index, size = (
                int.from_bytes(whole[at : at + 2], "little"),
                int.from_bytes(whole[at + 8 : at + 16], "little"),
            )
            at += 16 + (size + 7) // 8 * 8 if index else size


def test_heaps_are_found_across_blocks(saved: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = saved.read_bytes()
    expected = [begin for begin, _ in heaps(whole)]
    for block in (1, 2, 5, 7, 4096):
        monkeypatch.setattr(netcdf, "BLOCK", block)
        with copy.open("rb") as file:
            assert list(netcdf._places(file, netcdf.HEAP)) == expected
