"""The list of all figures: for each key a module with its FIGURE (or another name after a colon), loaded when it is asked
for.
"""

from importlib import import_module
from importlib.util import find_spec

from solvable.papers.figure import PaperFigure
from solvable.papers.statements import Statement
from solvable.problems.nearest import hint, nearest

_MODULES = {
    "arnaboldi2023/1": "solvable.papers.arnaboldi2023.exits",
    "arnaboldi2023/2": "solvable.papers.arnaboldi2023.widths",
    "arnaboldi2023/3": "solvable.papers.arnaboldi2023.paths",
    "arnaboldi2023/4": "solvable.papers.arnaboldi2023.golf_course",
    "arnaboldi2023/5": "solvable.papers.arnaboldi2023.readout",
    "arnaboldi2023/limits": "solvable.papers.arnaboldi2023.limits",
    "arnaboldi2024/batches": "solvable.papers.arnaboldi2024.batches",
    "arnaboldi2024b/repeats": "solvable.papers.arnaboldi2024b.repeats",
    "bocchi2026/1": "solvable.papers.bocchi2026.agreement",
    "bocchi2026/2": "solvable.papers.bocchi2026.optimum",
    "bocchi2026/3": "solvable.papers.bocchi2026.selection",
    "bocchi2026/4": "solvable.papers.bocchi2026.conservation",
    "bocchi2026/5": "solvable.papers.bocchi2026.expressivity",
    "bocchi2026/6": "solvable.papers.bocchi2026.manifold",
    "bocchi2026/staircase": "solvable.papers.bocchi2026.staircase",
    "bocchi2026/atlas": "solvable.papers.bocchi2026.atlas",
    "bocchi2026/noise": "solvable.papers.bocchi2026.noise",
    "bocchi2026/escape": "solvable.papers.bocchi2026.escape",
    "collinswoodfin2024/adagrad": "solvable.papers.collinswoodfin2024.adagrad",
    "collinswoodfin2024/search": "solvable.papers.collinswoodfin2024.search",
    "dandi2024/reuse": "solvable.papers.dandi2024.reuse",
    "dandi2024/twice": "solvable.papers.dandi2024.twice",
    "dandi2024/memory": "solvable.papers.dandi2024.memory",
    "dandi2024/limit": "solvable.papers.dandi2024.limit",
    "goldt2019/widths": "solvable.papers.goldt2019.widths",
    "lee2021/features": "solvable.papers.lee2021.features",
    "lee2021/readouts": "solvable.papers.lee2021.readouts",
    "mignacco2025/dropout": "solvable.papers.mignacco2025.dropout",
    "paquette2021/momentum": "solvable.papers.paquette2021.momentum",
    "rattray1997/erf": "solvable.papers.rattray1997.rates:ERF",
    "rattray1997/quadratic": "solvable.papers.rattray1997.rates:QUADRATIC",
    "rattray1997/decay": "solvable.papers.rattray1997.decay",
    "refinetti2021/xor": "solvable.papers.refinetti2021.xor",
    "refinetti2021/widths": "solvable.papers.refinetti2021.widths",
    "saad1995/scenarios": "solvable.papers.saad1995.scenarios",
    "saad1995/rates": "solvable.papers.saad1995.rates",
    "saraomannelli2020/1": "solvable.papers.saraomannelli2020.phases",
    "saraomannelli2020/2": "solvable.papers.saraomannelli2020.rates",
    "saraomannelli2020/3": "solvable.papers.saraomannelli2020.losses",
    "saraomannelli2020/4": "solvable.papers.saraomannelli2020.strings",
    "saraomannelli2020/threshold": "solvable.papers.saraomannelli2020.threshold",
    "worschech2024/1": "solvable.papers.worschech2024.overview",
    "worschech2024/2": "solvable.papers.worschech2024.rates:TWO",
    "worschech2024/3": "solvable.papers.worschech2024.features:THREE",
    "worschech2024/4": "solvable.papers.worschech2024.plateaus:FOUR",
    "worschech2024/5": "solvable.papers.worschech2024.widths",
    "worschech2024/6": "solvable.papers.worschech2024.ends",
    "worschech2024/7": "solvable.papers.worschech2024.integrals:SEVEN",
    "worschech2024/8": "solvable.papers.worschech2024.integrals:EIGHT",
    "worschech2024/9": "solvable.papers.worschech2024.integrals:NINE",
    "worschech2024/10": "solvable.papers.worschech2024.modes:TEN",
    "worschech2024/11": "solvable.papers.worschech2024.modes:ELEVEN",
    "worschech2024/12": "solvable.papers.worschech2024.modes:TWELVE",
    "worschech2024/13": "solvable.papers.worschech2024.rates:THIRTEEN",
    "worschech2024/14": "solvable.papers.worschech2024.features:FOURTEEN",
    "worschech2024/15": "solvable.papers.worschech2024.outside:FIFTEEN",
    "worschech2024/16": "solvable.papers.worschech2024.outside:SIXTEEN",
    "worschech2024/17": "solvable.papers.worschech2024.heights",
    "worschech2024/18": "solvable.papers.worschech2024.plateaus:EIGHTEEN",
    "worschech2024/19": "solvable.papers.worschech2024.lengths",
    "worschech2024/20": "solvable.papers.worschech2024.approach",
}


def available(paper: str | None = None) -> list[str]:
    return [key for key in _MODULES if paper is None or key.split("/")[0] == paper]


def papers() -> list[str]:
    return sorted({key.split("/")[0] for key in _MODULES})


def get(key: str) -> PaperFigure:
    if key not in _MODULES:
        raise KeyError(f"figure: {_unknown(key)}")
    module, _, name = _MODULES[key].partition(":")
    figure: PaperFigure = getattr(import_module(module), name or "FIGURE")
    return figure


def _unknown(key: str) -> str:
    """What an error says of a figure that is not there: of a paper that we know, its figures alone."""
    paper, _, number = key.partition("/")
    if not (own := available(paper)):
        return f"{key!r} given{hint(key, _MODULES)}; `solvable figures` lists all"
    meant = nearest(number, [one.partition("/")[2] for one in own])
    return f"{key!r} given" + (
        f", must be one of {', '.join(own)}" if meant is None else f" (did you mean {paper}/{meant}?)"
    )


def statements(paper: str) -> tuple[Statement, ...] | None:
    """What the paper states, from STATEMENTS of its module `statements`; None if there is no such module."""
    name = f"solvable.papers.{paper}.statements"
    if find_spec(name) is None:
        return None
    found: tuple[Statement, ...] = import_module(name).STATEMENTS
    return found
