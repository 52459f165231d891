"""How this library compiles: one decorator, so that every kernel is cached, frees the interpreter lock and follows IEEE infinities.

Sums may be reordered and fused (that is what lets them run in vector registers), but NaN and infinity keep their meaning:
divergence is detected by them. `strict` kernels keep the order as written: the same bits whatever runs beside them. Give an
explicit signature to whatever is handed over as a function value.
"""

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import config, njit

REORDER = {"contract", "reassoc", "nsz", "arcp"}


def compiled(
    signature: Any = None, *, strict: bool = False, inline: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """`inline` puts the machine code into whatever calls it, however long: for what runs once per sample."""
    fastmath: Any = False if strict else REORDER
    options: dict[str, Any] = {"cache": True, "error_model": "numpy", "nogil": True, "fastmath": fastmath}
    options |= {"forceinline": True} if inline else {}
    return njit(**options) if signature is None else njit(signature, **options)


def forget_stale_kernels(package: Path) -> None:
    """Numba knows that a cached kernel is stale when its own file has changed, not when a file has that it calls. So
    drop all cached kernels beside the sources whenever any of the sources differs from when they were made."""
    digest = hashlib.sha256()
    for source in sorted(package.glob("*/*.py")):
        text = source.read_bytes()
        if b"compiled(" in text or b"intrinsic" in text:
            digest.update(source.name.encode() + text)
    elsewhere = Path(cache) if (cache := getattr(config, "CACHE_DIR", "")) else None
    stamp = (elsewhere or package / "__pycache__") / "solvable-kernels.sha256"
    places = "*/__pycache__/*.nb[ic]" if elsewhere is None else "*/*.nb[ic]"
    with contextlib.suppress(OSError):  # a read-only installation changes as a whole, with all its dates
        if not stamp.exists() or stamp.read_text() != digest.hexdigest():
            for cached in (elsewhere or package).glob(places):
                cached.unlink(missing_ok=True)
            stamp.parent.mkdir(parents=True, exist_ok=True)
            stamp.write_text(digest.hexdigest())


forget_stale_kernels(Path(__file__).parents[1])
