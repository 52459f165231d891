"""`python -m solvable` is the command `solvable`."""

import sys

from solvable.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
