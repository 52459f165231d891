"""All results of a sweep as one labelled dataset."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from solvable.problems.nearest import telling_names
from solvable.sweeps.planning import Sweep
from solvable.sweeps.protocol import RecordStore
from solvable.sweeps.status import Status

if TYPE_CHECKING:
    import xarray

INSIDE = (  # what is in the dataset
    "risk", "student_overlap", "cross_overlap", "readout", "time", "alpha", "results", "dataset", "to_xarray", "to_dataframe",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Swept:
    """What a sweep has computed so far, as one labelled dataset.

    Parameters
    ----------
    sweep : Sweep
        The plan.
    store : Store
        Where results are kept.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> swept = sv.sweep(problem, {"training.learning_rate": [0.1, 0.2]}, until=5, store=None, workers=0)
    >>> swept.data["risk"].sizes["learning_rate"], swept.status.missing
    (2, 0)
    """

    sweep: Sweep
    store: RecordStore

    @property
    def status(self) -> Status:
        """How many points there are, how many are done and how many failed."""
        return self.sweep.status(self.store)

    @cached_property
    def data(self) -> "xarray.Dataset":
        """All results as an xarray Dataset, read from the store when it is looked at."""
        from solvable.sweeps.gather import dataset

        return dataset(self.store, self.sweep.manifest)

    if not TYPE_CHECKING:  # which is to tell of names that there are not
        __getattr__ = telling_names(dict.fromkeys(INSIDE, "data"))

    def _repr_html_(self) -> str:
        html: str = self.data._repr_html_()
        return html

    def __repr__(self) -> str:
        status = self.status
        return f"<Swept {self.sweep.title}: {status.done} of {status.points} points, {status.failed} failed>"
