"""The explorer's server: it binds to this machine alone unless told otherwise, checks who asks, and bounds what it computes."""

from __future__ import annotations

import json
import struct
import weakref
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from solvable.gaussian.losses import LOSSES
from solvable.gaussian.units import UNITS
from solvable.numerics.threads import cores
from solvable.web import streams
from solvable.web.guarding import Guard, Queue, RequestRefused, SameOrigin, Slots, answer, asked, no_such_page
from solvable.web.presets import PRESETS

STATIC = Path(__file__).with_name("static")
KINDS = {".js": "text/javascript", ".css": "text/css"}
THEIRS = {"uPlot.iife.js", "uPlot.min.css"}
LONGEST_EXPORT = 2_000_000  # bytes of a request with simulated runs
SIMULATIONS, CURVES, DRAWINGS, DIAGRAMS = 4, 16, 8, 2  # at once: running; running or waiting; of diagrams, running


def packed(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Length of a JSON header (4 bytes), the header with names and shapes, padded to 4, then all arrays as float32."""
    shapes = [[name, list(array.shape)] for name, array in arrays.items()]
    text = json.dumps({"facts": facts, "arrays": shapes}, allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    with np.errstate(over="ignore"):
        body = [np.ascontiguousarray(array, dtype="<f4").tobytes() for array in arrays.values()]
    return b"".join([struct.pack("<I", len(text)), text, *body])


def make_app(hosts: list[str]) -> ASGIApp:
    curves = Queue("curve", max(2, cores()), CURVES)
    slots, places = Slots("simulate", "simulations", SIMULATIONS), Slots("diagram", "diagrams", DIAGRAMS)
    drawing = Queue("export", 1, DRAWINGS)  # pictures and files, one at a time

    async def page(request: Request) -> Response:  # noqa: ARG001
        return FileResponse(STATIC / "page.html", media_type="text/html")

    async def presets(request: Request) -> Response:  # noqa: ARG001
        return JSONResponse(PRESETS)

    async def compiling(request: Request) -> Response:  # noqa: ARG001
        from solvable.numerics.compiled import how_far

        return JSONResponse({"compiling": how_far()})

    async def curve(request: Request) -> Response:
        state = await asked(request)
        content = await curves.do(request, _curve, state)
        return Response(content, media_type="application/octet-stream")

    async def simulate(request: Request) -> Response:
        content = _parts(await asked(request), "state", "runs", "seed", "level", "data")
        simulation = await run_in_threadpool(_simulation, content)
        return _streamed(streams.pieces(simulation, release := slots.take()), release)

    async def diagram(request: Request) -> Response:
        content = _parts(await asked(request), "state", "x", "y", "quantity")
        made = await run_in_threadpool(_diagram, content)
        return _streamed(streams.cells(made, curves.is_wanted, release := places.take()), release)

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
            raise RequestRefused(404, [f"{kind}: must be one of {', '.join(exports.KINDS)}"])
        parts = _parts(await asked(request, LONGEST_EXPORT), "state", "view", "sgd", "kept")
        content, media = await drawing.do(request, lambda: exports.KINDS[kind](exports.Taken.read(parts)))
        return Response(content, media_type=media)

    posts = {"curve": curve, "curvature": curvature, "optimal": optimal, "simulate": simulate, "diagram": diagram,
             "export/{kind}": export}  # fmt: skip
    routes = [
        Route("/", answer(page)),
        Route("/static/{name}", answer(_static)),
        Route("/api/presets", answer(presets)),
        Route("/api/compiling", answer(compiling)),
        *(Route(f"/api/{name}", answer(handler), methods=["POST"]) for name, handler in posts.items()),
    ]
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False), Middleware(SameOrigin)]
    handlers: dict[Any, Any] = {HTTPException: no_such_page}
    return Guard(Starlette(routes=routes, middleware=middleware, exception_handlers=handlers))


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name == "units.js":
        menus = f"export const UNITS = {json.dumps(list(UNITS))}, LOSSES = {json.dumps(list(LOSSES))};\n"
        return Response(menus, media_type="text/javascript")
    if name in THEIRS:
        return FileResponse(Path(str(files("uplot") / "static" / name)), media_type=KINDS[Path(name).suffix])
    ours = {path.name: path for path in STATIC.iterdir() if path.suffix in KINDS}
    if name in ours:
        return FileResponse(ours[name], media_type=KINDS[ours[name].suffix])
    raise RequestRefused(404, [f"{name}: there is no such file"])


def _streamed(lines: Any, release: Any) -> Response:
    response = StreamingResponse(lines, media_type="application/x-ndjson")
    weakref.finalize(response, release)  # if it never begins
    return response


def _parts(content: Any, *names: str) -> dict[str, Any]:
    if not isinstance(content, dict) or set(content) - set(names):
        raise RequestRefused(422, [f"request: must have {', '.join(names)} and nothing else"])
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


def _simulation(content: dict[str, Any]) -> Any:
    from solvable.web import simulations, work

    return simulations.Simulation.read(work.view(content.get("state")), content)


def _diagram(content: dict[str, Any]) -> Any:
    from solvable.web import diagrams

    return diagrams.Diagram.read(content)


def _optimal(content: dict[str, Any]) -> dict[str, Any]:
    from solvable.web import schedules, work
    from solvable.web.preparing import PREPARATION, SCHEDULE

    PREPARATION.begin()
    view, control = work.view(content.get("state")), schedules.check(content.get("control"))
    if words := PREPARATION.words(SCHEDULE):
        return {"compiling": words}
    return schedules.best(view, control)
