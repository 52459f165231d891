"""One of many that write and compact, for tests: python crowd.py STORE WHICH."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # beside which tests stand

from test_faults import record

from solvable.sweeps import Store
from solvable.sweeps.records import encode

if __name__ == "__main__":
    store = Store(sys.argv[1])
    for number in range(200):
        if number % 3 != int(sys.argv[2]):  # every record is written by two
            store.add([encode(record(number))])
        if number % 20 == 0:
            store.compact()
