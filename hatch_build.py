"""Wheels that bring machine code: `SOLVABLE_MACHINE_CODE=1 python -m build --wheel` (or `make wheel`).

All kernels are compiled for a common kind of machine (on x86-64: level 3, every processor since 2015) and put into the wheel. An
installed `solvable` runs them on machines that have these instructions, with the versions of Python and Numba that they were
made by, and compiles its own in all other cases. It has the entries alone, two thirds of the size: what they are made of is
needed only by who compiles.
"""

import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LEVEL_3 = "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse sse2 sse3 sse4.1 sse4.2 ssse3 xsave"
MACHINES = {"x86_64": ("x86-64-v3", ",".join(f"+{name}" for name in LEVEL_3.split()))}
FINISH = """
from numba.core.registry import cpu_target
from solvable.numerics.kernel_pickles import load
from solvable.numerics.kernels_on_disk import SUFFIX, cache_directory, kind_of
from solvable.numerics.linking import INNER
from solvable.numerics.trusted_files import content_of
magic = cpu_target.target_context.codegen().magic_tuple()
directory = cache_directory() / kind_of(magic)
(directory / "machine.txt").write_text("\\n".join(magic), encoding="utf-8")
for path in directory.glob("*" + SUFFIX):
    (_, kind, _), *_ = load(content_of(path.name, path.read_bytes()))
    if kind == INNER:  # what entries are made of: whoever has these needs none of it
        path.unlink()
print(directory)
"""


class MachineCode(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or os.environ.get("SOLVABLE_MACHINE_CODE") != "1":
            return
        name, features = MACHINES.get(platform.machine(), ("generic", ""))
        self.room = tempfile.TemporaryDirectory()
        environment = {
            **os.environ,
            "PYTHONPATH": str(Path(self.root) / "src"),
            "SOLVABLE_CACHE_DIR": self.room.name,
            "NUMBA_CPU_NAME": name,
            "NUMBA_CPU_FEATURES": features,
        }
        subprocess.run([sys.executable, "-m", "solvable.cli.main", "warm-up", "--all"], env=environment, check=True)
        told = subprocess.run(
            [sys.executable, "-c", FINISH], env=environment, check=True, capture_output=True, text=True
        )
        directory = Path(told.stdout.strip())
        build_data["force_include"][str(directory)] = f"solvable/machine_code/{directory.name}"
        build_data["pure_python"] = False
        tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"{tag}-{tag}-{system}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if hasattr(self, "room"):
            self.room.cleanup()
