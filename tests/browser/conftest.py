"""One server and one browser for all pages; what a test may do to a page."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pages import drawn, is_complaint, is_own

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "/usr/bin/chromium"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    words = [sys.executable, "-m", "solvable.cli.main", "explore", "--port", "0", "--no-browser"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    found = re.search(r"http\S+", server.stdout.readline())
    assert found
    try:
        yield found[0]
    finally:
        server.terminate()
        server.wait(10)
        server.stdout.close()


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as made:
        yield made


@pytest.fixture(scope="session")
def browser(driver: Any) -> Iterator[Any]:
    if not os.path.exists(CHROMIUM):
        pytest.fail("Chromium is not installed; apt-get install chromium")
    made = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
    yield made
    made.close()


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Pages that must not complain, but of what the server refuses, and must not ask anyone else for anything."""
    complaints: list[str] = []
    contexts = []

    def open_page(where: str = "", wait: bool = True, **settings: Any) -> Any:
        usual = {"bypass_csp": True, "viewport": {"width": 1280, "height": 800}, "accept_downloads": True}
        context = browser.new_context(**usual | settings)
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address.rstrip("/"))
        contexts.append(context)
        made = context.new_page()
        made.set_default_timeout(15_000)
        made.on("pageerror", lambda error: complaints.append(str(error)))
        made.on("console", lambda said: complaints.append(said.text) if is_complaint(said) else None)
        made.on("request", lambda asked: complaints.append(asked.url) if not is_own(asked.url, address) else None)
        made.goto(where if where.startswith("http") else address + where)
        if wait:
            drawn(made)
        return made

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(opened: Callable[..., Any]) -> Any:
    return opened()
