"""How this library compiles: one decorator, so that every kernel is cached, frees the interpreter lock and follows IEEE infinities.

Sums may be reordered and fused (that is what lets them run in vector lanes), but NaN and infinity keep their meaning:
divergence is detected by them. Give an explicit signature to whatever is handed over as a function value.
"""

from collections.abc import Callable
from typing import Any

from numba import njit

REORDER = {"contract", "reassoc", "nsz", "arcp"}


def compiled(signature: Any = None, *, reorder: bool = True) -> Callable[[Callable[..., Any]], Any]:
    options: dict[str, Any] = {"cache": True, "error_model": "numpy", "nogil": True}
    if reorder:
        options["fastmath"] = REORDER
    return njit(**options) if signature is None else njit(signature, **options)
