"""The points of a grid, made when they are needed: in memory are only their keys."""

import math
import time
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from solvable.sweeps.grid import Grid, Point
from solvable.sweeps.records import KEY

AT_ONCE = 64  # cells between looks at the clock
FRESH = 2000


class Points(Sequence[Point]):
    """The points of a grid, in its order.

    `keys` has the key of every cell that was made so far, the first `made` of them, and zeros where `where` excludes a
    point.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.keys = np.zeros((grid.size, KEY), dtype=np.uint8)
        self.made = 0
        self.found = 0  # points among the cells made
        self._first: Point | None = None
        self._fresh: dict[int, Point] = {}  # made and not yet asked for, so that they need not be made again

    @property
    def is_whole(self) -> bool:
        return self.made == self.grid.size

    def make(self, cells: int | None = None, seconds: float = math.inf) -> bool:
        """Make and check further cells, at most so many and for so long; whether there are no more. The mistakes of the first bad
        one are raised with its place."""
        end = self.grid.size if cells is None else min(self.grid.size, self.made + cells)
        until = time.monotonic() + seconds
        while self.made < end:
            point = self.grid.point(self.made)
            if point is not None:
                self.keys[self.made] = np.frombuffer(point.key, np.uint8)
                self.found += 1
                self._first = self._first or point
                if len(self._fresh) < FRESH:
                    self._fresh[point.number] = point
            self.made += 1
            if self.made % AT_ONCE == 0 and time.monotonic() > until:
                break
        return self.is_whole

    @property
    def first(self) -> Point:
        """The first point that is found; there is one."""
        while self._first is None:
            self.make(1)
        return self._first

    @property
    def expected(self) -> int:
        """How many points there are, at most where a condition has not been looked at everywhere."""
        return self.found + self.grid.size - self.made

    def key(self, number: int) -> bytes | None:
        """Of a cell, which is made if it was not yet."""
        if number >= self.made:
            self.make(number + 1 - self.made)
        key = self.keys[number].tobytes()
        return key if any(key) else None

    def at(self, number: int) -> Point:
        """The point of a cell that has one."""
        self.key(number)
        point = self._fresh.pop(number, None) or self.grid.point(number)
        if point is None or point.key != self.key(number):
            raise ValueError(
                f"point {number}: comes out differently each time; functions must depend on their arguments alone"
            )
        return point

    def pass_over(self, number: int) -> None:
        """Nobody will ask for this point soon."""
        self._fresh.pop(number, None)

    def numbers(self, *, made: bool = False) -> Iterator[int]:
        """Of the cells that have a point, all or those that are `made`."""
        return (number for number in range(self.made if made else self.grid.size) if self.key(number) is not None)

    def all_keys(self, *, made: bool = False) -> Iterator[bytes]:
        """Of all points, or of those in cells that are `made`."""
        return (self.keys[number].tobytes() for number in self.numbers(made=made))

    def __iter__(self) -> Iterator[Point]:
        return (self.at(number) for number in self.numbers())

    def __len__(self) -> int:
        if self.grid.where is None:
            return self.grid.size
        self.make()
        return self.found

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Point, ...]: ...
    def __getitem__(self, index: int | slice) -> Point | tuple[Point, ...]:
        numbers: Sequence[int] = range(self.grid.size)
        if self.grid.where is not None:
            self.make()
            numbers = np.flatnonzero(self.keys.any(axis=1)).tolist()
        if isinstance(index, slice):
            return tuple(self.at(number) for number in numbers[index])
        return self.at(numbers[index])
