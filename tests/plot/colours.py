"""How different colours look, to normal and to colour-blind eyes.

Colour blindness is simulated by the matrices of Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of
color vision deficiency", IEEE Transactions on Visualization and Computer Graphics 15 (2009) 1291, at severity 1 (dichromats), on
linear sRGB. Differences are CIEDE2000, after Sharma, Wu and Dalal, Color Research and Application 30 (2005) 21."""

import numpy as np

EYES = {
    "normal": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "tritanopia": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = XYZ.sum(axis=1)


def linear(colours: np.ndarray) -> np.ndarray:
    """sRGB in [0, 1] without its gamma."""
    return np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)


def lab(colours: np.ndarray, eyes: str = "normal") -> np.ndarray:
    """CIELAB of sRGB colours as these eyes see them; shape (..., 3)."""
    seen = np.clip(linear(np.asarray(colours, dtype=float)) @ EYES[eyes].T, 0, 1)
    scaled = seen @ XYZ.T / WHITE
    f = np.where(scaled > (6 / 29) ** 3, np.cbrt(scaled), scaled / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """CIEDE2000 between colours in CIELAB."""
    (L1, a1, b1), (L2, a2, b2) = np.moveaxis(one, -1, 0), np.moveaxis(other, -1, 0)
    middle7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    stretch = 1.5 - 0.5 * np.sqrt(middle7 / (middle7 + 25.0**7))
    C1, C2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, stretch * a1)) % 360, np.degrees(np.arctan2(b2, stretch * a2)) % 360
    turn = (h2 - h1 + 180) % 360 - 180
    turn = np.where(C1 * C2 == 0, 0.0, turn)
    dL, dC, dH = L2 - L1, C2 - C1, 2 * np.sqrt(C1 * C2) * np.sin(np.radians(turn / 2))
    L, C = (L1 + L2) / 2, (C1 + C2) / 2
    h = np.where(C1 * C2 == 0, h1 + h2, (h1 + turn / 2) % 360)
    cosine = lambda factor, shift: np.cos(np.radians(factor * h + shift))
    T = 1 - 0.17 * cosine(1, -30) + 0.24 * cosine(2, 0) + 0.32 * cosine(3, 6) - 0.20 * cosine(4, -63)
    SL = 1 + 0.015 * (L - 50) ** 2 / np.sqrt(20 + (L - 50) ** 2)
    SC, SH = 1 + 0.045 * C, 1 + 0.015 * C * T
    RT = -2 * np.sqrt(C**7 / (C**7 + 25.0**7)) * np.sin(np.radians(60 * np.exp(-(((h - 275) / 25) ** 2))))
    l, c, s = dL / SL, dC / SC, dH / SH  # noqa: E741
    return np.sqrt(l**2 + c**2 + s**2 + RT * c * s)


def least_difference(colours: np.ndarray, eyes: str) -> float:
    """Between any two of these sRGB colours."""
    seen = lab(colours, eyes)
    i, j = np.triu_indices(len(seen), 1)
    return float(difference(seen[i], seen[j]).min())


def contrast_on_white(colours: np.ndarray) -> np.ndarray:
    """The contrast ratio of the Web Content Accessibility Guidelines."""
    return 1.05 / (linear(np.asarray(colours, dtype=float)) @ XYZ[1] + 0.05)
