"""Ctrl-C is heard at once, whatever computes, and nothing holds up the end of the interpreter."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from gate import only
from solvable.levels.jobs import run_jobs
from solvable.numerics.progress import silent
from solvable.numerics.threads import abandon, bell, gather, halt, interruptible, pool, raise_if_abandoned, watching

SOON = 3.0  # seconds from the signal to the end of the process, on a machine that others use too
READY = "signal.signal(signal.SIGINT, signal.default_int_handler)\nprint('ready', flush=True)\n"
BEGIN = (
    "import signal, numpy as np, solvable as sv\n"
    "sv.run, sv.Macro, sv.Micro, sv.Meso, sv.empirical.decide, sv.landscape.string\n"
)
QUADRATIC = """
problem = sv.Problem(teacher=sv.Teacher(width=2), student=sv.Student(width=3), inputs=sv.Inputs(dim={dim}),
                     training=sv.Training(learning_rate=0.01, **{training}))
start = sv.start(problem, seed=0)
"""
CASES = {
    "data": "data = sv.Data(np.random.default_rng(0).standard_normal((50, 4000)))\ndata.measured\n" + READY + "data.eigenvalues",
    "macro": QUADRATIC.format(dim=1000, training={}) + READY
    + "sv.run(problem, start, sv.Macro(rtol=1e-13, atol=0.0, max_steps=10**9), until=1e9)",
    "macro in slices": QUADRATIC.format(dim=1000, training={}) + "sv.run(problem, start, sv.Macro(rtol=1e-13), until=1)\n" + READY
    + "sv.run(problem, start, sv.Macro(rtol=1e-13, atol=0.0, max_steps=10**9), until=1e9)",
    "macro again and again": QUADRATIC.format(dim=1000, training={}) + READY
    + "while True: sv.run(problem, start, sv.Macro(), until=1)",
    "macro of great widths": "p = sv.problems.convention('worschech2024').problem(K=90, M=90, eta=0.1)\n"
    "s = sv.start(p, student_overlap=np.eye(90))\n" + READY + "sv.run(p, s, sv.Macro(), until=1e9)",
    "closed form": QUADRATIC.format(dim=1000, training={}).replace("width=3", "width=300") + READY
    + "sv.run(problem, start, sv.Macro(small_rate=True, method='closed'), until=1e9)",
    "micro": QUADRATIC.format(dim=10**6, training={}) + READY
    + "assert sv.results.Ending.INTERRUPTED in sv.run(problem, start, sv.Micro(runs=4), until=1e6).ending",
    "micro of great batches": QUADRATIC.format(dim=10**6, training={"batch": 10**9}) + READY
    + "sv.run(problem, start, sv.Micro(), until=1)",
    "full weights": QUADRATIC.format(dim=10**5, training={}) + READY
    + "assert sv.results.Ending.INTERRUPTED in sv.run(problem, start, sv.Micro(form='full'), until=1e3).ending",
    "meso": QUADRATIC.format(dim=10**6, training={}) + READY
    + "assert sv.results.Ending.INTERRUPTED in sv.run(problem, start, sv.Meso(runs=4, leap=1e-7), until=1e3).ending",
    "empirical": QUADRATIC.format(dim=60, training={"samples": 2000}) + READY
    + "assert sv.results.Ending.INTERRUPTED in sv.run(problem, start, sv.Empirical(rtol=1e-12), until=1e9).ending",
    "decide": "random = np.random.default_rng(0)\nrows, teacher = random.standard_normal((2000, 64)), np.eye(3, 64)\n" + READY
    + "sv.empirical.decide(rows, teacher)",
    "verify": "random = np.random.default_rng(0)\nrows, teacher = random.standard_normal((2080, 64)), np.eye(64)\n" + READY
    + "while True: sv.empirical.verify(True, np.zeros(2080), rows, teacher)",
    "recovery": QUADRATIC.format(dim=40, training={}) + READY + "sv.empirical.recovery(problem, 1000)",
    "recovery by flow": QUADRATIC.format(dim=30, training={}) + READY + "sv.empirical.recovery(problem, 1000, by='flow')",
    "string": "from solvable.landscape import Potential, string\n"
    "hill = Potential(lambda x: -x @ x, lambda x: -2 * x, lambda x: -2 * np.eye(600))\n" + READY
    + "string(hill, np.zeros(600), np.ones(600), images=300, tolerance=1e-300, iterations=10**6)",
    "start": "problem = sv.Problem(teacher=sv.Teacher(width=1), student=sv.Student(width=4000), inputs=sv.Inputs(dim=10**6),\n"
    "                     training=sv.Training(learning_rate=0.01))\n" + READY + "sv.start(problem, seed=0)",
}  # fmt: skip


@pytest.mark.parametrize("case", only(CASES, "macro", "micro", "empirical"))
def test_ctrl_c_ends_at_once(case: str) -> None:
    """A result that says it was interrupted, or KeyboardInterrupt; and then the end of the process."""
    child = subprocess.Popen(
        [sys.executable, "-c", BEGIN + CASES[case]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n", child.communicate()[1]
        time.sleep(0.7)
        assert child.poll() is None, "it was over before it could be interrupted"
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=60)
        took = time.monotonic() - began
    finally:
        child.kill()
        child.communicate()
    if "INTERRUPTED" in CASES[case] and child.returncode == 0:
        assert error == ""
    else:
        assert error.rstrip().endswith("KeyboardInterrupt"), error
        assert child.returncode
        assert error.endswith("KeyboardInterrupt\n")
    assert took < SOON


def test_what_is_computed_elsewhere_comes_back() -> None:
    def there(value: float) -> tuple[float, bool]:
        return value / 2, threading.current_thread() is threading.main_thread()

    assert interruptible(there)(3.0) == (1.5, False)
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        interruptible(lambda: np.ones(1) / 0)()
    (name,) = gather([pool(2).submit(interruptible(threading.get_ident))])
    assert name != threading.get_ident()


def test_abandoned_jobs_are_told_and_hold_up_nobody() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        try:
            while True:
                raise_if_abandoned()
                time.sleep(0.001)
        finally:
            ended.set()

    busy = [pool(1).submit(work) for _ in range(2)]
    assert begun.wait(10)
    abandon(busy)
    assert gather([pool(1).submit(int)]) == [0]
    assert ended.wait(10)
    assert busy[1].cancelled()


def test_inner_work_hears_of_it_too() -> None:
    """A job that starts others, and a run with a bell, end when nobody waits for them any more."""
    flag, rung = np.zeros(1), threading.Event()

    def job(control: object, i: int) -> None:
        flag[0] = 1.0
        while not control.stopped:  # type: ignore[attr-defined]
            assert halt() is control.halt  # type: ignore[attr-defined]
            time.sleep(0.001)

    def outer() -> None:
        with watching(flag), bell(rung.set, None):
            run_jobs([job] * 4, [1.0] * 4, 2, silent)

    thread = pool(2).submit(outer)
    with pytest.raises(KeyboardInterrupt):
        thread.result(10)
    assert rung.wait(10)


def test_jobs_that_do_not_stop_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may still be writing into results, so there are none."""
    release = threading.Event()

    def deaf(control: object, i: int) -> None:
        release.wait(30)

    def press(done: float, total: float) -> None:
        if not press.pressed:  # type: ignore[attr-defined]
            press.pressed = True  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    press.pressed = False  # type: ignore[attr-defined]
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_jobs([deaf] * 3, [1.0] * 3, 2, press)
    assert time.monotonic() - began < 10
    release.set()


OVERLAPPING = """
import threading
import numpy
from threadpoolctl import threadpool_info
from solvable.numerics.threads import one_blas_thread

def counts():
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

def first():
    with one_blas_thread():
        entered.set()
        assert both.wait(10)
    left.set()
    assert done.wait(10)  # alive until the end, as threads of a pool are

before = counts()
entered, both, left, done = (threading.Event() for _ in range(4))
thread = threading.Thread(target=first)
thread.start()
assert entered.wait(10)
with one_blas_thread():
    both.set()
    assert left.wait(10)
    print(set(counts()) == {1})
print(counts() == before)
with one_blas_thread():
    print(set(counts()) == {1})
print(counts() == before, max(before))
done.set()
"""


def test_one_blas_thread_lasts_until_the_last_has_left() -> None:
    """Of two threads whose stays overlap, the first to enter is the first to leave; in a process that has two to begin with."""
    found = subprocess.run(
        [sys.executable, "-c", OVERLAPPING], env=os.environ | {"OPENBLAS_NUM_THREADS": "2"}, capture_output=True, text=True,
        check=True, timeout=60,
    ).stdout.split()  # fmt: skip
    if found[-1] == "1":
        pytest.skip("there is one BLAS thread only")
    assert found[:-1] == ["True"] * 4
