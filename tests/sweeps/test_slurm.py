"""Sweeps under a real SLURM with one node: job arrays, requeueing, the walltime, and Dask's workers as jobs.

Needs Debian's slurm-wlm, munge and iproute2, and root: SLURM runs in a network namespace of its own.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from light import PROBLEM, Light, rates

from solvable.sweeps import Store, execute, plan

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
TOOLS = ("slurmctld", "slurmd", "munged", "ip", "nsenter", "sbatch")
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(10.99.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
ReturnToService=2
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmdSpoolDir={place}/spool
StateSaveLocation={place}/state
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
KillWait=5
InactiveLimit=0
MinJobAge=600
JobRequeue=1
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=10.99.0.1 CPUs=4 RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


class Slurm:
    def __init__(self, place: Path) -> None:
        self.place, self.space = place, f"solvable{os.getpid()}"
        self.environment = os.environ | {
            "SLURM_CONF": str(place / "slurm.conf"),
            "PYTHONPATH": str(Path(__file__).parent),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        self.daemons: list[subprocess.Popen[bytes]] = []

    def command(self, *words: str) -> list[str]:
        return ["nsenter", f"--net=/var/run/netns/{self.space}", *words]  # which keeps /sys as it is

    def run(self, *words: str, **options: Any) -> str:
        settings: dict[str, Any] = {"cwd": ROOT} | options
        done = subprocess.run(
            self.command(*words), env=self.environment, capture_output=True, text=True, check=False, **settings
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        host = os.uname().nodename.partition(".")[0]
        for name in ("spool", "state"):
            (self.place / name).mkdir()
        (self.place / "slurm.conf").write_text(CONFIGURATION.format(host=host, place=self.place))
        (self.place / "munge.key").write_bytes(os.urandom(128))
        (self.place / "munge.key").chmod(0o400)
        subprocess.run(["ip", "netns", "add", self.space], check=True)
        for words in (
            "link set lo up", "link add here type veth peer name there", "address add 10.99.0.1/24 dev here",
            "link set here up", "link set there up",
        ):  # fmt: skip
            self.run("ip", *words.split())  # names are only looked up where there is more than the loopback
        munge = ["munged", "--foreground", "--force", f"--key-file={self.place}/munge.key",
                 f"--socket={self.place}/munge.socket", f"--pid-file={self.place}/munge.pid",
                 f"--log-file={self.place}/munge.log", f"--seed-file={self.place}/munge.seed"]  # fmt: skip
        for words in (munge, ["slurmctld", "-D"], ["slurmd", "-D"]):
            with (self.place / f"{words[0]}.out").open("wb") as log:
                self.daemons.append(
                    subprocess.Popen(
                        self.command(*words), env=self.environment, stdout=log, stderr=log, start_new_session=True
                    )
                )
            time.sleep(1.0)
        wait_for(lambda: "idle" in self.run("sinfo", "--noheader", "--format=%T"), 60)

    def stop(self) -> None:
        subprocess.run(
            self.command("scancel", "--full", "--user=root"), env=self.environment, capture_output=True, check=False
        )
        time.sleep(1.0)
        for daemon in reversed(self.daemons):
            os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()
        subprocess.run(["ip", "netns", "delete", self.space], check=False)

    def submit(self, *words: str) -> str:
        return self.run("sbatch", "--parsable", f"--output={self.place}/job-%A-%a.out", *words).strip()

    def is_empty(self) -> bool:
        return not self.run("squeue", "--noheader").strip()


def wait_for(condition: Callable[[], Any], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.5)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    missing = [name for name in TOOLS if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root and {', '.join(missing or TOOLS)}")
    made = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


def contents(store: Path) -> dict[bytes, bytes]:
    opened = Store(store, create=False)
    assert not opened.verify()
    return {key: opened.encoded(key) for key in opened.keys()}  # noqa: SIM118


def whole(path: Path, points: int) -> dict[bytes, bytes]:
    execute(plan(PROBLEM, Light(), {"light.number": range(points)}), path, workers=0)
    return contents(path)


def test_array_of_the_example(slurm: Slurm, tmp_path: Path) -> None:
    """The ready script: two shares into one store, then once more, with nothing left to do."""
    if not (ROOT / ".venv" / "bin" / "activate").exists():
        pytest.skip("the script wants .venv")
    file, store = tmp_path / "rates.toml", tmp_path / "store"
    file.write_text(rates(60))
    for _ in range(2):
        slurm.submit(
            "--array=1-2",
            "--cpus-per-task=1",
            f"--export=ALL,STORE={store},SHARES=2",
            "examples/cluster/array.sh",
            str(file),
        )
        wait_for(slurm.is_empty, 180)
        there = contents(store)
        assert len(there) == 61
    told = slurm.run("solvable", "store", "status", "--store", str(store))
    assert "60 of 60 points" in told


def script(tmp_path: Path, store: Path, points: int, seconds: float) -> Path:
    file = tmp_path / "job.sh"
    lives = Path(__file__).with_name("lives.py")
    file.write_text(f"#!/bin/sh\nexec {sys.executable} {lives} {store} {tmp_path / 'log'} {points} {seconds} 1\n")
    return file


def test_requeued(slurm: Slurm, tmp_path: Path) -> None:
    store = tmp_path / "store"
    job = slurm.submit("--requeue", str(script(tmp_path, store, 300, 0.05)))
    wait_for(lambda: len(list(store.glob("segments/*.seg"))) > 3, 60)
    slurm.run("scontrol", "requeue", job)
    before = len(contents(store))
    assert before < 301
    slurm.run("scontrol", "update", f"JobId={job}", "StartTime=now")
    wait_for(lambda: (tmp_path / "log.ended").exists(), 240)
    assert contents(store) == whole(tmp_path / "whole", 300)
    stored = (tmp_path / "log.stored").read_text().split()
    assert len(stored) == len(set(stored))  # nothing was stored twice


def test_killed_by_the_walltime(slurm: Slurm, tmp_path: Path) -> None:
    store = tmp_path / "store"
    file = script(tmp_path, store, 1500, 0.06)
    slurm.submit("--time=1", str(file))
    wait_for(slurm.is_empty, 240)
    there = len(contents(store))
    assert 100 < there < 1501
    slurm.submit("--time=10", str(script(tmp_path, store, 1500, 0.0)))
    wait_for(lambda: (tmp_path / "log.ended").exists(), 240)
    assert contents(store) == whole(tmp_path / "whole", 1500)


def test_dask_jobqueue(slurm: Slurm, tmp_path: Path) -> None:
    pytest.importorskip("dask_jobqueue")
    file, store = tmp_path / "rates.toml", tmp_path / "store"
    file.write_text(rates(60))
    words = [
        sys.executable,
        str(ROOT / "examples" / "cluster" / "dask_slurm.py"),
        str(file),
        "--jobs",
        "2",
        "--memory",
        "1GB",
        "--store",
        str(store),
    ]
    told = slurm.run(*words, timeout=300, cwd=tmp_path)  # jobs leave their logs where they are submitted
    assert "60 of 60 points" in told
    assert len(contents(store)) == 61
