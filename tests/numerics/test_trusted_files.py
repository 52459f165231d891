"""Who may have written machine code that is read, written and removed."""

import os
import pickle
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from numba import float64, int64, types

from solvable.numerics import kernel_pickles, kernels_on_disk, trusted_files
from solvable.numerics.compiled import compiled
from solvable.numerics.kernels_on_disk import cache_directory
from solvable.numerics.lanes import LANES, WORDS
from solvable.numerics.trusted_files import MARK, Untrusted, check, is_there, read, remove_unused, write

OTHER = 65534  # nobody
OLD = time.time() - 1e7


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache directory, with one file that may be read, of a process that has printed nothing."""
    monkeypatch.setattr(trusted_files, "_NOTICE", {"wanted": True})
    monkeypatch.setenv("SOLVABLE_CACHE_DIR", str(tmp_path / "mine" / "cache"))
    write(tmp_path / "mine" / "cache" / "kernels-1" / "a.bin", b"code")
    assert read(tmp_path / "mine" / "cache" / "kernels-1" / "a.bin") == b"code"
    return tmp_path / "mine" / "cache"


def test_what_is_written_is_for_its_owner_alone(cache: Path) -> None:
    modes = [stat.S_IMODE(os.lstat(path).st_mode) for path in (cache.parent, cache, cache / "kernels-1")]
    assert modes == [0o700, 0o700, 0o700]
    assert stat.S_IMODE(os.lstat(cache / "kernels-1" / "a.bin").st_mode) == 0o600


LEVELS = ("kernels-1/a.bin", "kernels-1", ".", "..")


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
@pytest.mark.parametrize("level", LEVELS)
def test_a_level_that_others_may_write_is_refused(
    level: str, mode: int, cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sticky directories pass where they are root's and what is in them is the user's, as here is everything below."""
    monkeypatch.setattr(trusted_files, "_is_private", lambda *_: False)  # as root's group is
    place, file = Path(os.path.normpath(cache / level)), cache / "kernels-1" / "a.bin"
    place.chmod(mode)
    if mode & stat.S_ISVTX and place.is_dir() and os.geteuid() == 0:
        assert read(file) == b"code"
        return
    assert (is_there(file), read(file), read(file)) == (False, None, None)
    name = re.escape(str(place))
    assert re.fullmatch(f"solvable: .* is not used: others may write {name}, .*\n", capsys.readouterr().err)  # once
    place.chmod(0o700)
    assert read(file) == b"code"


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file or directory belong to another user: really, or where only root can do that, by being another one."""
    if os.geteuid() == 0:
        os.chown(path, OTHER, OTHER, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_that_belongs_to_another_user_is_refused(
    level: str, cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    give_away(Path(os.path.normpath(cache / level)), monkeypatch)
    assert read(cache / "kernels-1" / "a.bin") is None
    assert "belongs to another user" in capsys.readouterr().err
    if level != LEVELS[0]:
        with pytest.raises(Untrusted):
            write(cache / "kernels-1" / "b.bin", b"code")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a directory as /tmp")
def test_below_a_sticky_directory_the_next_level_is_the_users(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of another user is refused, and so is root's where the user is somebody else."""
    cache.parent.chmod(0o1777)
    check(cache)
    os.chown(cache, OTHER, OTHER)
    with pytest.raises(Untrusted, match="belongs to another user"):
        check(cache)
    levels = trusted_files._levels  # of those above, /tmp is sticky too, and what is in it is root's
    monkeypatch.setattr(
        trusted_files, "_levels", lambda path: [one for one in levels(path) if one[1].startswith(str(cache.parent))]
    )
    monkeypatch.setattr(os, "geteuid", lambda: OTHER)
    check(cache)
    os.chown(cache, 0, 0)
    with pytest.raises(Untrusted, match="belongs to another user"):
        check(cache)
    cache.parent.chmod(0o755)
    check(cache)


def test_links_on_the_way_are_followed_and_what_they_lead_to_is_checked(cache: Path, tmp_path: Path) -> None:
    """By absolute and relative paths; a link in a link too."""
    (tmp_path / "link").symlink_to("mine/../other")
    (tmp_path / "other").symlink_to(cache.parent)
    file = tmp_path / "link" / "cache" / "kernels-1" / "a.bin"
    assert read(file) == b"code"
    cache.parent.chmod(0o777)
    assert read(file) is None
    cache.parent.chmod(0o700)
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(Untrusted, match="too many links"):
        check(tmp_path / "round" / "a.bin")


def test_a_link_in_the_place_of_a_file_is_not_read(cache: Path, tmp_path: Path) -> None:
    file = cache / "kernels-1" / "a.bin"
    file.rename(tmp_path / "a.bin")
    file.symlink_to(tmp_path / "a.bin")
    assert not is_there(file)
    assert read(file) is None
    assert read(tmp_path / "a.bin") == b"code"


def test_what_was_opened_is_checked(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the path was sound a moment before."""
    (cache / "kernels-1" / "a.bin").chmod(0o666)
    monkeypatch.setattr(trusted_files, "check", lambda _: None)
    assert read(cache / "kernels-1" / "a.bin") is None


def test_a_file_under_the_name_of_another_is_damaged(cache: Path) -> None:
    file = cache / "kernels-1" / "a.bin"
    file.rename(file.with_name("b.bin"))
    assert read(file.with_name("b.bin")) is None
    file.with_name("b.bin").rename(file)
    assert read(file) == b"code"


def test_a_users_own_group_is_nobody_else() -> None:
    import grp
    import pwd

    user = pwd.getpwuid(0)
    alone = [entry for entry in grp.getgrall() if entry.gr_name == user.pw_name and set(entry.gr_mem) <= {user.pw_name}]
    assert [trusted_files._is_private(entry.gr_gid, user.pw_uid) for entry in alone] == [True] * len(alone)
    shared = next(entry for entry in grp.getgrall() if entry.gr_name != user.pw_name)
    assert not trusted_files._is_private(shared.gr_gid, user.pw_uid)
    assert not trusted_files._is_private(2**31 - 5, user.pw_uid)
    assert not trusted_files._is_private(0, 2**31 - 5)


class _Attack:
    """Makes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.file),)


def test_planted_machine_code_is_not_run(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of others it is not even opened; the kernel is compiled, and nothing is kept."""
    kernel = compiled(float64(float64))(lambda x: 2.0 * x)
    path = kernels_on_disk._own(kernel.targetctx) / kernel._cache._name(kernel.declared)
    write(path, pickle.dumps(_Attack(tmp_path / "ran")))
    content = path.read_bytes()
    cache.chmod(0o777)
    assert not kernel.at_hand
    assert kernel(2.0) == 4.0
    assert not (tmp_path / "ran").exists()
    assert path.read_bytes() == content
    lines = [line for line in capsys.readouterr().err.splitlines() if "others may write" in line]
    assert lines == [f"solvable: machine code on disk is not used: others may write {cache}, which chmod go-w ends "
                     "(SOLVABLE_CACHE_DIR names another place)"]  # fmt: skip


def test_loading_calls_nothing_but_what_makes_types(cache: Path, tmp_path: Path) -> None:
    """Of the user's own files too; a name with dots, and what a module of types has imported, are refused as well."""
    harmful = [pickle.dumps(_Attack(tmp_path / "ran"))]
    harmful += [f"c{module}\n{name}\n.".encode() for module, name in (
        ("os", "system"), ("builtins", "eval"), ("numba.core.types.npytypes", "np"), ("numba.core.types.npytypes", "np.load"),
        ("solvable.runfiles.warming", "subprocess"), ("solvable.runfiles.warming", "start"), ("solvable", "run"),
    )]  # fmt: skip
    for content in harmful:
        with pytest.raises(pickle.UnpicklingError, match="is no part of a kernel"):
            kernel_pickles.load(content)
    assert not (tmp_path / "ran").exists()
    kinds = [types.float64, types.UniTuple(int64, 3), types.float64[:, ::1], types.none, types.literal(3)]
    for kind in [*kinds, LANES, WORDS]:
        assert kernel_pickles.load(pickle.dumps(kind)) is kind


def test_only_our_own_unused_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No link is followed, nobody's directory is entered but the user's, and a file of others lacks our mark."""
    ours, other, foreign = tmp_path / "cache" / "kernels-0123", tmp_path / "cache" / "project", tmp_path / "weights"
    shared = tmp_path / "cache" / "kernels-shared"
    ages = {
        ours / "old.bin": OLD, ours / "new.bin": time.time(), ours / "notes.txt": OLD, ours / "half.part": OLD,
        other / "old.bin": OLD, foreign / "old.bin": OLD, shared / "old.bin": OLD,
    }  # fmt: skip
    for path, when in ages.items():
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(MARK + b"x")
        os.utime(path, (when, when))
    (ours / "model.bin").write_bytes(b"weights of somebody's network")
    os.utime(ours / "model.bin", (OLD, OLD))
    (tmp_path / "cache" / "kernels-4567").mkdir()
    (tmp_path / "cache" / "kernels-link").symlink_to(foreign)
    (ours / "link.bin").symlink_to(foreign / "old.bin")
    shared.chmod(0o777)
    remove_unused(tmp_path / "cache", "kernels-", (".bin",), 1e6)
    assert sorted(os.listdir(ours)) == ["link.bin", "model.bin", "new.bin", "notes.txt"]
    assert all((path / "old.bin").exists() for path in (other, foreign, shared))
    assert sorted(os.listdir(tmp_path / "cache")) == ["kernels-0123", "kernels-link", "kernels-shared", "project"]
    shared.chmod(0o700)
    give_away(shared, monkeypatch)
    remove_unused(tmp_path / "cache", "kernels-", (".bin",), 1e6)
    assert (shared / "old.bin").exists()


def test_a_file_that_is_read_stays_in_use(cache: Path) -> None:
    file = cache / "kernels-1" / "a.bin"
    os.utime(file, (OLD, OLD))
    assert read(file) == b"code"
    assert time.time() - file.stat().st_mtime < 1e4


@pytest.mark.parametrize(
    ("chosen", "base", "directory"),
    [
        ("~/kernels", "", "{home}/kernels"),
        ("/scratch/kernels", "/elsewhere", "/scratch/kernels"),
        (None, "/elsewhere", "/elsewhere/solvable"),
        (None, "cache", "{home}/.cache/solvable"),
        (None, "~/cache", "{home}/.cache/solvable"),
        ("", None, "{home}/.cache/solvable"),
    ],
)
def test_where_the_cache_is(
    chosen: str | None, base: str | None, directory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in {"SOLVABLE_CACHE_DIR": chosen, "XDG_CACHE_HOME": base}.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert cache_directory() == Path(directory.format(home=tmp_path))


def test_a_relative_cache_is_refused_in_one_line(tmp_path: Path) -> None:
    """It would follow the working directory, into which another user may have put one."""
    code = "from solvable.numerics.compiled import compiled; print(compiled('float64(float64)')(lambda x: 2 * x)(1.0))"
    settings = {**os.environ, "SOLVABLE_CACHE_DIR": "cache"}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=settings, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "2.0\n"
    lines = ended.stderr.splitlines()
    assert [line for line in lines if "is not an absolute path" in line] == lines[:1]
    assert not list(tmp_path.iterdir())


def test_a_system_without_owners_reads_and_writes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "geteuid")
    monkeypatch.delattr(os, "O_NOFOLLOW")
    assert read(cache / "kernels-1" / "a.bin") == b"code"
    write(cache / "kernels-2" / "b.bin", b"more")
    assert read(cache / "kernels-2" / "b.bin") == b"more"


def test_machine_code_of_the_installation_is_trusted_as_python_is(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever installed it; where the cache is refused too. Under another name it is damaged all the same."""
    monkeypatch.setattr(kernels_on_disk, "SHIPPED", cache)
    cache.chmod(0o777)
    file = cache / "kernels-1" / "a.bin"
    assert kernels_on_disk._read(file) == b"code"
    file.rename(file.with_name("b.bin"))
    assert kernels_on_disk._read(file.with_name("b.bin")) is None
