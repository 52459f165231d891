"""Many steps of the reduced process of a problem with cases, at rates that follow the state or not."""

from numba import int64

from solvable.dynamics.case_sample import case_amplitudes, case_fields, draw_case, set_chances
from solvable.dynamics.flags import BATCHES, MOVING, PACED
from solvable.dynamics.kernel_data import SYSTEM_FUNCTION
from solvable.dynamics.sample import draw
from solvable.micro.batch import clear_sums
from solvable.micro.case_step import collect_case, learn_case, learn_case_batch, move_teachers
from solvable.micro.looking import SIGHT
from solvable.micro.measured_batch import add_outside, draw_outside
from solvable.micro.paced_process import count_gradient, set_rates, square_of_batch, square_of_sample
from solvable.micro.process import FOLLOWED, advance, set_numbers
from solvable.micro.row_step import set_followers, set_friction
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, load, store


@compiled(strict=True, inline=True)
def tell(process, step):
    """As `process.tell`."""
    forms, frames, numbers, segments, blocks, _, state, work = process
    form = forms[0]
    due = set_numbers(form, frames, segments, blocks, step, work)
    if PACED and form.pace > 0:
        store(work, form.base_rate, load(work, form.rate))
    i = int(work[form.segments * WIDTH])
    now = segments[0, i]
    passed = step / form.dim - now.begin
    if set_chances(form, frames, numbers, i, passed, work):
        due = min(due, step + 1.0)
    set_friction(form, now.friction + now.friction_slope * passed)
    set_followers(form, frames, now.average_follows, now.snapshot_follows, state, work)
    return due


@compiled(strict=True, inline=True)
def take(process, more, step):  # noqa: ARG001
    """As `process.take`."""
    forms, frames, numbers, _, _, stream, state, work = process
    form = forms[0]
    if BATCHES and not form.single:
        clear_sums(form, work)
        for i in range(form.batch):
            draw(form, frames, stream, work)
            if form.largest > 0:
                draw_outside(form, frames, stream, work, i)
            draw_case(form, frames, numbers, stream, state, work)
            case_fields(form, frames, state, work)
            case_amplitudes(form, numbers, state, work)
            collect_case(form, frames, work)
            add_outside(form, frames, work, i)
        if PACED and form.pace > 0:
            count_gradient(form, square_of_batch(form, frames, stream, work), state, work)
        learn_case_batch(form, frames, stream, state, work, step)
    else:
        draw(form, frames, stream, work)
        draw_case(form, frames, numbers, stream, state, work)
        case_fields(form, frames, state, work)
        case_amplitudes(form, numbers, state, work)
        if PACED and form.pace > 0:
            count_gradient(form, square_of_sample(form, frames, work), state, work)
        learn_case(form, frames, state, work, step)
    if MOVING and form.moving_teachers:
        move_teachers(form, frames, numbers, stream, state, work)


@compiled(strict=True, inline=True)
def take_paced(process, more, step):
    """The same at a rate that the state decides, by the equations in `more`."""
    rhs, equations = more
    set_rates(rhs, process, equations, step)
    take(process, more, step)


@compiled(int64(*FOLLOWED), strict=True)
def follow_cases(look, observe, process, sight, runs, ends, span):
    """As `process.follow`."""
    return advance(tell, take, (), look, observe, process, sight, runs, ends, span)


@compiled(int64(SYSTEM_FUNCTION, SIGHT, *FOLLOWED), strict=True)
def follow_paced(rhs, equations, look, observe, process, sight, runs, ends, span):
    """The same with the equations for rules that look at them, and their data; in place of anchors and bounds these have a state
    and its slope as scratch."""
    return advance(tell, take_paced, (rhs, equations), look, observe, process, sight, runs, ends, span)
