"""How much memory there is, as the system tells it, and what is said where it is not enough."""

from pathlib import Path

import pytest

from solvable.numerics import memory


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system with 4 GB free, whose files are here."""
    (tmp_path / "meminfo").write_text("MemTotal: 8000000 kB\nMemFree: 1 kB\nMemAvailable: 4000000 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "GROUP_ROOT", tmp_path / "groups")
    return tmp_path


def group(folder: Path, names: tuple[str, str], limit: object, used: int, files: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip((*names, "memory.stat"), (limit, used, f"anon 1\ninactive_file {files}"), strict=True):
        (folder / name).write_text(f"{value}\n")


def test_the_machine_and_its_groups_limit_it(system: Path) -> None:
    assert memory.available_memory() == 4000000 * 1024
    (system / "cgroup").write_text("0::/jobs/one\n")
    group(system / "groups" / "jobs" / "one", memory.NAMES[2], "max", 10**9, 0)
    assert memory.available_memory() == 4000000 * 1024
    group(system / "groups" / "jobs", memory.NAMES[2], 3 * 10**9, 2 * 10**9, 10**8)  # of the group that holds it
    assert memory.available_memory() == 11 * 10**8
    (system / "cgroup").write_text("12:cpu:/x\n5:memory:/\n")
    group(system / "groups" / "memory", memory.NAMES[1], 10**9, 2 * 10**9, 0)
    assert memory.available_memory() == 0


def test_what_is_given_back_counts_as_free(system: Path) -> None:
    (system / "cgroup").write_text("0::/jobs\n")
    group(system / "groups" / "jobs", memory.NAMES[2], 3 * 10**9, 3 * 10**9, 10**8)
    with (system / "groups" / "jobs" / "memory.stat").open("a") as file:
        file.write("active_file 200000000\nslab_reclaimable 30000000\nslab_unreclaimable 5\n")
    assert memory.available_memory() == 33 * 10**7
    (system / "cgroup").write_text("5:memory:/\n")
    group(system / "groups" / "memory", memory.NAMES[1], 10**9, 10**9, 0)
    (system / "groups" / "memory" / "memory.stat").write_text(
        "inactive_file 1\ntotal_inactive_file 40\nactive_file 2\n"
    )
    assert memory.available_memory() == 42


def test_where_nobody_tells(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (system / "meminfo").unlink()
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.__getitem__)
    assert memory.available_memory() == 4096000
    monkeypatch.delattr(memory.os, "sysconf")
    assert memory.available_memory() == memory.UNKNOWN


def test_words(system: Path) -> None:
    memory.check_memory("runs", "few runs", 4000000 * 1024)
    with pytest.raises(ValueError, match=r"^runs: many runs take 5 TB of memory, but 4.1 GB are free$"):
        memory.check_memory("runs", "many runs", 5 * 10**12)
    assert [memory.in_words(one) for one in (0, 999, 1000, 10**6, 10**20, 10**5000)] == [
        "0 B", "999 B", "1 kB", "1 MB", "100 EB", "10^5000 B",
    ]  # fmt: skip
    assert (memory.counted(12), memory.counted(10**5000)) == ("12", "10^5000")
