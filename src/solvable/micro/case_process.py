"""Many steps of the reduced process of a problem with cases."""

from numba import float64, from_dtype, int64

from solvable.dynamics.case_sample import case_amplitudes, case_fields, draw_case, set_chances
from solvable.dynamics.kernel_data import SYSTEM_FUNCTION
from solvable.dynamics.sample import draw
from solvable.micro.batch import clear_sums
from solvable.micro.case_step import collect_case, learn_case, learn_case_batch, move_teachers
from solvable.micro.looking import PROCESS_DATA, RUN, SIGHT, look
from solvable.micro.measured_batch import add_outside, draw_outside
from solvable.micro.process import set_numbers
from solvable.micro.row_step import set_followers, set_friction
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH


@compiled(
    int64(
        SYSTEM_FUNCTION, PROCESS_DATA, SIGHT, from_dtype(RUN)[::1], float64[:, ::1], int64, int64, int64, int64
    ),
    strict=True,
)  # fmt: skip
def follow_cases(observe, process, sight, runs, ends, begin, end, stride, direction):
    """As `process.follow`."""
    forms, frames, numbers, segments, blocks, stream, state, work = process
    form, due = forms[0], float(begin)
    for step in range(begin, end):
        if step >= due:
            due = set_numbers(form, frames, segments, blocks, float(step), work)
            i = int(work[form.segments * WIDTH])
            if set_chances(form, frames, numbers, i, step / form.dim - segments[0, i].begin, work):
                due = min(due, step + 1.0)
            now = segments[0, i]
            set_friction(form, now.friction + now.friction_slope * (step / form.dim - now.begin))
            set_followers(form, frames, now.average_follows, now.snapshot_follows, state, work)
        if form.single:
            draw(form, frames, stream, work)
            draw_case(form, frames, numbers, stream, state, work)
            case_fields(form, frames, state, work)
            case_amplitudes(form, numbers, state, work)
            learn_case(form, frames, state, work, step)
        else:
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
            learn_case_batch(form, frames, stream, state, work, step)
        if form.moving_teachers:
            move_teachers(form, frames, numbers, stream, state, work)
        if (step + 1) % stride == 0 and look(observe, process, sight, runs, ends, step + 1, direction) <= 0:
            return step + 1
    return end
