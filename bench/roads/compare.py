"""Map matching beside leuvenmapmatching, on the same made-up trips in one run.

    pip install leuvenmapmatching
    cargo run --release -p veilwalk-roads --example trips -- MAP trips 1000
    python bench/roads/compare.py target/release/veilwalk MAP trips --peer-trips 20

A trip is the shortest way between two streets, driven at 10 m/s with a position every second that is off by 10 m in each
direction. Right is the share of a trip's streets that are found, in order; wrong, the share of what is found that is not of the
trip. The peer is slow, so it gets the first trips only, and both are compared on these. It is run as its documentation has it
for noise of this size, on the same street network with the same directions, and without its reading of maps.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

SIGMA = 10.0


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def in_common(a: list[str], b: list[str]) -> int:
    row = [0] * (len(b) + 1)
    for x in a:
        corner = 0
        for at, y in enumerate(b):
            above = row[at + 1]
            row[at + 1] = corner + 1 if x == y else max(above, row[at])
            corner = above
    return row[-1]


def score(truth: dict[str, list[str]], found: dict[str, list[str]], trips: list[str]) -> tuple[float, float]:
    right = sum(in_common(truth[trip], found.get(trip, [])) for trip in trips)
    of_truth = sum(len(truth[trip]) for trip in trips)
    given = sum(len(found.get(trip, [])) for trip in trips)
    return right / of_truth, 1 - right / max(given, 1)


def ours(veilwalk: str, model: Path, positions: Path, folder: Path) -> tuple[dict[str, list[str]], float]:
    walks = folder / "walks.csv"
    start = time.perf_counter()
    subprocess.run(
        [veilwalk, "prepare", positions, "--map", model, "--sigma", str(SIGMA), "-o", walks],
        check=True,
        capture_output=True,
    )
    seconds = time.perf_counter() - start
    found = defaultdict(list)
    for row in rows(walks):
        found[row["person"]].append(row["state"])
    return found, seconds


def theirs(folder: Path, trips: list[str], positions: dict[str, list[tuple[float, float]]]):
    from leuvenmapmatching.map.inmem import InMemMap
    from leuvenmapmatching.matcher.distance import DistanceMatcher

    streets = defaultdict(list)
    for row in rows(folder / "streets.csv"):
        streets[row["state"]].append((float(row["latitude"]), float(row["longitude"])))
    town = InMemMap("town", use_latlon=True, use_rtree=True, index_edges=True)
    of_piece, numbers = {}, {}
    for state, line in streets.items():
        for point in line:
            if point not in numbers:
                numbers[point] = len(numbers)
                town.add_node(numbers[point], point)
        for a, b in zip(line, line[1:]):
            if a != b:
                town.add_edge(numbers[a], numbers[b])
                of_piece[numbers[a], numbers[b]] = state
    found, seconds = {}, 0.0
    for trip in trips:
        matcher = DistanceMatcher(
            town, max_dist=100, obs_noise=SIGMA, obs_noise_ne=SIGMA, min_prob_norm=0.001,
            max_lattice_width=10, non_emitting_states=True,
        )  # fmt: skip
        start = time.perf_counter()
        matcher.match(positions[trip])
        seconds += time.perf_counter() - start
        states: list[str] = []
        pieces = matcher.path_pred_onlynodes or []
        for piece in zip(pieces, pieces[1:]):
            state = of_piece.get(piece)
            if state is not None and (not states or states[-1] != state):
                states.append(state)
        found[trip] = states
    return found, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("veilwalk")
    parser.add_argument("map", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peer-trips", type=int, default=20)
    args = parser.parse_args()
    truth = defaultdict(list)
    for row in rows(args.folder / "truth.csv"):
        truth[row["person"]].append(row["state"])
    positions = defaultdict(list)
    for row in rows(args.folder / "positions.csv"):
        positions[row["person"]].append((float(row["latitude"]), float(row["longitude"])))
    trips = list(truth)
    some = trips[: args.peer_trips]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "town.model"
        subprocess.run([args.veilwalk, "chain", "osm", args.map, "-o", model], check=True, capture_output=True)
        found, seconds = ours(args.veilwalk, model, args.folder / "positions.csv", Path(folder))
    count = sum(len(positions[trip]) for trip in trips)
    print(f"{'':28}{'trips':>7}{'right':>9}{'wrong':>9}{'us a position':>15}")

    def line(name: str, trips: list[str], found: dict[str, list[str]], each: float) -> None:
        right, wrong = score(truth, found, trips)
        print(f"{name:28}{len(trips):7}{right:9.4f}{wrong:9.4f}{1e6 * each:15.1f}")

    line("veilwalk prepare --map", trips, found, seconds / count)
    line("  the same, of the peer's", some, found, seconds / count)
    peer, slow = theirs(args.folder, some, positions)
    each = slow / sum(len(positions[trip]) for trip in some)
    line("leuvenmapmatching", some, peer, each)
    print(f"times as fast: {each / (seconds / count):.0f}")


if __name__ == "__main__":
    sys.exit(main())
