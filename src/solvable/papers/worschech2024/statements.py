"""What the paper states, equation by equation: linear students, spectra and features, then erf committees."""

from solvable.papers.statements import Statement
from solvable.papers.worschech2024 import statements_committee, statements_linear

STATEMENTS: tuple[Statement, ...] = (*statements_linear.STATEMENTS, *statements_committee.STATEMENTS)
