"""What Python adds to the library: `privatize` on ten million states, and `step`.

    python python/benchmarks/columns.py [STATES]

The library's own time is taken in the same process, on the same walks, by turns. On a busy machine the clock
means nothing, so everything is in seconds of the processor, and only the ratios count:

- *steps*: the library's releaser on state numbers, and nothing else: the bare steps;
- *library*: what a program in Rust does with the same texts: look labels up, release, collect the labels.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import polars as pl

import veilwalk as vw
from veilwalk import _native


def cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def best(times: int, work: Callable[[], float]) -> float:
    return min(work() for _ in range(times))


def columns(m: vw.Mechanism, walks: int, steps: int) -> None:
    places = m.chain.sample(walks, steps - 1, seed=1, states="numbers")
    labels = np.array(m.chain.states)[places]
    lists = pl.DataFrame(
        {"trajectory": [str(n) for n in range(walks)], "state": pl.Series(labels).arr.to_list()}
    )
    long = lists.explode("state")
    with_steps = long.with_columns(step=pl.int_range(pl.len()).over("trajectory"))
    print(f"{m!r}: {walks * steps:,} states in {walks:,} walks")
    source = _native.Source.system()
    manner = _native.Manner(m._native, source, "private", None, None, None, None, None, None, "error")
    forms: list[tuple[str, pl.DataFrame]] = [
        ("Polars, lists", lists),
        ("Polars, long", long),
        ("Polars, long with steps", with_steps),
        ("Polars, long, categories", long.with_columns(pl.col("state").cast(pl.Categorical))),
    ]

    for name, frame in forms:
        of_steps, of_library, seconds = [], [], []
        for _ in range(5):
            ours = cpu(lambda given=frame: m.privatize(given))  # type: ignore[misc]
            look_up, bare, collect = _native.time_library(manner, lists["state"])
            of_steps.append(ours / bare)
            of_library.append(ours / (look_up + bare + collect))
            seconds.append(ours)
        print(
            f"  {name:<26}{min(seconds):5.2f} CPU s, {statistics.median(of_steps):.2f} times the steps, "
            f"{statistics.median(of_library):.2f} times the library"
        )


def step(m: vw.Mechanism, steps: int) -> None:
    s = m.session()
    s.start()
    reals = [m.chain.states[n % len(m.chain)] for n in range(steps)]

    def through_python() -> None:
        for real in reals:
            s.step(real)

    def nothing() -> None:
        for real in reals:
            len(real)

    walk = [reals]
    taken = best(5, lambda: cpu(through_python)) / steps
    loop = best(5, lambda: cpu(nothing)) / steps
    inside = best(5, lambda: cpu(lambda: m.privatize(walk, threads=1))) / steps
    print(f"step of {m.name}: {1e9 * taken:.0f} ns, the loop around it {1e9 * loop:.0f} ns, the same step")
    print(
        f"  in a list of states {1e9 * inside:.0f} ns: {1e9 * (taken - loop - inside):+.0f} ns for the call"
    )


def main() -> None:
    states = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    credit = vw.Chain.credit()
    for name in ("cell", "sharp"):
        columns(vw.Mechanism(name, credit, epsilon=2, radius=3.5), states // 100, 100)
    columns(vw.Mechanism("cell", vw.Chain.downtown(), epsilon=2, radius=3.5), states // 100, 100)
    step(vw.Mechanism("sharp", credit, epsilon=2, radius=3.5), 200_000)


if __name__ == "__main__":
    main()
