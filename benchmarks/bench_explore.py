"""How the explorer feels: from a slider to the redrawn page, in headless Chromium, and the first curve after the command.

The page is to follow within 30 ms (median) and 60 ms (p95) on two free cores, also with kept curves and a diagram beside it.

Needs Chromium (apt-get install chromium) and playwright."""

import re
import shutil
import subprocess
import sys
import time
from typing import Any

MOVE = """async ([name, low, high, count]) => {
  const spent = [], slide = document.getElementById(`${name}:slide`);
  for (let i = 0; i < count; i++) {
    const began = performance.now();
    slide.value = Math.log10(low * (high / low) ** (i / count));
    slide.dispatchEvent(new Event("input"));
    await page.asking;  // the curve is drawn; now let it be painted
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    spent.push(performance.now() - began);
  }
  return spent.sort((a, b) => a - b);
}"""
SERVER = """async count => {
  const spent = [];
  for (let i = 0; i < count; i++) {
    const began = performance.now();
    await (await fetch("/api/presets")).text();
    spent.push(performance.now() - began);
  }
  return spent.sort((a, b) => a - b);
}"""


DIAGRAM = """() => {
  const values = Array.from({length: 40}, (_, i) => 0.01 * 1.2 ** i);
  const body = {state: page.shown.tables, x: {name: "training.learning_rate", values}, y: {name: "training.label_noise", values}};
  globalThis.beside = new AbortController();
  const asked = fetch("/api/diagram", {method: "POST", body: JSON.stringify(body), signal: beside.signal});
  asked.then(one => one.text()).catch(() => {});
}"""


def _prepare(page: Any, busy: str) -> None:
    """What goes on beside the slider; each stage adds to the one before."""
    page.wait_for_function("Number(document.documentElement.dataset.drawn) === page.latest")
    page.evaluate("globalThis.beside?.abort()")
    if busy == "with three kept curves":
        for rate in (-1.2, -1.1, -0.9):
            page.evaluate(
                "async at => { const slide = document.getElementById('training.learning_rate:slide'); slide.value = at; "
                "slide.dispatchEvent(new Event('input')); await page.asking; document.getElementById('keep').click(); }",
                rate,
            )
    elif busy != "alone":
        page.evaluate(DIAGRAM)
    time.sleep(0.5)


def main() -> None:
    browser_at = shutil.which("chromium")
    if browser_at is None:
        print("\nThe explorer: no Chromium here, not measured")
        return
    from playwright.sync_api import sync_playwright

    began = time.perf_counter()
    words = [sys.executable, "-m", "solvable.cli.main", "explore", "--port", "0", "--no-browser"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    found = re.search(r"http\S+", server.stdout.readline())
    assert found
    listening = time.perf_counter() - began
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=browser_at, args=["--no-sandbox", "--disable-gpu"])
            page: Any = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 800}).new_page()
            began = time.perf_counter()
            page.goto(found[0])
            page.wait_for_function("document.documentElement.dataset.drawn")
            first = time.perf_counter() - began
            print(
                f"\nThe explorer: listening after {listening:.2f} s, first curve {first:.2f} s after the page was asked for"
            )
            bare = page.evaluate(SERVER, 100)
            print(f"  a request that computes nothing: median {bare[50]:4.1f} ms, p95 {bare[95]:4.1f} ms")
            for name in ("bocchi2026", "worschech2024"):
                page.select_option("#preset", name)
                for busy in ("alone", "with three kept curves", "and a phase diagram beside it"):
                    _prepare(page, busy)
                    spent = page.evaluate(MOVE, ["training.learning_rate", 0.05, 0.3, 100])
                    ratio = spent[50] / bare[50]
                    print(f"  {name:14s} slider to redraw {busy:29s}: median {spent[50]:5.1f} ms, p95 {spent[95]:5.1f} ms; "
                          f"{ratio:4.1f} x a request that computes nothing")  # fmt: skip
            browser.close()
    finally:
        server.terminate()
        server.wait(10)


if __name__ == "__main__":
    main()
