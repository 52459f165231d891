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
    "arnaboldi2024": Reference(
        "L. Arnaboldi, Y. Dandi, F. Krzakala, B. Loureiro, L. Pesce, L. Stephan",
        "Online learning and information exponents: on the importance of batch size, and time/complexity tradeoffs",
        "arXiv:2406.02157 (2024)",
    ),
    "arnaboldi2024b": Reference(
        "L. Arnaboldi, Y. Dandi, F. Krzakala, L. Pesce, L. Stephan",
        "Repetita iuvant: data repetition allows SGD to learn high-dimensional multi-index functions",
        "arXiv:2405.15459 (2024)",
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
    "dandi2024": Reference(
        "Y. Dandi, E. Troiani, L. Arnaboldi, L. Pesce, L. Zdeborová, F. Krzakala",
        "The benefits of reusing batches for gradient descent in two-layer networks: breaking the curse of information and leap "
        "exponents",
        "arXiv:2402.03220 (2024)",
    ),
    "goldt2019": Reference(
        "S. Goldt, M. S. Advani, A. M. Saxe, F. Krzakala, L. Zdeborová",
        "Dynamics of stochastic gradient descent for two-layer neural networks in the teacher-student setup",
        "arXiv:1906.08632 (2019)",
    ),
    "lee2021": Reference(
        "S. Lee, S. Goldt, A. Saxe",
        "Continual learning in the teacher-student setup: impact of task similarity",
        "arXiv:2107.04384 (2021)",
    ),
    "mignacco2025": Reference(
        "F. Mignacco, F. Mori",
        "A statistical physics framework for optimal learning",
        "arXiv:2507.07907 (2025)",
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
    "saad1995": Reference(
        "D. Saad, S. A. Solla",
        "On-line learning in soft committee machines",
        "Physical Review E 52, 4225 (1995)",
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
