"""`veilwalk prepare` beside Polars, which only reads the same events and sorts them.

    python python/benchmarks/prepare.py target/release/veilwalk [EVENTS [ROUNDS]]

Events are made up: persons, times within a month and states, all at random and in no order, as CSV and as
Parquet. Polars reads them with times as times, and sorts them by person and time; nothing is written.
`prepare` reads, sorts, and writes a CSV file of walks: with a state for every event, the same with 64 MiB
for sorting, and on a clock with ticks of 30 minutes. Every round runs all of them, each in a process of its
own, and the middle one of all rounds is told: the time by the clock, the seconds of the processor and the
most memory, which for Polars include what it takes to start Python.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

PEER = """
import polars as pl, sys
path = sys.argv[1]
events = pl.read_csv(path, try_parse_dates=True) if path.endswith("csv") else pl.read_parquet(path)
assert events.sort("person", "time").height > 0
"""


def make_events(count: int, text: str, columns: str) -> None:
    import numpy as np
    import polars as pl

    random = np.random.default_rng(1)
    start, month = 1_709_251_200, 30 * 86_400
    table = pl.DataFrame(
        {
            "person": random.integers(0, 100_000, count),
            "time": start + random.integers(0, month, count),
            "state": random.integers(0, 500, count),
        }
    ).select(
        ("u" + pl.col("person").cast(pl.String)).alias("person"),
        pl.from_epoch("time").dt.replace_time_zone("UTC"),
        ("s" + pl.col("state").cast(pl.String)).alias("state"),
    )
    table.write_csv(text, datetime_format="%Y-%m-%dT%H:%M:%SZ")
    table.write_parquet(columns)


def measured(command: list[str]) -> tuple[float, float, float]:
    """Seconds by the clock and of the processor, and MiB at most, of one process."""
    clock = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{said}")
    spent = usage.ru_utime + usage.ru_stime
    return time.perf_counter() - clock, spent, usage.ru_maxrss / 1024


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    program = str(Path(sys.argv[1]).resolve())
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, columns = str(folder / "events.csv"), str(folder / "events.parquet")
        # In a process of its own: its memory would count as that of every process started from here.
        maker = multiprocessing.get_context("spawn").Process(target=make_events, args=(count, text, columns))
        maker.start()
        maker.join()
        prepare = [program, "prepare"]
        to = ["-o", str(folder / "walks.csv")]
        clock = "--every 30m --window 06:00-22:00 --timezone Europe/Berlin --away away --gap 4h"
        runs = {
            "Polars, CSV: read and sort": [sys.executable, "-c", PEER, text],
            "prepare, CSV": [*prepare, text, *to],
            "prepare, CSV, 64 MiB": [*prepare, text, *to, "--sort-memory", "64"],
            "prepare, CSV, clock": [*prepare, text, *to, *clock.split()],
            "Polars, Parquet: read and sort": [sys.executable, "-c", PEER, columns],
            "prepare, Parquet": [*prepare, columns, *to],
        }
        results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, command in runs.items():
                results[name].append(measured(command))
        print(f"{count:,} events, the middle one of {rounds} rounds")
        peer = 0.0
        for name, each in results.items():
            wall, spent, memory = (median(column) for column in zip(*each, strict=True))
            if name.startswith("Polars"):
                peer = wall
            print(
                f"{name:<32} {wall:6.2f} s, {wall / peer:5.2f} times Polars, {spent:6.2f} CPU s, "
                f"{memory:6.0f} MiB"
            )


if __name__ == "__main__":
    main()
