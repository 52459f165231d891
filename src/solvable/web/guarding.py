"""Who may ask, how much and how slowly: the layers around the explorer's answers, and queues for what they cost."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from solvable.numerics.threads import watching
from solvable.problems import InvalidProblem

log = logging.getLogger("solvable.explore")
LONGEST = 20_000  # bytes of a request
CLIENT_SECONDS = 10.0  # seconds in which a request must have come, and in which a part of an answer must be taken
AGAIN = 0.3  # seconds within which whoever moves a slider asks again
RETRY = 2  # seconds after which to ask again
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


class RequestRefused(Exception):
    """A request that is refused, with the reason. Status 429: it may be answered later."""

    def __init__(self, status: int, lines: list[str]) -> None:
        self.status, self.lines = status, lines
        super().__init__("\n".join(lines))


class SameOrigin:
    """Refuses requests that come from another page: each origin that they name must be each host that they name."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            origins = [value for name, value in scope["headers"] if name == b"origin"]
            hosts = [value for name, value in scope["headers"] if name == b"host"] or [b""]
            pages = [{b"http://" + host, b"https://" + host} for host in hosts]
            if any(origin not in page for origin in origins for page in pages):
                await refuse(403, ["origin: of another page"])(scope, receive, send)
                return
        await self.app(scope, receive, send)


class Guard:
    """The outermost layer: adds the security headers to every answer, and cuts off readers that take nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            try:
                await asyncio.wait_for(send(message), CLIENT_SECONDS)
            except TimeoutError:
                raise ClientDisconnect from None

        try:
            await self.app(scope, receive, guarded)
        except ClientDisconnect:
            log.info("%s was not taken", scope.get("path"))


def refuse(status: int, lines: list[str]) -> Response:
    lines = [line.encode("utf-8", "replace").decode() for line in lines]
    return JSONResponse({"problems": lines}, status, {"Retry-After": str(RETRY)} if status == 429 else None)


async def no_such_page(request: Request, error: Exception) -> Response:
    """What no route answers, in our words."""
    status = getattr(error, "status_code", 500)
    words = {404: "there is no such page", 405: f"{request.method} is not for it"}
    found = refuse(status, [f"{request.url.path[:100]}: {words.get(status, 'was not answered')}"])
    found.headers.update(getattr(error, "headers", None) or {})
    return found


async def asked(request: Request, longest: int = LONGEST) -> Any:
    """The JSON of a request, not too long, not too deep and not too slow."""
    content = bytearray()
    try:
        async with asyncio.timeout(CLIENT_SECONDS):
            async for part in request.stream():
                content += part
                if len(content) > longest:
                    raise RequestRefused(413, [f"request: longer than {longest} bytes"])
    except TimeoutError:
        raise RequestRefused(408, [f"request: has not come within {CLIENT_SECONDS:g} s"]) from None
    try:
        return json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise RequestRefused(400, ["request: is not valid JSON"]) from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def answer(handler: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """Mistakes become one line each; nothing takes the server down."""

    async def guarded(request: Request) -> Response:
        try:
            response: Response = await handler(request)
        except RequestRefused as error:
            return refuse(error.status, error.lines)
        except InvalidProblem as error:
            return refuse(422, error.problems[:20])
        except ClientDisconnect:
            return Response(status_code=499)
        except ValueError as error:  # what the library refuses
            return refuse(422, [str(error).partition("\n")[0][:300] or type(error).__name__])
        except Exception:  # a defect of ours
            log.exception("%s could not be answered", request.url.path)
            return refuse(500, ["the server made a mistake; what it was stands in its terminal"])
        return response

    return guarded


class Queue:
    """A queue of work for a fixed number of threads, with a bound on how much may run or wait.

    A client that goes away leaves the queue; work that runs for it is told to stop.
    """

    def __init__(self, what: str, threads: int, most: int) -> None:
        self.what, self.most, self.left = what, most, 0
        self._workers, self._lock = ThreadPoolExecutor(threads, what), threading.Lock()
        self._last = -math.inf

    async def do(self, request: Request, work: Callable[..., Any], *args: Any) -> Any:
        if self.left >= self.most:
            raise RequestRefused(
                429, [f"{self.what}: as many as this server takes are waiting; try again in {RETRY} seconds"]
            )
        self._change(1)
        self._last = time.monotonic()
        flag = np.zeros(1)
        job = self._workers.submit(_watching, flag, work, *args)
        job.add_done_callback(lambda _: self._change(-1))
        found, gone = asyncio.wrap_future(job), asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait({found, gone}, return_when=asyncio.FIRST_COMPLETED)
            if found.done():
                return found.result()
            raise ClientDisconnect
        finally:
            flag[0] = 1.0
            gone.cancel()
            found.cancel()

    def is_wanted(self) -> bool:
        """Whether someone waits, or has just asked and may ask again, as with a slider."""
        return self.left > 0 or time.monotonic() - self._last < AGAIN

    def _change(self, by: int) -> None:
        with self._lock:  # jobs end in threads of their own
            self.left += by


def _watching(flag: np.ndarray, work: Callable[..., Any], *args: Any) -> Any:
    with watching(flag):
        return work(*args)


async def _gone(request: Request) -> None:
    """Return when the client has closed the connection; the request has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Slots:
    """A fixed number of slots, each of which is given back once."""

    def __init__(self, what: str, plural: str, count: int) -> None:
        self.what, self.plural, self.free = what, plural, count

    def take(self) -> Callable[[], None]:
        if not self.free:
            raise RequestRefused(
                429, [f"{self.what}: as many {self.plural} as this server takes are running; try again in a moment"]
            )
        self.free -= 1
        held = [True]

        def release() -> None:
            if held:
                held.clear()
                self.free += 1

        return release
