"""One mechanism in many Python threads: the same releases, and how well they share the cores.

    python python/benchmarks/threads.py

The same pieces of work are done by one, two, four and eight Python threads, each piece on one thread of the
library; the interpreter's lock is free while the library works. On a machine that does other things the clock
tells little, so the cores in use are printed too, and the seconds of the processor, which would grow if
threads kept each other waiting. Two plain processes say how many cores were to be had. Sessions hold the
interpreter's lock, since a step takes a tenth of a microsecond: they take turns.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import veilwalk as vw

KEY = b"a key for benchmarks, not secret"
PIECES = 16


def spin(seconds: float) -> float:
    """How much of its time a process that does nothing but count gets."""
    clock, processor = time.perf_counter(), time.process_time()
    while time.perf_counter() - clock < seconds:
        sum(range(10_000))
    return (time.process_time() - processor) / (time.perf_counter() - clock)


def cores(count: int) -> float:
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        return sum(pool.map(spin, [1.0] * count))


def measured(name: str, work: Callable[[int], object]) -> None:
    alone = None
    for count in (1, 2, 4, 8):
        with ThreadPoolExecutor(count) as pool:
            clock, processor = time.perf_counter(), time.process_time()
            done = list(pool.map(work, range(PIECES)))
            clock, processor = time.perf_counter() - clock, time.process_time() - processor
        assert done == [work(n) for n in range(PIECES)], "the same whatever the number of threads"
        alone = alone or clock
        print(
            f"  {name:<26}{count} threads: {clock:5.2f} s, {alone / clock:.2f} times as fast as one, "
            f"{processor / clock:.2f} cores in use, {processor:.2f} CPU s"
        )


def main() -> None:
    m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=2, radius=3.5)
    reals = m.chain.sample(PIECES * 20, 10_000, seed=1, states="numbers")
    print(f"{m!r}; {cores(2):.2f} of two cores to be had")

    def columns(piece: int) -> object:
        names = [str(n) for n in range(piece * 20, piece * 20 + 20)]
        walks = reals[piece * 20 : piece * 20 + 20]
        return m.privatize(walks, states="numbers", names=names, key=KEY, threads=1).tobytes()

    def sessions(piece: int) -> object:
        s = m.session(name=str(piece), key=KEY, states="numbers")
        walk = reals[piece].tolist()
        return [s.start(), *(s.step(real) for real in walk[1:])]

    measured("privatize, arrays", columns)
    measured("sessions, step by step", sessions)


if __name__ == "__main__":
    main()
