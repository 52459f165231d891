"""The seeds of statistical tests, all of which move together."""

import os

OFFSET = int(os.environ.get("SOLVABLE_TEST_SEED", "0"))
asked: list[int] = []  # of the running test


def seed(number: int) -> int:
    """`number` itself, or another one where SOLVABLE_TEST_SEED asks for other seeds than those of the gate: a test marked
    `statistical` passes at any of them."""
    asked.append(number)
    return number + 10_000 * OFFSET
