"""What section 5 and appendix C state."""

from solvable.papers.statements import Statement

STATEMENTS: tuple[Statement, ...] = ()
