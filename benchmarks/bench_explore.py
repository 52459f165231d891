"""How the explorer feels: from a slider to the redrawn page, in headless Chromium, and the first curve after the command.

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
    await asking;  // the curve is drawn; now let it be painted
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
            for name in ("bocchi2026", "worschech2024"):
                page.select_option("#preset", name)
                page.wait_for_function("Number(document.documentElement.dataset.drawn) === latest")
                time.sleep(0.5)
                spent = page.evaluate(MOVE, ["training.learning_rate", 0.05, 0.3, 100])
                ratio = spent[50] / bare[50]
                print(f"  {name:14s} slider to redraw: median {spent[50]:5.1f} ms, p95 {spent[95]:5.1f} ms; "
                      f"{ratio:4.1f} x a request that computes nothing")  # fmt: skip
            browser.close()
    finally:
        server.terminate()
        server.wait(10)


if __name__ == "__main__":
    main()
