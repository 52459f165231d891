"""The papers by their keys, as they are cited."""

from typing import NamedTuple


class Reference(NamedTuple):
    """A paper as it is cited."""

    authors: str
    title: str
    place: str

    def __str__(self) -> str:
        return f"{self.authors}: {self.title}. {self.place}"


REFERENCES = {
    "arnaboldi2023": Reference(
        "L. Arnaboldi, F. Krzakala, B. Loureiro, L. Stephan",
        "Escaping mediocrity: how two-layer networks learn hard generalized linear models with SGD",
        "arXiv:2305.18502 (2023)",
    ),
    "bocchi2026": Reference(
        "D. Bocchi, T. Regimbeau, C. Lucibello, L. Saglietti, C. Cammarota",
        "Escape dynamics and implicit bias of one-pass SGD in overparameterized quadratic networks",
        "arXiv:2604.03068 (2026)",
    ),
    "collinswoodfin2024": Reference(
        "E. Collins-Woodfin, I. Seroussi, B. García Malaxechebarría, A. W. Mackenzie, E. Paquette, C. Paquette",
        "The high line: exact risk and learning rate curves of stochastic adaptive learning rate algorithms",
        "arXiv:2405.19585 (2024)",
    ),
    "lee2021": Reference(
        "S. Lee, S. Goldt, A. Saxe",
        "Continual learning in the teacher-student setup: impact of task similarity",
        "arXiv:2107.04384 (2021)",
    ),
    "paquette2021": Reference(
        "C. Paquette, E. Paquette",
        "Dynamics of stochastic momentum methods on large-scale, quadratic models",
        "arXiv:2106.03696 (2021)",
    ),
    "rattray1997": Reference(
        "M. Rattray, D. Saad",
        "Globally optimal on-line learning rules for multi-layer neural networks",
        "Journal of Physics A 30, L771 (1997)",
    ),
    "refinetti2021": Reference(
        "M. Refinetti, S. Goldt, F. Krzakala, L. Zdeborová",
        "Classifying high-dimensional Gaussian mixtures: where kernel methods fail and neural networks succeed",
        "arXiv:2102.11742 (2021)",
    ),
    "saraomannelli2020": Reference(
        "S. Sarao Mannelli, E. Vanden-Eijnden, L. Zdeborová",
        "Optimization and generalization of shallow neural networks with quadratic activation functions",
        "Advances in Neural Information Processing Systems 33 (2020)",
    ),
    "worschech2024": Reference(
        "R. Worschech, B. Rosenow",
        "Analyzing neural scaling laws in two-layer networks with power-law data spectra",
        "arXiv:2410.09005 (2024)",
    ),
}
