"""One mechanism in many threads, Ctrl-C during long work, and processes that fork."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import ID, KEY, WALKS

import veilwalk as vw

pytestmark = pytest.mark.slow


def test_eight_threads_share_a_mechanism(sharp: vw.Mechanism) -> None:
    names = [f"walk {number}" for number in range(400)]
    walks = {name: WALKS["12"] * (1 + number % 7) for number, name in enumerate(names)}
    expected = sharp.privatize(walks, key=KEY, release_id=ID)
    kernel = sharp.kernel(previous="Caa", real="Ca/C")

    def work(number: int) -> bool:
        mine = {name: walks[name] for name in names[number::8]}
        released = sharp.privatize(mine, key=KEY, release_id=ID)
        online = {}
        for name, walk in mine.items():
            s = sharp.session(name=name, key=KEY, release_id=ID)
            online[name] = [s.start(walk[0]), *(s.step(state) for state in walk[1:])]
        same_kernel = sharp.kernel(previous="Caa", real="Ca/C") == kernel
        return same_kernel and released == online == {name: expected[name] for name in mine}

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_long_calls_let_other_threads_run(credit: vw.Chain) -> None:
    m = vw.Mechanism("paper", credit, epsilon=1, radius=1)
    with ThreadPoolExecutor(1) as pool:
        analysis = pool.submit(m.analyze, steps=20_000)
        turns = 0
        while not analysis.done():
            turns += 1
            time.sleep(0.001)
        analysis.result()
    assert turns > 10, "the interpreter was not held"


LONG_WORK = {
    "analyze": "m.analyze(steps=10_000_000)",
    "simulate": "m.analyze(steps=1000, simulate=10_000_000)",
    "privatize": "m.privatize(numpy.full(400_000_000, 3), states='numbers')",
    "tune": "vw.tune(vw.Chain.downtown(), epsilon=1, radius=3, steps=1_000_000)",
    "compare": "vw.compare(vw.Chain.downtown(), epsilon=1, radius=3, steps=1_000_000)",
}


@pytest.mark.parametrize("name", LONG_WORK)
def test_long_work_is_interrupted(name: str) -> None:
    if name == "privatize":
        setup = "array = numpy.full(60_000_000, 3)"
        work = "m.privatize(array, states='numbers')"
    else:
        setup, work = "", LONG_WORK[name]
    program = f"""
import time, numpy, veilwalk as vw
m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=2, radius=3.5)
{setup}
print("ready", flush=True)
try:
    {work}
    print("finished", flush=True)
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, bufsize=1)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    time.sleep(0.7)
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    words = process.stdout.readline().split()
    assert words[0] == "interrupted"
    # "Within a moment", on a machine that may be busy with other things.
    assert float(words[1]) - pressed < 5
    assert process.wait(timeout=60) == 0


def test_making_cells_ends_when_it_is_interrupted() -> None:
    # Work that does not look is left to run out in the background; this has to end.
    program = """
import time, veilwalk as vw
n = 4800
moves = [(i, j % n, w) for i in range(n) for j, w in ((i + 1, 5), (i * 7 + 3, 2), (i * 13 + 11, 1))]
chain = vw.Chain.from_transitions(moves, counts=True)
vw.Mechanism("paper", chain, epsilon=2, radius=2)
print("ready", flush=True)
try:
    vw.Mechanism("cell", chain, epsilon=2, radius=2)
    print("finished", flush=True)
except KeyboardInterrupt:
    time.sleep(1)
    before = time.process_time()
    time.sleep(1)
    print("interrupted", time.process_time() - before, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, bufsize=1)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    words = process.stdout.readline().split()
    assert words[0] == "interrupted"
    assert float(words[1]) < 0.3, "it still works in the background"
    assert process.wait(timeout=60) == 0


def _in_child(mechanism: vw.Mechanism) -> dict[str, list[str]]:
    return mechanism.privatize(WALKS, key=KEY, release_id=ID)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
def test_a_forked_process_has_threads_of_its_own(sharp: vw.Mechanism) -> None:
    expected = sharp.privatize(WALKS, key=KEY, release_id=ID)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.apply_async(_in_child, (sharp,)).get(timeout=60) == expected
