"""What Python adds to the library: `privatize` on ten million states, `step`, and threads.

    python python/benchmarks/columns.py [STATES]

The library's own time is taken in the same process, on the same walks and the same threads, by turns:
on a busy machine only the ratios mean something.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import polars as pl

import veilwalk as vw
from veilwalk import _native

KEY = b"a key for benchmarks, not secret"


def own_walks(chain: vw.Chain, walks: int, steps: int) -> npt.NDArray[np.int64]:
    """Walks of the chain itself, as places of states."""
    cumulative = np.cumsum(chain.matrix(), axis=1)
    draw = np.random.default_rng(1)
    at = draw.integers(len(chain), size=walks)
    states = np.empty((walks, steps), dtype=np.int64)
    for step in range(steps):
        states[:, step] = at
        at = (cumulative[at] < draw.random(walks)[:, None]).sum(axis=1).clip(max=len(chain) - 1)
    return states


def cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def best(times: int, work: Callable[[], float]) -> float:
    return min(work() for _ in range(times))


def columns(m: vw.Mechanism, walks: int, steps: int) -> None:
    places = own_walks(m.chain, walks, steps)
    labels = np.array(m.chain.states)[places]
    lists = pl.DataFrame(
        {"trajectory": [str(n) for n in range(walks)], "state": pl.Series(labels).arr.to_list()}
    )
    long = lists.explode("state")
    print(f"{m!r}: {walks * steps:,} states in {walks:,} walks")

    source = _native.Source.system()
    library_parts = [_native.time_library(m._native, source, lists["state"]) for _ in range(3)]
    whole = min(library_parts, key=sum)
    print(
        f"  the library by the clock: {sum(whole):.2f} "
        f"(look up {whole[0]:.2f}, release {whole[1]:.2f}, collect {whole[2]:.2f})"
    )
    forms: list[tuple[str, pl.DataFrame]] = [
        ("Polars, lists", lists),
        ("Polars, long", long),
        ("Polars, long, categories", long.with_columns(pl.col("state").cast(pl.Categorical))),
    ]
    # Places in, places out: the steps and next to nothing else. In seconds of the processor.
    steps_alone = best(3, lambda: cpu(lambda: m.privatize(places, states="numbers")))
    print(f"  the steps alone: {steps_alone:.2f} CPU seconds")
    for name, frame in forms:
        ratios, seconds = [], []
        whole_cpu = min(cpu(lambda given=frame: m.privatize(given)) for _ in range(3))  # type: ignore[misc]
        for _ in range(3):
            begun = time.perf_counter()
            m.privatize(frame)
            ours = time.perf_counter() - begun
            parts = _native.time_library(m._native, source, lists["state"])
            ratios.append(ours / sum(parts))
            seconds.append(ours)
        table = f"{min(seconds):.2f} by the clock, {statistics.median(ratios):.2f} times the library; " + (
            f"{whole_cpu / steps_alone:.2f} times the steps alone by the processor"
        )
        print(f"  {name:<26}{table}")


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


def threads(m: vw.Mechanism) -> None:
    """The same work from one and from eight Python threads: the clock against the processor."""
    walk = [[m.chain.states[n % len(m.chain)] for n in range(50_000)]] * 4

    def work(_: int) -> None:
        m.privatize(walk, threads=1)

    for count in (1, 2, 8):
        with ThreadPoolExecutor(count) as pool:
            clock, processor = time.perf_counter(), time.process_time()
            list(pool.map(work, range(16)))
            clock, processor = time.perf_counter() - clock, time.process_time() - processor
        print(f"  {count} threads: {clock:.2f} s by the clock, {processor / clock:.2f} cores in use")


def main() -> None:
    states = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    credit = vw.Chain.credit()
    for name in ("cell", "sharp"):
        columns(vw.Mechanism(name, credit, epsilon=2, radius=3.5), states // 100, 100)
    columns(vw.Mechanism("cell", vw.Chain.downtown(), epsilon=2, radius=3.5), states // 100, 100)
    step(vw.Mechanism("sharp", credit, epsilon=2, radius=3.5), 200_000)
    threads(vw.Mechanism("sharp", credit, epsilon=2, radius=3.5))


if __name__ == "__main__":
    main()
