"""What `reference/reading.py` makes of a problem is what was written by hand for the same problem: equal runs from equal seeds."""

import numpy as np
import pytest
import test_case_law
import test_case_limit
import test_momentum_law

from reference.case_sgd import simulate
from reference.reading import setting_of

CASES = {
    f"{module.__name__}: {name}": one
    for module in (test_case_law, test_case_limit, test_momentum_law)
    for name, one in module.cases().items()
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_settings_are_those_written_by_hand(name):
    by_hand, problem = CASES[name].setting, CASES[name].problem
    read = setting_of(problem, by_hand.student, by_hand.teacher, directions=by_hand.directions)
    steps = [3, 45]
    one, two = simulate(by_hand, steps, 3, seed=1), simulate(read.but(roles=by_hand.roles), steps, 3, seed=1)
    for field, a, b in zip(one._fields, one, two, strict=True):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-12), field
