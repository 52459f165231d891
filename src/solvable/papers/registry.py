"""Which figures there are. Modules are loaded when a figure is asked for."""

from importlib import import_module

from solvable.papers.figure import PaperFigure

_MODULES = {
    "arnaboldi2023/1": "solvable.papers.arnaboldi2023.exits",
    "arnaboldi2023/2": "solvable.papers.arnaboldi2023.widths",
    "arnaboldi2023/3": "solvable.papers.arnaboldi2023.paths",
    "arnaboldi2023/4": "solvable.papers.arnaboldi2023.course",
    "arnaboldi2023/5": "solvable.papers.arnaboldi2023.readout",
    "arnaboldi2023/limits": "solvable.papers.arnaboldi2023.limits",
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
    "saraomannelli2020/1": "solvable.papers.saraomannelli2020.phases",
    "saraomannelli2020/2": "solvable.papers.saraomannelli2020.rates",
    "saraomannelli2020/3": "solvable.papers.saraomannelli2020.losses",
    "saraomannelli2020/4": "solvable.papers.saraomannelli2020.strings",
    "saraomannelli2020/threshold": "solvable.papers.saraomannelli2020.threshold",
}


def available(paper: str | None = None) -> list[str]:
    return [key for key in _MODULES if paper is None or key.split("/")[0] == paper]


def papers() -> list[str]:
    return sorted({key.split("/")[0] for key in _MODULES})


def get(key: str) -> PaperFigure:
    if key not in _MODULES:
        raise KeyError(f"figure: {key!r} given, must be one of {', '.join(_MODULES)}")
    figure: PaperFigure = import_module(_MODULES[key]).FIGURE
    return figure
