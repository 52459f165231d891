"""Numbers that tests of random problems leave in their reports, and the lines that add them up when a session ends."""

from collections import Counter, defaultdict
from contextlib import contextmanager


class Note:
    """Numbers of one test. They go with its report, from other processes too."""

    def __init__(self, node):
        self.node = node

    @contextmanager
    def of(self, family, form, description):
        """A function that takes numbers: `runs`, how many were `followed`, the largest `z`, or `share` of what is allowed.

        A test that fails inside prints the description."""
        numbers = {
            "family": family,
            "form": form,
            "test": self.node.name,
            "runs": 0,
            "z": 0.0,
            "share": 0.0,
            "followed": 0,
        }

        def note(runs=0, followed=0, **largest):
            numbers.update(runs=numbers["runs"] + runs, followed=numbers["followed"] + followed)
            numbers.update({name: max(numbers[name], float(value)) for name, value in largest.items()})

        try:
            yield note
        except BaseException:
            print(description)
            raise
        finally:
            self.node.user_properties.append(("laws", numbers))


def lines_of(reports):
    """One line for each family and form: problems, runs, the worst |z|, or share of what is allowed, and how many were followed."""
    groups = defaultdict(list)
    for report in reports:
        for name, numbers in getattr(report, "user_properties", ()):
            if name == "laws" and getattr(report, "when", "") == "call":
                groups[numbers["family"], numbers["form"]].append(numbers)
    for (family, form), notes in sorted(groups.items()):
        kind, what = ("share", "share of what is allowed") if any(one["share"] for one in notes) else ("z", "|z|")
        worst = max(notes, key=lambda numbers: numbers[kind])
        runs = ", ".join(f"{count} x {n}" for n, count in sorted(Counter(one["runs"] for one in notes).items()))
        yield (
            f"laws of {family} ({form}): {len(notes)} problems; problems x runs {runs}; worst {what} {worst[kind]:.2g} in "
            f"{worst['test']}; followed {sum(one['followed'] for one in notes)}"
        )
