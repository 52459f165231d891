"""The commands `sweep` and `store`."""

import json
import signal
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from solvable.results.progress import clock

PICTURES = (".png", ".pdf", ".svg")


def sweep(options: Namespace) -> int:
    from solvable.sweeps import execute
    from solvable.sweeps.files import read

    planned = read(options.file)
    store = Path(options.store)
    if options.dry_run:
        return _estimate(planned, store, options)
    if options.show:
        return _show(planned, store, options)
    if options.output is not None:
        raise ValueError("--output: is for --show; `solvable store gather` writes data")
    with _ends_cleanly():
        try:
            swept = execute(
                planned, store, workers=options.workers, cluster=options.cluster, shard=_shard(options.shard),
                retry=options.retry, progress=None if not options.json else False,
            )  # fmt: skip
        except KeyboardInterrupt:
            from solvable.sweeps import Store

            status = planned.status(Store(store, create=False)) if (store / "store.json").is_file() else None
            if status is not None:
                print(
                    f"solvable: {status.done} of {status.points} points are stored; the same command continues",
                    file=sys.stderr,
                )
            raise
    for damage in swept.damages:
        print(f"solvable: {damage}; set aside in {store / 'damaged'} and computed again", file=sys.stderr)
    return _report(planned, swept, store, options)


def _report(planned: Any, swept: Any, store: Path, options: Namespace) -> int:
    status = swept.status
    told = {
        "title": planned.title,
        "sweep": planned.manifest.key.hex(),
        "store": str(store),
        **status._asdict(),
        "missing": status.missing,
        "damaged": [damage._asdict() for damage in swept.damages],
    }
    if options.json:
        print(json.dumps(told, indent=2))
    else:
        print(f"{planned.title}: {_words(status)}, in {store}")
        for text in _failures(swept):
            print(f"  failed {text}")
    return 1 if status.failed else 0


def _words(status: Any) -> str:
    parts = [f"{status.done} of {status.points} points"]
    if status.failed:
        parts.append(f"{status.failed} failed")
    if status.missing:
        parts.append(f"{status.missing} missing")
    return ", ".join(parts)


def _failures(swept: Any, most: int = 10) -> Iterator[str]:
    import numpy as np

    data = swept.data
    places = np.argwhere(data["failure"].values != "")
    for place in places[:most]:
        cell = data["failure"].isel(dict(zip(data["failure"].dims, place, strict=True)))
        where = ", ".join(f"{name} {value.values[()]}" for name, value in cell.coords.items() if value.ndim == 0)
        yield f"{where}: {cell.values[()]}"
    if len(places) > most:
        yield f"... and {len(places) - most} more"


def _estimate(planned: Any, store: Path, options: Namespace) -> int:
    from solvable.sweeps import Store

    there = Store(store, create=False) if (store / "store.json").is_file() else None
    found = planned.estimate(there, options.workers)
    if options.json:
        print(json.dumps(found._asdict(), indent=2))
        return 0
    shape = " x ".join(f"{dim} {size}" for dim, size in zip(planned.grid.dims, planned.grid.shape, strict=True))
    print(f"{planned.title}: {found.points} points ({shape}), {found.missing} to compute")
    if found.missing:
        print(f"about {clock(found.seconds)} on {found.workers} cores, {_bytes(found.disk)} in the store")
        print(f"about {_bytes(found.memory)} of memory for each worker")
    return 0


def _show(planned: Any, store: Path, options: Namespace) -> int:
    from solvable.plot import style
    from solvable.plot import sweep as draw
    from solvable.results.files import write_whole
    from solvable.sweeps import Store, Swept

    output = Path(options.output or f"{planned.title}.png")
    if output.suffix not in PICTURES:
        raise ValueError(f"--output: {output} given, must end in {' or '.join(PICTURES)}")
    swept = Swept(planned, Store(store, create=False))
    with style():
        picture = draw(swept.data, options.quantity)
        write_whole(output, lambda path: picture.savefig(path, format=output.suffix[1:]))
    print(f"{planned.title}: {_words(swept.status)}")
    print(f"wrote {output}")
    return 0


def store(options: Namespace) -> int:
    from solvable.sweeps import Store

    opened = Store(options.store, create=False)
    return ACTIONS[options.action](opened, options)


def _status(opened: Any, options: Namespace) -> int:
    from solvable.sweeps.gather import keys_in, sweeps_in
    from solvable.sweeps.store import status_of

    found = [(manifest, status_of(opened, keys_in(manifest))) for manifest in sweeps_in(opened)]
    if options.json:
        print(
            json.dumps(
                [
                    {
                        "title": manifest.about["title"],
                        "sweep": manifest.key.hex(),
                        **status._asdict(),
                        "missing": status.missing,
                    }
                    for manifest, status in found
                ],
                indent=2,
            )
        )
        return 0
    print(f"{options.store}: {len(opened)} records")
    for manifest, status in found:
        shape = " x ".join(f"{axis['dim']} {len(axis['values'][0])}" for axis in manifest.about["axes"])
        print(f"{manifest.key.hex()[16:28]}  {manifest.about['title']}: {_words(status)} ({shape})")
    return 0


def _verify(opened: Any, options: Namespace) -> int:
    found = opened.verify(repair=options.repair)
    if options.json:
        print(json.dumps([damage._asdict() for damage in found], indent=2))
    else:
        for damage in found:
            print(damage)
        aside = " set aside" if options.repair and found else ""
        print(f"{options.store}: {len(opened)} records, {len(found)} damaged segments{aside}")
    return 1 if found and not options.repair else 0


def _compact(opened: Any, options: Namespace) -> int:
    joined = opened.compact()
    print(f"{options.store}: {joined} small segments joined")
    return 0


def _gather(opened: Any, options: Namespace) -> int:
    from solvable.sweeps.gather import dataset, export, sweeps_in

    if options.output is None:
        raise ValueError("--output: is missing; a file that ends in .nc, .parquet or .csv")
    chosen = [
        one
        for one in sweeps_in(opened)
        if options.sweep is None or options.sweep in (one.about["title"], one.key.hex()[16:28])
    ]
    if len(chosen) != 1:
        names = ", ".join(f"{one.key.hex()[16:28]} ({one.about['title']})" for one in sweeps_in(opened)) or "none"
        raise ValueError(f"--sweep: must name one of the sweeps in {options.store}: {names}")
    path = export(dataset(opened, chosen[0]), options.output)
    print(f"wrote {path}")
    return 0


ACTIONS = {"status": _status, "verify": _verify, "compact": _compact, "gather": _gather}


@contextmanager
def _ends_cleanly() -> Iterator[None]:
    """A request to end, as clusters send it before they kill, is a Ctrl-C."""

    def end(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _shard(text: str | None) -> tuple[int, int]:
    if text is None:
        return 1, 1
    one, _, of = text.partition("/")
    if not (one.isdecimal() and of.isdecimal() and 1 <= int(one) <= int(of)):
        raise ValueError(f"--shard: {text!r} given, must be i/n with i from 1 to n, as 2/8")
    return int(one), int(of)


def _bytes(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"
