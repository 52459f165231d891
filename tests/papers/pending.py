"""What is still to be done for the papers' figures. Every list must shrink to nothing: a figure that no longer belongs on one
fails its test until it is taken off."""

from solvable.papers import registry

WITHOUT_TABLE = {*registry.available()}  # of parameters
WITHOUT_SEEDS: set[str] = set()  # in its table, though it draws random numbers
WITHOUT_STATEMENTS = {*registry.papers()}  # so claims are not compared with what the paper states
LEGEND_OVER_DATA = {"bocchi2026/staircase", "bocchi2026/noise", "bocchi2026/escape", "worschech2024/4"}
CONSTANT = {  # a claim finds the same whatever the data are
    "arnaboldi2023/limits", "bocchi2026/atlas", "worschech2024/7", "worschech2024/9",
}  # fmt: skip
YES_OR_NO = {  # a claim says that something is so, without how much
    "saraomannelli2020/3", "worschech2024/1", "worschech2024/5", "worschech2024/10", "worschech2024/19",
}  # fmt: skip
WIDE = {  # a tolerance as large as the number, which nothing at all would meet as well
    "arnaboldi2023/1", "saraomannelli2020/3", "saraomannelli2020/4", "saraomannelli2020/threshold", "worschech2024/8",
}  # fmt: skip
