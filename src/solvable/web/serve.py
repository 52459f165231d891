"""Start the explorer and open its page."""

import os
import socket
import sys
import threading
import traceback
import webbrowser
from contextlib import suppress

from solvable.numerics.installing import missing

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(host: str, port: int, browser: bool) -> int:
    """Serve until Ctrl-C, which ends the process. `port` 0: any free one."""
    try:
        import uvicorn
    except ImportError:
        raise missing("explore", "a web server", "explore") from None
    from solvable.web.server import make_app

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # named a TCP socket, so that asyncio sends small answers at once (a delay of 40 ms otherwise)
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # whoever comes from now on waits a moment and is not refused
    except (OSError, OverflowError) as error:
        listening.close()
        raise ValueError(
            f"--port: cannot listen at {host}:{port} ({getattr(error, 'strerror', None) or error})"
        ) from None
    port = listening.getsockname()[1]
    if host not in LOOPBACK:
        print(f"anyone who reaches {host} may use this server", file=sys.stderr)
    name = "localhost" if host in LOOPBACK else _bracketed(host)
    address = f"http://{name}:{port}/"
    print(f"explore at {address} (Ctrl-C ends it)", flush=True)
    threading.Thread(target=_warm_up, daemon=True).start()
    if browser:
        threading.Timer(0.3, webbrowser.open, [address]).start()
    from solvable.web.connection import Connection

    settings = uvicorn.Config(
        make_app(_names(host)), http=Connection, log_level="warning", access_log=False, lifespan="off",
        timeout_graceful_shutdown=1, timeout_keep_alive=5, ws="none",
    )  # fmt: skip
    status = 0
    try:
        uvicorn.Server(settings).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    except BaseException:
        traceback.print_exc()
        status = 1
    from solvable.web.preparing import PREPARATION

    PREPARATION.end()
    sys.stdout.flush()
    os._exit(status)  # threads may still be computing for pages that are gone


def _names(host: str) -> list[str]:
    """By which names this server may be called: others are those of pages that want to pass for it."""
    names = ["127.0.0.1", "localhost", "[::1]"]
    if host in ("0.0.0.0", "::"):
        own = socket.gethostname()
        with suppress(OSError):
            names += [_bracketed(str(found[4][0])) for found in socket.getaddrinfo(own, None)]
        return [*names, own.lower()]
    return names if host in LOOPBACK else [*names, _bracketed(host)]


def _bracketed(host: str) -> str:
    return (f"[{host}]" if ":" in host else host).lower()


def _warm_up() -> None:
    """The first curve, while the page is being opened: it loads what is compiled, and compiles what is not."""
    from solvable.web import work
    from solvable.web.preparing import PREPARATION
    from solvable.web.presets import PRESETS

    PREPARATION.begin()

    work.curve(work.view(PRESETS[0]["state"]))
