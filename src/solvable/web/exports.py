"""What one takes away from a view: the same run as Python, TOML or a command, its data, its picture."""

import io
import pprint
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tomli_w

from solvable.web import work


def as_toml(state: dict[str, Any], view: work.View) -> tuple[bytes, str]:  # noqa: ARG001
    return tomli_w.dumps(_plain({**state, "start": _start(state)})).encode(), "text/plain; charset=utf-8"


def as_command(state: dict[str, Any], view: work.View) -> tuple[bytes, str]:
    text = as_toml(state, view)[0].decode()
    return (
        f"cat > problem.toml <<'END'\n{text}END\nsolvable run problem.toml --output run.nc\n".encode(),
        "text/plain; charset=utf-8",
    )


def as_python(state: dict[str, Any], view: work.View) -> tuple[bytes, str]:  # noqa: ARG001
    tables = {name: state[name] for name in ("teacher", "student", "inputs", "training") if name in state}
    problem = pprint.pformat(tables, sort_dicts=False)
    start = ", ".join(f"{name}={value!r}" for name, value in _start(state).items() if value is not None)
    lines = [
        "import solvable as sv",
        "",
        f"problem = sv.Problem.from_mapping({problem})",
        f"start = sv.start(problem, {start})",
        f"macro = sv.run(problem, start, sv.Macro(), until={state['run']['until']!r})",
        "print(macro)",
        "macro.plot()",
        "",
    ]
    return "\n".join(lines).encode(), "text/x-python; charset=utf-8"


def as_csv(state: dict[str, Any], view: work.View) -> tuple[bytes, str]:  # noqa: ARG001
    found = work.trajectory(view)
    p, q = view.problem.student.width, view.problem.teacher.width
    names = ["time", "risk", *(f"cross_{i + 1}_{j + 1}" for i in range(p) for j in range(q))]
    rows = [",".join(names)]
    for i, time in enumerate(found.time):
        values = [time, found.risk[0, i], *found.cross_overlap[0, i].ravel()]
        rows.append(",".join(repr(float(value)) for value in values))
    return ("\n".join(rows) + "\n").encode(), "text/csv; charset=utf-8"


def as_netcdf(state: dict[str, Any], view: work.View) -> tuple[bytes, str]:  # noqa: ARG001
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "run.nc"
        work.trajectory(view).save(path)
        return path.read_bytes(), "application/x-netcdf"


def _picture(ending: str) -> Callable[[dict[str, Any], work.View], tuple[bytes, str]]:
    def draw(state: dict[str, Any], view: work.View) -> tuple[bytes, str]:  # noqa: ARG001
        from solvable.plot import figure, risk, style

        found, content = work.trajectory(view), io.BytesIO()
        with style():
            picture, ax = figure(1, 1, height=3.0, width=4.5)
            risk(found, ax=ax)
            ax.set_yscale("log")
            picture.savefig(content, format=ending)
        return content.getvalue(), {"png": "image/png", "svg": "image/svg+xml"}[ending]

    return draw


def _start(state: dict[str, Any]) -> dict[str, Any]:
    """With the seed that is taken where none is given."""
    given: dict[str, Any] = state.get("start", {})
    drawn = given.get("seed") is None and given.get("student_overlap") is None
    return {**({"seed": 0} if drawn else {}), **{name: value for name, value in given.items() if value is not None}}


def _plain(state: Any) -> Any:
    """Without the fields that are not there; TOML has no null."""
    if isinstance(state, dict):
        return {name: _plain(value) for name, value in state.items() if value is not None}
    return [_plain(value) for value in state] if isinstance(state, list) else state


KINDS: dict[str, Callable[[dict[str, Any], work.View], tuple[bytes, str]]] = {
    "toml": as_toml,
    "command": as_command,
    "python": as_python,
    "csv": as_csv,
    "nc": as_netcdf,
    "png": _picture("png"),
    "svg": _picture("svg"),
}
