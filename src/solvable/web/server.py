"""The explorer's server: it binds to this machine alone unless told otherwise, checks who asks, and bounds what it computes."""

from __future__ import annotations

import asyncio
import json
import logging
import struct
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from solvable.gaussian.losses import LOSSES
from solvable.gaussian.units import UNITS
from solvable.numerics.threads import cores, watching
from solvable.problems import InvalidProblem
from solvable.web.presets import PRESETS

if TYPE_CHECKING:
    from solvable.web.work import View

log = logging.getLogger("solvable.explore")
STATIC = Path(__file__).with_name("static")
OURS = {f"{name}.js": "text/javascript" for name in ("problem", "controls", "draw", "page")} | {"page.css": "text/css"}
THEIRS = {"uPlot.iife.js": "text/javascript", "uPlot.min.css": "text/css"}
LONGEST, LONGEST_EXPORT = 20_000, 2_000_000  # bytes of a request; with simulated runs
SIMULATIONS, CURVES, DRAWINGS = 4, 16, 8  # at once: running; running or waiting
CLIENT_SECONDS = 10.0  # seconds in which a request must have come, and in which a part of an answer must be taken
RETRY = 2  # seconds after which to ask again
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


class Refused(Exception):
    """A request that is refused, with the reason. Status 429: it may be answered later."""

    def __init__(self, status: int, lines: list[str]) -> None:
        self.status, self.lines = status, lines
        super().__init__("\n".join(lines))


class SameOrigin:
    """Refuses requests that come from another page, by their origin."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            origin, host = headers.get(b"origin"), headers.get(b"host", b"")
            if origin is not None and origin not in (b"http://" + host, b"https://" + host):
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
                    raise Refused(413, [f"request: longer than {longest} bytes"])
    except TimeoutError:
        raise Refused(408, [f"request: has not come within {CLIENT_SECONDS:g} s"]) from None
    try:
        return json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Refused(400, ["request: is not valid JSON"]) from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def answer(handler: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """Mistakes become one line each; nothing takes the server down."""

    async def guarded(request: Request) -> Response:
        try:
            response: Response = await handler(request)
        except Refused as error:
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


def packed(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Length of a JSON header (4 bytes), the header with names and shapes, padded to 4, then all arrays as float32."""
    shapes = [[name, list(array.shape)] for name, array in arrays.items()]
    text = json.dumps({"facts": facts, "arrays": shapes}, allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    with np.errstate(over="ignore"):
        body = [np.ascontiguousarray(array, dtype="<f4").tobytes() for array in arrays.values()]
    return b"".join([struct.pack("<I", len(text)), text, *body])


class Queue:
    """A queue of work for a fixed number of threads, with a bound on how much may run or wait.

    A client that goes away leaves the queue; work that runs for it is told to stop.
    """

    def __init__(self, what: str, threads: int, most: int) -> None:
        self.what, self.most, self.left = what, most, 0
        self._workers, self._lock = ThreadPoolExecutor(threads, what), threading.Lock()

    async def do(self, request: Request, work: Callable[..., Any], *args: Any) -> Any:
        if self.left >= self.most:
            raise Refused(429, [f"{self.what}: as many as this server takes are waiting; try again in {RETRY} seconds"])
        self._change(1)
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


def make_app(hosts: list[str]) -> ASGIApp:
    curves = Queue("curve", max(2, cores()), CURVES)
    slots = Slots(SIMULATIONS)
    drawing = Queue("export", 1, DRAWINGS)  # pictures and files, one at a time

    async def page(request: Request) -> Response:  # noqa: ARG001
        return FileResponse(STATIC / "page.html", media_type="text/html")

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name == "units.js":
            menus = f"const UNITS = {json.dumps(list(UNITS))}, LOSSES = {json.dumps(list(LOSSES))};"
            return Response(menus, media_type="text/javascript")
        if name in OURS:
            return FileResponse(STATIC / name, media_type=OURS[name])
        if name in THEIRS:
            return FileResponse(Path(str(files("uplot") / "static" / name)), media_type=THEIRS[name])
        raise Refused(404, [f"{name}: there is no such file"])

    async def presets(request: Request) -> Response:  # noqa: ARG001
        return JSONResponse(PRESETS)

    async def curve(request: Request) -> Response:
        state = await asked(request)
        content = await curves.do(request, _curve, state)
        return Response(content, media_type="application/octet-stream")

    async def simulate(request: Request) -> Response:
        content = _parts(await asked(request), "state", "runs", "seed")
        from solvable.web import work

        seed = work.check_seed(content.get("seed", 0))
        view = await run_in_threadpool(work.view, content.get("state"))
        runs = work.check_simulation(view, content.get("runs", 1))
        release = slots.take()
        response = StreamingResponse(_pieces(view, runs, seed, release), media_type="application/x-ndjson")
        weakref.finalize(response, release)  # if it never begins
        return response

    async def curvature(request: Request) -> Response:
        content = _parts(await asked(request), "state", "at")
        return JSONResponse(await curves.do(request, _curvature, content))

    async def optimal(request: Request) -> Response:
        content = _parts(await asked(request), "state", "control")
        return JSONResponse(await curves.do(request, _optimal, content))

    async def export(request: Request) -> Response:
        from solvable.web import exports

        kind = request.path_params["kind"]
        if kind not in exports.KINDS:
            raise Refused(404, [f"{kind}: must be one of {', '.join(exports.KINDS)}"])
        parts = _parts(await asked(request, LONGEST_EXPORT), "state", "view", "sgd")
        content, media = await drawing.do(request, lambda: exports.KINDS[kind](exports.Taken.read(parts)))
        return Response(content, media_type=media)

    routes = [
        Route("/", answer(page)),
        Route("/static/{name}", answer(static)),
        Route("/api/presets", answer(presets)),
        Route("/api/curve", answer(curve), methods=["POST"]),
        Route("/api/curvature", answer(curvature), methods=["POST"]),
        Route("/api/optimal", answer(optimal), methods=["POST"]),
        Route("/api/simulate", answer(simulate), methods=["POST"]),
        Route("/api/export/{kind}", answer(export), methods=["POST"]),
    ]
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False), Middleware(SameOrigin)]
    handlers: dict[Any, Any] = {HTTPException: no_such_page}
    return Guard(Starlette(routes=routes, middleware=middleware, exception_handlers=handlers))


def _parts(content: Any, *names: str) -> dict[str, Any]:
    if not isinstance(content, dict) or set(content) - set(names):
        raise Refused(422, [f"request: must have {', '.join(names)} and nothing else"])
    return content


def _curve(state: Any) -> bytes:
    from solvable.web import work  # heavy: what computes is loaded while the page is being opened
    from solvable.web.preparing import PREPARATION

    PREPARATION.begin()
    return packed(*work.curve(work.view(state)))


def _curvature(content: dict[str, Any]) -> dict[str, Any]:
    from solvable.web import work
    from solvable.web.preparing import PREPARATION

    PREPARATION.begin()
    return work.curvature(work.view(content.get("state")), content.get("at"))


def _optimal(content: dict[str, Any]) -> dict[str, Any]:
    from solvable.web import schedules, work
    from solvable.web.preparing import PREPARATION, SCHEDULE

    PREPARATION.begin()
    view, control = work.view(content.get("state")), schedules.check(content.get("control"))
    if SCHEDULE in PREPARATION.missing:
        return {"compiling": PREPARATION.seconds}
    return schedules.best(view, control)


class Slots:
    """A fixed number of slots, each of which is given back once."""

    def __init__(self, count: int) -> None:
        self.free = count

    def take(self) -> Callable[[], None]:
        if not self.free:
            raise Refused(
                429, ["simulate: as many simulations as this server takes are running; try again in a moment"]
            )
        self.free -= 1
        held = [True]

        def release() -> None:
            if held:
                held.clear()
                self.free += 1

        return release


async def _pieces(view: View, runs: int, seed: int, release: Callable[[], None]) -> AsyncIterator[bytes]:
    """A line of JSON for each piece. When the page goes away or cancels, the generator is closed and no further piece is begun."""
    from solvable.web import work
    from solvable.web.preparing import PREPARATION, SGD

    try:
        await run_in_threadpool(PREPARATION.begin)
        while SGD in PREPARATION.missing:
            yield json.dumps({"compiling": PREPARATION.seconds}).encode() + b"\n"
            await asyncio.sleep(0.5)
        steps = work.simulate(view, runs, seed)
        while (piece := await run_in_threadpool(next, steps, None)) is not None:
            line = {name: _finite(part) for name, part in zip(("time", "risk", "cross"), piece, strict=True)}
            yield json.dumps(line).encode() + b"\n"
    except (ValueError, ArithmeticError) as error:
        yield json.dumps({"problems": [str(error)[:300]]}).encode() + b"\n"
    finally:
        release()


def _finite(values: np.ndarray) -> list[Any]:
    """JSON has no NaN."""
    held = values.astype(object)
    held[~np.isfinite(values)] = None
    found: list[Any] = held.tolist()
    return found
