"""Machine code for the explorer, compiled beside it: until it is there curves are interpreted, and SGD waits."""

import logging
import threading
from typing import Any

from solvable.numerics.interpreting import interpret_all, machine_code_only
from solvable.numerics.kernels_on_disk import is_writable
from solvable.runfiles import warming

log = logging.getLogger("solvable.explore")
CURVE, SGD, DIFFUSION, SCHEDULE = "limit", "SGD", "diffusion", "best schedules"


def needed_kernels() -> dict[str, tuple[Any, ...]]:
    """Return the kernels of curves, SGD, diffusion and best schedules as the page asks for them first."""
    from solvable.control.passes import hamiltonian, march, record, reverse
    from solvable.dynamics.equations import observe, rhs
    from solvable.dynamics.quadratic_equations import quadratic_rhs
    from solvable.dynamics.reverse import back, back_risk
    from solvable.gaussian.closed_forms import for_unit
    from solvable.macro.integrators import fifth_order
    from solvable.meso import following
    from solvable.micro.process import follow as follow_sgd
    from solvable.numerics.specialising import form_for

    curves = [for_unit(kernel, unit) for unit in ("quadratic", "erf") for kernel in (rhs, observe)]
    return {
        CURVE: (fifth_order, quadratic_rhs, *curves),
        SGD: (form_for(follow_sgd, BATCHES=False, TABLES=False),),
        DIFFUSION: (form_for(following.follow, THRESHOLD=False, TABLES=False),),
        SCHEDULE: (
            record,
            march,
            reverse,
            hamiltonian,
            *(for_unit(kernel, "quadratic") for kernel in (back, back_risk)),
        ),
    }


class Preparation:
    """What is missing of the machine code for curves, SGD, diffusion and best schedules, and how far it is."""

    def __init__(self) -> None:
        self.missing: list[str] = []  # in the order in which it is made
        self._compiling: warming.Compiling | None = None
        self._begun, self._lock = False, threading.Lock()

    def begin(self) -> None:
        """Compile what is missing in a process of its own, curves first. Whoever computes asks for it; only the first does it."""
        with self._lock:
            if not self._begun:
                self._begin()
                self._begun = True

    def _begin(self) -> None:
        kernels = needed_kernels()
        self.missing = [name for name, needed in kernels.items() if not all(one.at_hand for one in needed)]
        if CURVE in self.missing:
            interpret_all()
        if self.missing:
            threading.Thread(target=self._compile, args=[kernels], daemon=True).start()

    def _compile(self, kernels: dict[str, tuple[Any, ...]]) -> None:
        for name in list(self.missing):
            if is_writable():
                self._compiling = warming.start(name)
                self._compiling.process.wait()
                if (failure := self._compiling.failure()) is not None:  # left to whoever needs it
                    log.error("%s could not be compiled\n%s", name, failure)
            else:  # another process could not hand it over
                for kernel in kernels[name]:
                    kernel.settle()
            self.missing.remove(name)
            if name == CURVE:
                machine_code_only()

    def words(self, needed: str) -> str:
        """How far the machine code is that somebody waits for; "" once it is there."""
        if needed not in (missing := self.missing.copy()):
            return ""
        told = "" if self._compiling is None else self._compiling.progress()[2]
        first = f"first {missing[0]}, " if missing[0] != needed else ""
        return first + (told or "beginning")

    def end(self) -> None:
        if self._compiling is not None:
            self._compiling.process.kill()


PREPARATION = Preparation()  # of this process
