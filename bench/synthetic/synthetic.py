"""Trips that nobody made, fitted to real ones under a central promise, beside what was published.

Every second trip of Shanghai, each of another person. The streets are public and nothing else: which road
leads into which comes from the map. Chain, first states, last states and lengths are fitted with noise at
epsilon 1 for a whole trip, added or removed; then as many trips are made up as there are real ones.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from figures import HIGHER_IS_BETTER, Grid, Summary, compare

PRIVTRACE = {
    "density": 0.023,
    "query": 0.258,
    "ndcg": 0.407,
    "kendall": 0.710,
    "moves": 0.109,
    "F1": 0.517,
    "trips": 0.398,
    "lengths": 0.219,
    "diameter": 0.195,
}
"""PrivTrace (Wang et al., USENIX Security 2023), measured once on the same trips at the same promise."""

EPSILON = "1"
LONGEST_WALK = "60"
SHARE = "0.2"
"""Of epsilon, for starts and for ends each; lengths have a tenth."""


class City:
    """Roads, where they are, and the trips of persons."""

    def __init__(self, folder: Path) -> None:
        junctions = {row["osmid"]: (float(row["x"]), float(row["y"])) for row in rows(folder / "node.txt")}
        self.roads = {row["n_id"]: (row["u"], row["v"]) for row in rows(folder / "edge.txt")}
        self.middles = {
            road: np.mean([junctions[end] for end in ends], axis=0) for road, ends in self.roads.items()
        }
        trips = [row["path"].split("_") for row in rows(folder / "path.csv")]
        self.trips = trips[1::2]
        self.grid = Grid(np.array(list(self.middles.values())))

    def streets(self) -> list[tuple[str, str]]:
        """Which road leads into which: those that meet at a junction."""
        out: dict[str, list[str]] = {}
        for road, (junction, _) in self.roads.items():
            out.setdefault(junction, []).append(road)
        return [
            (road, following)
            for road, (_, junction) in self.roads.items()
            for following in out.get(junction, [])
        ]

    def summary(self, trips: list[list[str]], random: np.random.Generator) -> Summary:
        points = [np.array([self.middles[road] for road in trip]) for trip in trips]
        return Summary.of(points, self.grid, random)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, header: list[str], lines: list[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *lines])


class Veilwalk:
    """The command, in a folder."""

    def __init__(self, folder: Path, max_moves: int) -> None:
        self.folder = folder
        self.max_moves = str(max_moves)
        self.program = Path(os.environ["VEILWALK"]).resolve()

    def run(self, *arguments: str) -> None:
        done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)

    def fit(self, epsilon: str) -> None:
        self.run(
            *("chain", "fit", "trips.csv", "--person-column", "trajectory", "--epsilon", epsilon),
            *(
                "--max-moves",
                self.max_moves,
                "--edges",
                "streets.csv",
                "--largest-component",
                "--floor",
                "0.1",
            ),
            *("--starts", "starts.csv", "--starts-share", SHARE),
            *("--ends", "ends.csv", "--ends-share", SHARE),
            *("--lengths", "lengths.csv", "--longest-walk", LONGEST_WALK, "-o", "chain.csv"),
        )

    def sample(self, trips: int, *more: str) -> list[list[str]]:
        self.run("chain", "sample", *more, "--walks", str(trips), "-o", "made-up.csv")
        made: dict[str, list[str]] = {}
        for row in rows(self.folder / "made-up.csv"):
            made.setdefault(row["trajectory"], []).append(row["state"])
        return list(made.values())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data/shanghai"))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--max-moves", type=int, default=20)
    given = parser.parse_args()
    if not (given.data / "path.csv").is_file():
        raise SystemExit(f"{given.data}: there is no path.csv; name the folder of the trips with --data")
    city = City(given.data)
    real = city.summary(city.trips, np.random.default_rng(0))
    print(f"{len(city.trips):,} trips, {len(city.roads)} roads, {len(city.streets()):,} moves on the map")
    with tempfile.TemporaryDirectory() as name:
        veilwalk = Veilwalk(Path(name), given.max_moves)
        states = [(str(number), road) for number, trip in enumerate(city.trips) for road in trip]
        write(Path(name) / "trips.csv", ["trajectory", "state"], states)
        write(Path(name) / "streets.csv", ["from", "to"], city.streets())
        write(Path(name) / "even.csv", ["from", "to", "count"], [(*move, "1") for move in city.streets()])
        found: dict[str, list[dict[str, float]]] = {}

        def measure(label: str, number: int, *sample: str) -> None:
            random = np.random.default_rng(number)
            made = city.summary(veilwalk.sample(len(city.trips), *sample), random)
            found.setdefault(label, []).append(compare(real, made, city.grid, random))

        fitted = ("chain.csv", "--initial", "starts.csv", "--lengths", "lengths.csv")
        for number in range(given.repetitions):
            measure("the map alone, 20 moves each", number, "even.csv", "--largest-component")
            veilwalk.fit(EPSILON)
            measure("chain, starts, lengths", number, *fitted)
            measure("chain, starts, lengths, ends", number, *fitted, "--ends", "ends.csv")
            veilwalk.fit("1000000")
            measure("the same, next to no noise", number, *fitted, "--ends", "ends.csv")
    print_table(found)


def print_table(found: dict[str, list[dict[str, float]]]) -> None:
    """Means, and the worst of all repetitions behind a slash; a star where even the worst beats PrivTrace."""
    names = list(PRIVTRACE)
    print("| | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    print("| PrivTrace | " + " | ".join(f"{PRIVTRACE[name]:.3f}" for name in names) + " |")
    for label, runs in found.items():
        cells = []
        for name in names:
            figures = [run[name] for run in runs]
            higher = name in HIGHER_IS_BETTER
            worst = min(figures) if higher else max(figures)
            better = worst > PRIVTRACE[name] if higher else worst < PRIVTRACE[name]
            cells.append(f"{np.mean(figures):.3f} / {worst:.3f}{'*' if better else ''}")
        print(f"| {label} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
