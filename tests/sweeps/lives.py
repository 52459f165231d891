"""A sweep that tests kill: python lives.py STORE LOG POINTS SECONDS WORKERS. Notes in LOG what is computed and what is stored."""

import sys

from light import PROBLEM, Light, note

from solvable.sweeps import execute, plan


def main() -> None:
    store, log, points, seconds, workers = sys.argv[1:]
    measure = Light(seconds=float(seconds), log=f"{log}.computed")
    planned = plan(PROBLEM, measure, {"light.number": range(int(points))})
    names = {point.key: point.measure.number for point in planned.points}  # type: ignore[attr-defined]

    def stored(keys: list[bytes]) -> None:
        for key in keys:
            note(f"{log}.stored", str(names[key]))

    execute(planned, store, workers=int(workers), progress=False, stored=stored)
    note(f"{log}.ended", "ended")


if __name__ == "__main__":
    main()
