"""Real inputs without a download: grey patches of the photographs that come with scikit-learn and scikit-image, in place of the
paper's data set."""

from importlib import import_module

import numpy as np

PHOTOGRAPHS = (
    "astronaut",
    "camera",
    "coffee",
    "chelsea",
    "rocket",
)  # of scikit-image, beside motorcycle and scikit-learn's two
SIZE = 32


def photographs() -> list[np.ndarray]:
    """Eight grey pictures, (height, width) in [0, 255]."""
    try:
        data = import_module("skimage.data")
        samples = import_module("sklearn.datasets").load_sample_images().images
    except ImportError as error:
        raise ImportError(f"the photographs come with scikit-image and scikit-learn ({error}); install both") from None
    pictures = [getattr(data, name)() for name in PHOTOGRAPHS]
    pictures += [data.stereo_motorcycle()[0], *samples]
    return [grey(picture) for picture in pictures]


def grey(picture: np.ndarray) -> np.ndarray:
    """Luminance by the weights of ITU-R BT.601."""
    values = np.asarray(picture, dtype=float)
    return values if values.ndim == 2 else values[..., :3] @ np.array([0.299, 0.587, 0.114])


def patches(count: int = 30_000, seed: int = 0, size: int = SIZE) -> np.ndarray:
    """(count, size^2) patches at random places of pictures drawn at random."""
    random, pictures = np.random.default_rng(seed), photographs()
    which = random.integers(0, len(pictures), count)
    rows = np.empty((count, size * size), dtype=np.float32)
    for i, number in enumerate(which):
        picture = pictures[number]
        top, left = (random.integers(0, extent - size + 1) for extent in picture.shape)
        rows[i] = picture[top : top + size, left : left + size].ravel()
    return rows
