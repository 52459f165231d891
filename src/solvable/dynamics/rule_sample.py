"""What a rule makes of one sample's gradient, in eight lanes: the counterpart of `rule_averages.py` in the reduced process.

|x|^2/dim is known exactly: `case_sample.py` leaves it in the slot `norm`, from the draws on and outside the frames.
"""

import numpy as np

from solvable.dynamics.sample import look_up_students, push_students, residual
from solvable.gaussian.units import TABULATED
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, fill, fma, load, root, store, where_above
from solvable.numerics.own_kernels import call_amplitude
from solvable.problems.rules import CLIPPED, GRADIENT, NORMALISED, OWN_RULE


@compiled(strict=True)
def use_sample(form, numbers, work, label):
    """F and pushes over all uses of a sample, given the label. Fields are moved."""
    take_gradient(form, numbers, work, label)
    if form.lookahead > 0.0:
        move_fields(form, numbers, work, fill(form.lookahead))
        take_gradient(form, numbers, work, label)
    if form.repeats == 1:
        return
    p, kept, total = form.students, form.kept, load(work, form.bare_push)
    for k in range(p):
        store(work, kept + k, load(work, form.amplitudes + k))
        store(work, kept + p + k, load(work, form.pushes + k))
    for _ in range(1, form.repeats):
        move_fields(form, numbers, work, load(work, form.rate) * (form.dim / form.batch))
        take_gradient(form, numbers, work, label)
        for k in range(p):
            store(work, kept + k, load(work, kept + k) + load(work, form.amplitudes + k))
            store(work, kept + p + k, load(work, kept + p + k) + load(work, form.pushes + k))
        total = total + load(work, form.bare_push)
    for k in range(p):
        store(work, form.amplitudes + k, load(work, kept + k))
        store(work, form.pushes + k, load(work, kept + p + k))
    store(work, form.bare_push, total)


@compiled(strict=True)
def take_gradient(form, numbers, work, label):
    """F of the gradient at the present fields, shaped by the rule, and pushes. Units that are tables have been looked up."""
    error = residual(form, numbers, work, label, work, form.case_readout)
    if form.biased:
        error = error - load(work, form.case_bias)
    store(work, form.output, label - error)
    store(work, form.bare_push, push_students(form, numbers, work, label, error, work, form.case_readout))
    apply_rule(form, work, label)


@compiled(strict=True)
def move_fields(form, numbers, work, step):
    """Students' fields after a step on this sample alone."""
    step = step * load(work, form.norm)
    for k in range(form.students):
        at = form.fields + k
        store(work, at, fma(step, load(work, form.amplitudes + k), load(work, at)))
    if form.unit == TABULATED:
        look_up_students(form, numbers, work)


@compiled(strict=True)
def apply_rule(form, work, label):
    p, size = form.students, load(work, form.norm)
    if form.rule == CLIPPED or form.rule == NORMALISED:
        square = fill(0.0)
        for k in range(p):
            f = load(work, form.amplitudes + k)
            square = fma(f, f, square)
        square = square * size
        factor = where_above(square, fill(0.0), form.rule_number / root(square), fill(0.0))
        if form.rule == CLIPPED:
            factor = where_above(square, fill(form.rule_number * form.rule_number), factor, fill(1.0))
        for k in range(p):
            store(work, form.amplitudes + k, factor * load(work, form.amplitudes + k))
    elif form.rule == OWN_RULE:
        store(work, form.own, label)
        F, z = work[(form.own + 1) * WIDTH :][:p], work[(form.own + 1) * WIDTH + p :][:p]
        for lane in range(WIDTH):
            for k in range(p):
                F[k] = work[(form.amplitudes + k) * WIDTH + lane]
                z[k] = work[(form.fields + k) * WIDTH + lane]
            at, output, square = form.own, form.output, form.norm
            call_amplitude(
                form.rule_address, F, z, work[at * WIDTH + lane], work[output * WIDTH + lane], work[square * WIDTH + lane]
            )  # fmt: skip
            for k in range(p):
                work[(form.amplitudes + k) * WIDTH + lane] = F[k]
    elif form.rule != GRADIENT:  # no rule
        for k in range(p):
            store(work, form.amplitudes + k, fill(np.nan))
