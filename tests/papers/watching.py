"""Which rows of its table a figure reads, and whether it draws random numbers."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from solvable.papers.parameters import Parameters

UNSEEDED = "draws random numbers, but no row of the table is named after a seed"


class _Watched(Mapping[str, Any]):
    """The values of a table; it notes the names that are asked for."""

    def __init__(self, values: dict[str, Any], read: set[str]) -> None:
        self._values, self._read = values, read

    def __getitem__(self, name: str) -> Any:
        self._read.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}


class Watch:
    """`read` are names of rows of `table` that were read in this form; `seeded` is whether anything was drawn from a seed."""

    def __init__(self, table: Parameters, quick: bool, patch: pytest.MonkeyPatch) -> None:
        self.read: set[str] = set()
        self.seeded = False
        plain, generator, sequence = Parameters.values, np.random.default_rng, np.random.SeedSequence
        watch = self

        def values(self: Parameters, form: bool) -> Any:
            found = plain(self, form)
            return _Watched(found, watch.read) if self is table and form == quick else found

        def seeded_generator(*seed: Any, **options: Any) -> np.random.Generator:
            watch.seeded |= _is_ours(sys._getframe(1).f_globals["__name__"])
            return generator(*seed, **options)

        class Sequence(sequence):  # type: ignore[misc, valid-type]
            def __init__(self, *seed: Any, **options: Any) -> None:
                watch.seeded |= _is_ours(sys._getframe(1).f_globals["__name__"])
                super().__init__(*seed, **options)

        patch.setattr(Parameters, "values", values)
        patch.setattr(np.random, "default_rng", seeded_generator)
        patch.setattr(np.random, "SeedSequence", Sequence)

    def unread(self, table: Parameters) -> list[str]:
        return [f"nothing reads row {row.name!r} of the table" for row in table if row.name not in self.read]

    def unseeded(self, table: Parameters) -> list[str]:
        return [UNSEEDED] if self.seeded and not table.seeds(quick=True) else []


def _is_ours(module: str) -> bool:
    """Nodes of a quadrature are no samples."""
    return module.startswith(("solvable.", "test_")) and not module.startswith("solvable.gaussian.")
