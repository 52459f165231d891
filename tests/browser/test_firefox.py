"""The page in Firefox, where Debian's is installed (apt-get install firefox-esr): drawing, moving, simulating, playing, undoing.

Playwright drives only a Firefox of its own making, so this one is driven by Marionette, the protocol that every Firefox speaks.
"""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(FIREFOX is None, reason="Firefox is not installed; apt-get install firefox-esr"),
]
PORT = 2828


class Marionette:
    """Enough of the protocol to open a page and run scripts: messages are [type, id, name, parameters] with their length before."""

    def __init__(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", PORT), timeout=60)
        self.count = 0
        self._read()
        self.call("WebDriver:NewSession", {})

    def _read(self) -> Any:
        size = b""
        while (one := self.socket.recv(1)) != b":":
            size += one
        content = b""
        while len(content) < int(size):
            content += self.socket.recv(int(size) - len(content))
        return json.loads(content)

    def call(self, name: str, parameters: dict[str, Any]) -> Any:
        self.count += 1
        text = json.dumps([0, self.count, name, parameters])
        self.socket.sendall(f"{len(text)}:{text}".encode())
        _, _, error, found = self._read()
        assert error is None, error
        return found

    def script(self, text: str) -> Any:
        found = self.call("WebDriver:ExecuteScript", {"script": f"return {text};", "args": [], "sandbox": None})
        return found["value"]

    def until(self, text: str) -> None:
        for _ in range(600):
            if self.script(text):
                return
            time.sleep(0.1)
        pytest.fail(f"never: {text}")


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Marionette]:
    assert FIREFOX is not None
    words = [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", str(tmp_path)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                made = Marionette()
                break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.fail("Firefox does not listen")
        yield made
        made.socket.close()
    finally:
        process.terminate()
        process.wait(20)


def test_firefox_draws_moves_keeps_and_tells(firefox: Marionette, address: str) -> None:
    latest = "globalThis.page?.latest"
    done = f"{latest} > 0 && Number(document.documentElement.dataset.drawn) === {latest}"
    firefox.call("WebDriver:Navigate", {"url": address})
    firefox.until(done)
    assert firefox.script("document.querySelectorAll('#risk canvas').length") == 1
    before = firefox.script("document.getElementById('status').textContent")
    firefox.script("document.getElementById('keep').click()")
    firefox.script(
        "(() => { const s = document.getElementById('training.learning_rate:slide'); s.value = -0.5; "
        "s.dispatchEvent(new Event('input')); })()"
    )
    firefox.until(done)
    assert firefox.script("document.getElementById('status').textContent") != before
    assert "learning rate 0.1 → 0.3162" in firefox.script("document.getElementById('risk-legend').textContent")
    firefox.script("document.getElementById('after').click()")
    firefox.until(done)
    assert firefox.script("document.getElementById('where').textContent") == "2 of 5"
    firefox.script("(() => { page.wrong = []; addEventListener('error', one => page.wrong.push(one.message)); })()")
    for tab in firefox.script("Array.from(document.querySelectorAll('[role=tab]'), one => one.id)"):
        firefox.script(f"document.getElementById('{tab}').click()")
        assert not firefox.script(
            f"document.getElementById(document.getElementById('{tab}').getAttribute('aria-controls')).hidden"
        )
    firefox.script("document.getElementById('simulate').click()")
    firefox.until("document.getElementById('progress').value > 0.99")
    firefox.script("document.getElementById('play').click()")
    firefox.until("document.getElementById('now').textContent.startsWith('α = 4')")
    firefox.script("document.getElementById('undo').click()")
    firefox.until("document.getElementById('progress').value === 0")
    assert firefox.script("page.wrong") == []
