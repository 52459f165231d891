"""What a test may do to a page, and what it waits for."""

import re
from typing import Any

import numpy as np


def is_complaint(said: Any) -> bool:
    return said.type == "error" and not re.search("422|429", said.text)


def is_own(url: str, address: str) -> bool:
    return url.startswith((address, "data:", "blob:"))


def drawn(page: Any) -> None:
    """Wait until the latest request is on the screen."""
    page.wait_for_function(
        "globalThis.page?.latest > 0 && Number(document.documentElement.dataset.drawn) === page.latest", timeout=30_000
    )


def move(page: Any, name: str, value: float) -> None:
    page.evaluate(
        "([id, value]) => { const s = document.getElementById(id); s.value = value; s.dispatchEvent(new Event('input')); }",
        [f"{name}:slide", value],
    )
    drawn(page)


def risk(page: Any) -> np.ndarray:
    return np.array(page.evaluate("Array.from(page.shown.arrays.risk.values)"))


def simulated(page: Any, by_hand: bool = True) -> None:
    if by_hand:
        page.click("#simulate")
    page.wait_for_function("document.getElementById('progress').value > 0.995", timeout=60_000)
    page.wait_for_function("!document.getElementById('simulate').disabled")
