"""What is promised of every problem, on random ones: files and hashes, the same bits whatever runs beside, thresholds."""

import pickle

import drawing
import laws
import numpy as np
import pytest

import solvable as sv

DIM = 1080


@pytest.mark.parametrize("number", laws.numbers())
def test_files_keep_problem_and_hash(number, laws_note, tmp_path):
    one = drawing.draw("files", number, pilot=None)
    problem = one.problem
    with laws_note.of("files", "TOML, JSON, pickle", laws.described("files", one)) as note:
        note(runs=1)
        other = problem.replace(training__loss_factor=0.75)
        assert other != problem
        assert other.hash != problem.hash
        assert repr(problem).startswith("Problem(")
        if problem.own_functions():
            with pytest.raises(sv.InvalidProblem, match="cannot be written"):
                problem.save(tmp_path / "problem.toml")
            return
        again = pickle.loads(pickle.dumps(problem))
        assert (again, again.hash, again.likeness) == (problem, problem.hash, problem.likeness)
        for suffix in ("toml", "json"):
            path = tmp_path / f"problem.{suffix}"
            problem.save(path)
            again = sv.Problem.load(path)
            assert again == problem
            assert (again.hash, again.likeness) == (problem.hash, problem.likeness)
            assert getattr(again, f"to_{suffix}")() == getattr(problem, f"to_{suffix}")()


def accepts_micro(problem):
    drawing.taken_by(problem, sv.Micro())


def accepts_macro(problem):
    drawing.taken_by(problem, sv.Macro())


def same(one, other):
    """Whether everything that two runs computed is the same to the bit."""
    names = ("risk", "student_overlap", "cross_overlap", "readout", "scalars", "extra_overlap")
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    return all(x is y is None or np.array_equal(x, y, equal_nan=True) for x, y in pairs)


def some(run, runs=slice(None), times=slice(None)):
    """A part of a trajectory's arrays."""

    class Part:
        def __getattr__(self, name):
            values = getattr(run, name)
            return (
                None if values is None else np.broadcast_to(values, (len(run.risk), *values.shape[1:]))[runs][:, times]
            )

    return Part()


@pytest.mark.parametrize("number", laws.numbers())
def test_bits_do_not_depend_on_what_runs_beside(number, laws_note):
    one = drawing.draw("bits", number, accepts=accepts_micro)
    times = drawing.TIMES
    with laws_note.of("bits", "Micro, Macro", laws.described("bits", one)) as note:
        note(runs=11)

        def micro(times=times, **level):
            level = {"runs": 11, "seed": 5} | level
            return sv.run(one.problem, one.start, sv.Micro(**level), times=times, progress=False)

        run = micro()
        assert same(some(run), some(micro(threads=1)))
        assert same(some(run, slice(3)), some(micro(runs=3)))
        more = micro(times=(0.25, times[0], 1.0, 1.5, times[1]))
        assert same(some(run), some(more, times=[1, 4]))
        start = one.start.overlaps(one.problem)
        try:
            accepts_macro(one.problem)
        except ValueError:
            return
        alone = sv.run(one.problem, start, sv.Macro(), times=times, progress=False)
        batch = sv.levels.run_batch(
            one.problem, [start, start, start], sv.Macro(threads=2), times=times, progress=False
        )
        for i in range(3):
            assert same(some(alone), some(batch, slice(i, i + 1)))


def quantity_of(run, name, entry):
    """(run, time) of what a threshold watches."""
    values = getattr(run, {"norm": "student_overlap"}.get(name, name))
    if name == "norm":
        values = np.diagonal(values, axis1=-2, axis2=-1)
    return values if not entry else values[:, :, *entry]


def threshold(one, dense):
    """Halfway to where a dense run comes, of a quantity that moves; None where none does."""
    choices = [("risk", ()), ("norm", (0,)), *([("cross_overlap", (0, 0))] if one.problem.teacher.width else [])]
    for name, entry in (choices[i] for i in one.random.permutation(len(choices))):
        mean = quantity_of(dense, name, entry).mean(axis=0)
        far = int(np.abs(mean - mean[0]).argmax())
        if abs(mean[far] - mean[0]) < 1e-3:
            continue
        level, above = float(0.5 * (mean[0] + mean[far])), mean[far] > mean[0]
        passed = (quantity_of(dense, name, entry) - level) * (1 if above else -1) >= 0
        return sv.when(name, entry=entry or None, **({"above": level} if above else {"below": level})), passed
    return None


@pytest.mark.parametrize("number", laws.numbers())
def test_thresholds_of_macro_are_where_dense_outputs_pass(number, laws_note):
    one = drawing.draw("thresholds", number, accepts=accepts_macro)
    start, times = one.start.overlaps(one.problem), np.linspace(0.0, 2.0, 2001)
    with laws_note.of("thresholds", "Macro", laws.described("thresholds", one)) as note:
        note(runs=1)
        dense = sv.run(one.problem, start, sv.Macro(), times=times, progress=False)
        chosen = threshold(one, dense)
        if chosen is None:
            return
        stop, passed = chosen
        run = sv.run(one.problem, start, sv.Macro(), until=2.0, stop=stop, progress=False)
        assert run.ending == [sv.results.Ending.STOPPED]
        first = times[passed[0].argmax()]
        assert first - 0.001 - 1e-5 <= run.end_time[0] <= first + 1e-5


@pytest.mark.statistical
@pytest.mark.parametrize("number", laws.numbers())
def test_thresholds_of_micro_are_at_the_first_look_beyond(number, laws_note):
    """Looks are every 16 steps, or 20 times per unit of alpha; what is left out between looks changes nothing."""
    one = drawing.draw("looks", number, accepts=accepts_large)
    problem, start = large(one.problem), one.start.overlaps(one.problem)
    with laws_note.of("thresholds", "Micro", laws.described("looks", one)) as note:
        note(runs=16)
        run = lambda **given: sv.run(problem, start, sv.Micro(runs=16, seed=7), clock="steps", progress=False, **given)
        dense = run(times=np.arange(0, 2 * DIM + 1))
        chosen = threshold(one, dense)
        if chosen is None:
            return
        stop, passed = chosen
        stopped = run(times=[2 * DIM], stop=stop)
        ends = np.rint(stopped.end_time).astype(int)
        averaged = stop.quantity == "risk" and not np.all(dense.risk_error < 1e-13)
        looks = {DIM // 20} if averaged else {16, DIM // 20}
        for every in looks:
            at = np.union1d(np.arange(0, 2 * DIM, every), [2 * DIM])
            expected = np.where(passed[:, at].any(axis=1), at[passed[:, at].argmax(axis=1)], 2 * DIM)
            if (expected == ends).all():
                break
        else:
            pytest.fail(f"ended after {ends} steps, the first looks beyond are {expected} (every {every} steps)")


def large(problem):
    from test_laws_limit import enlarged

    return enlarged(problem, DIM)


def accepts_large(problem):
    drawing.taken_by(large(problem), sv.Micro())


def test_a_file_of_another_problem_is_told():
    one, other = (drawing.draw("files", number, pilot=None).problem for number in (0, 1))
    assert one != other
    assert one.hash != other.hash
