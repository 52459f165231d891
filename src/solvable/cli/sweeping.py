"""The commands `sweep` and `store`."""

import re
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from solvable.cli.printing import complain, print_json
from solvable.numerics.progress import clock

PICTURES = (".png", ".pdf", ".svg")


def sweep(options: Namespace) -> int:
    from solvable.sweeps import execute
    from solvable.sweeps.files import read
    from solvable.sweeps.makers import Stale

    _check_options(options)
    planned, shard = read(options.file), _shard(options.shard)
    store = Path(options.store)
    if options.dry_run:
        return _estimate(planned, store, shard, options)
    if options.show:
        return _show(planned, store, options)

    def tell(notice: Any) -> None:
        kept = "they are kept, --stale recompute computes them again"
        again = f"set aside in {store / 'damaged'}; sweeps that need what it held compute it again"
        complain(f"{notice}; {kept if isinstance(notice, Stale) else again}")

    try:
        swept = execute(
            planned, store, workers=options.workers, cluster=options.cluster, shard=shard, retry=options.retry,
            stale=options.stale, progress=False if options.json else None, tell=tell,
        )  # fmt: skip
    except KeyboardInterrupt:
        _say_what_is_stored(planned, store)
        raise
    return _report(swept, store, options)


def _check_options(options: Namespace) -> None:
    if options.dry_run and options.show:
        raise ValueError("--show: given together with -n; must be one")
    if options.json and options.show:
        raise ValueError("--json: given together with --show, which draws; must be one")
    for name in ("output", "quantity"):
        if getattr(options, name) is not None and not options.show:
            raise ValueError(f"--{name}: is for --show; `solvable store gather` writes data")


def _say_what_is_stored(planned: Any, store: Path) -> None:
    from solvable.sweeps import Store

    if (store / "store.json").is_file():
        opened = Store(store)
        done = sum(opened.has(key) for key in planned.points.all_keys(made=True))  # of those that are planned so far
        told = f"{done} of {planned.points.expected} points are stored; the same command continues"
        complain(told)


def _report(swept: Any, store: Path, options: Namespace) -> int:
    status = swept.status
    if options.json:
        print_json(_facts(swept.sweep.title, swept.sweep.manifest, status) | {"store": str(store)})
    else:
        print(f"{swept.sweep.title}: {_words(status)}, in {store}")
        if status.failed:
            for text in _failures(swept.data):
                print(f"  failed {text}")
    return 1 if status.failed else 0


def _facts(title: str, manifest: Any, status: Any) -> dict[str, Any]:
    return {"title": title, "sweep": _number(manifest), **status._asdict(), "missing": status.missing}


def _number(manifest: Any) -> str:
    """By which a sweep can be named."""
    return str(manifest.key.hex()[16:28])


def _words(status: Any) -> str:
    parts = [f"{status.done} of {status.points} points"]
    if status.failed:
        parts.append(f"{status.failed} failed")
    if status.missing:
        parts.append(f"{status.missing} missing")
    return ", ".join(parts)


def _failures(data: Any, most: int = 10) -> Iterator[str]:
    import numpy as np

    places = np.argwhere(data["failure"].values != "")
    for place in places[:most]:
        cell = data["failure"].isel(dict(zip(data["failure"].dims, place, strict=True)))
        where = ", ".join(f"{name} {value.values[()]}" for name, value in cell.coords.items() if value.ndim == 0)
        yield f"{where}: {cell.values[()]}"
    if len(places) > most:
        yield f"... and {len(places) - most} more"


def _estimate(planned: Any, store: Path, shard: tuple[int, int], options: Namespace) -> int:
    from solvable.sweeps import Store

    there = Store(store) if (store / "store.json").is_file() else None
    if not options.json:
        print("timing a few points (compiling, the first time)", file=sys.stderr)
    found = planned.estimate(there, options.workers, shard)
    if options.json:
        print_json(found._asdict())
        return 0
    shape = " x ".join(f"{dim} {size}" for dim, size in zip(planned.grid.dims, planned.grid.shape, strict=True))
    print(f"{planned.title}: {found.points} points ({shape}), {found.missing} to compute")
    if found.missing:
        print(f"about {clock(found.seconds)} on {found.workers} cores, {_bytes(found.disk)} in the store")
        print(f"a process takes about {_bytes(found.memory)} of memory")
    return 0


def _show(planned: Any, store: Path, options: Namespace) -> int:
    from solvable.plot import style, train_and_test
    from solvable.plot import sweep as draw
    from solvable.results.files import write_whole
    from solvable.sweeps import Store, Swept

    output = Path(options.output or re.sub(r"[^\w.-]+", "-", planned.title) + ".png")
    if output.suffix not in PICTURES:
        raise ValueError(f"--output: {output} given, must end in {' or '.join(PICTURES)}")
    swept = Swept(planned, Store(store, create=False))
    with style():
        losses = options.quantity == "train_and_test"
        picture: Any = train_and_test(swept).figure if losses else draw(swept.data, options.quantity)
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
    from solvable.sweeps.makers import makers_of, stale_of
    from solvable.sweeps.status import status_of

    if not options.json:
        print(f"{options.store}: {len(opened)} records")
    facts = []
    for manifest in sweeps_in(opened):
        status, stale = (status_of(opened, keys_in(manifest)), stale_of(makers_of(opened, keys_in(manifest))))
        facts.append(_facts(manifest.about["title"], manifest, status) | {"made_by_other_code": stale.other})
        if not options.json:
            shape = " x ".join(f"{axis['dim']} {len(axis['values'][0])}" for axis in manifest.about["axes"])
            print(f"{_number(manifest)}  {manifest.about['title']}: {_words(status)} ({shape})")
            if stale.other:
                print(f"  {stale}; `solvable sweep --stale recompute` computes them again")
    if options.json:
        print_json(facts)
    return 0


def _verify(opened: Any, options: Namespace) -> int:
    found = opened.verify(repair=options.repair)
    if options.json:
        print_json([damage._asdict() for damage in found])
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
    from solvable.sweeps.gather import dataset, export, left_out, sweeps_in

    if options.output is None:
        raise ValueError("--output: is missing; a file that ends in .nc, .parquet or .csv")
    there = sweeps_in(opened)
    chosen = [one for one in there if options.sweep is None or options.sweep in (one.about["title"], _number(one))]
    if len(chosen) != 1:
        names = ", ".join(f"{_number(one)} ({one.about['title']})" for one in there) or "none"
        what = "names several" if len(chosen) > 1 and options.sweep else "must name one"
        raise ValueError(f"--sweep: {what} of the sweeps in {options.store}: {names}")
    data = dataset(opened, chosen[0])
    path = export(data, options.output)
    print(f"wrote {path}")
    if large := left_out(data, path):
        print(f"without {', '.join(large)}, which have too many entries for columns; .nc holds them")
    return 0


ACTIONS = {"status": _status, "verify": _verify, "compact": _compact, "gather": _gather}


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
