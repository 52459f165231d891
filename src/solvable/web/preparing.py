"""Machine code for the explorer, compiled beside it: until it is there curves are interpreted, and SGD waits."""

import subprocess
import threading
import time

from solvable.descriptions import warming
from solvable.numerics.interpreting import PATIENCE

CURVE, SGD = "limit", "SGD"


class Preparation:
    """What is missing of the machine code for curves and for SGD, and since when it is being made."""

    def __init__(self) -> None:
        self.missing: set[str] = set()
        self._process: subprocess.Popen | None = None

    def begin(self) -> None:
        """Compile what is missing in a process of its own, curves first."""
        from solvable.dynamics.equations import observe, rhs
        from solvable.micro.process import follow
        from solvable.numerics.tsit5 import solve

        kernels = {CURVE: (solve, rhs, observe), SGD: (follow,)}
        self.missing = {name for name, needed in kernels.items() if not all(one.at_hand for one in needed)}
        if self.missing:
            self.began, PATIENCE.left = time.monotonic(), float("inf")
            threading.Thread(target=self._compile, daemon=True).start()

    def _compile(self) -> None:
        for name in (CURVE, SGD):
            if name in self.missing:
                self._process = warming.start(name)
                self._process.communicate()
                self.missing.discard(name)  # made, or left to whoever needs it
        PATIENCE.left = 0.0

    @property
    def seconds(self) -> int:
        """Since it began."""
        return int(time.monotonic() - self.began)

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()


PREPARATION = Preparation()  # of this process
