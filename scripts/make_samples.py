"""Makes up the data of two tutorials: a town with a fleet of vans, and a log of cases. Needs Python alone.

    python scripts/make_samples.py [FOLDER]

Everything is drawn from fixed numbers, so the same files come out each time: in docs/samples, or in FOLDER.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent.parent / "docs" / "samples"

# The town: crossings in rows and columns, each a little off its place, and a river between two rows.
COLUMNS, ROWS, SPACING, OFF = 10, 8, 110.0, 22.0
NORTH_OF_RIVER = 4
BRIDGES = {1, 5, 8}
LATITUDE, LONGITUDE = 42.5, 1.5
METRES_PER_DEGREE = 111_195.0

# The fleet: a position every ten seconds, so many metres off.
VANS, EVERY, SECONDS, SPEED, NOISE = 8, 10, 600, 7.0, 5.0

Point = tuple[float, float]


def town() -> tuple[dict[int, Point], list[tuple[str, str, bool, list[int]]]]:
    """Crossings in metres, and streets: name, class, whether one-way, crossings."""
    draw = random.Random(11)
    crossings = {}
    for row, column in itertools.product(range(ROWS), range(COLUMNS)):
        north = row * SPACING + (40 if row >= NORTH_OF_RIVER else 0)
        crossings[number(row, column)] = (
            column * SPACING + draw.uniform(-OFF, OFF),
            north + draw.uniform(-OFF, OFF),
        )
    streets = []
    rows = [
        "Station Road",
        "Mill Street",
        "Church Street",
        "Quay",
        "High Street",
        "School Lane",
        "Park Road",
        "North Road",
    ]
    for row, name in enumerate(rows):
        kind = "primary" if row in (0, 4, 7) else "residential"
        streets.append((name, kind, row == 2, [number(row, column) for column in range(COLUMNS)]))
    columns = [
        "West Road",
        "Bridge Street",
        "Elm",
        "Oak",
        "Lime",
        "Market Street",
        "Ash",
        "Birch",
        "East Bridge",
        "East Road",
    ]
    for column, name in enumerate(columns):
        kind = "primary" if column in (0, 5, 9) else "residential"
        way = [number(row, column) for row in range(ROWS)]
        if column in BRIDGES:
            streets.append((name, kind, False, way))
        else:
            streets.append((f"{name} (south)", kind, column == 3, way[:NORTH_OF_RIVER]))
            streets.append((f"{name} (north)", kind, column == 6, way[NORTH_OF_RIVER:]))
    # An avenue across the blocks.
    streets.append(("Diagonal", "secondary", False, [number(4 + k, 5 + k) for k in range(4)]))
    return crossings, streets


def number(row: int, column: int) -> int:
    return 100 * (row + 1) + column + 1


def river(crossings: dict[int, Point]) -> list[Point]:
    """Between the last row on the south bank and the first on the north bank."""
    middle = []
    for column in range(COLUMNS):
        (x, south), (_, north) = (
            crossings[number(NORTH_OF_RIVER - 1, column)],
            crossings[number(NORTH_OF_RIVER, column)],
        )
        middle.append((x, (south + north) / 2))
    return [(-SPACING, middle[0][1] - 20), *middle, (COLUMNS * SPACING, middle[-1][1] + 25)]


def degrees(point: Point) -> tuple[str, str]:
    x, y = point
    longitude = LONGITUDE + x / (METRES_PER_DEGREE * math.cos(math.radians(LATITUDE)))
    return f"{LATITUDE + y / METRES_PER_DEGREE:.6f}", f"{longitude:.6f}"


def osm(crossings: dict[int, Point], streets: list[tuple[str, str, bool, list[int]]]) -> str:
    lines = ["<?xml version='1.0' encoding='UTF-8'?>"]
    lines.append("<!-- A made-up town, in the format of OpenStreetMap. scripts/make_samples.py makes it. -->")
    lines.append('<osm version="0.6">')
    water = dict(enumerate(river(crossings), start=9001))
    for node, point in {**crossings, **water}.items():
        latitude, longitude = degrees(point)
        lines.append(f'  <node id="{node}" lat="{latitude}" lon="{longitude}"/>')

    def way(way_id: int, nodes: list[int], tags: dict[str, str]) -> None:
        lines.append(f'  <way id="{way_id}">')
        lines.extend(f'    <nd ref="{node}"/>' for node in nodes)
        lines.extend(f'    <tag k="{key}" v="{value}"/>' for key, value in tags.items())
        lines.append("  </way>")

    for place, (name, kind, one_way, nodes) in enumerate(streets, start=1):
        way(place, nodes, {"highway": kind, "name": name, **({"oneway": "yes"} if one_way else {})})
    way(900, list(water), {"waterway": "river", "name": "River"})
    return "\n".join([*lines, "</osm>"])


def ways(
    crossings: dict[int, Point], streets: list[tuple[str, str, bool, list[int]]]
) -> dict[int, list[int]]:
    leads: dict[int, list[int]] = {crossing: [] for crossing in crossings}
    for _, _, one_way, nodes in streets:
        for here, there in itertools.pairwise(nodes):
            leads[here].append(there)
            if not one_way:
                leads[there].append(here)
    return leads


def route(
    crossings: dict[int, Point], leads: dict[int, list[int]], start: int, end: int, before: int | None
) -> list[int]:
    """The shortest way that does not begin by turning back."""
    waiting, seen = [(0.0, [start])], set()
    while waiting:
        length, way = heapq.heappop(waiting)
        if way[-1] == end:
            return way
        if way[-1] in seen:
            continue
        seen.add(way[-1])
        for there in leads[way[-1]]:
            if len(way) > 1 or there != before:
                heapq.heappush(
                    waiting, (length + math.dist(crossings[way[-1]], crossings[there]), [*way, there])
                )
    raise ValueError(f"no way from {start} to {end}")


def traces(crossings: dict[int, Point], leads: dict[int, list[int]]) -> list[str]:
    """Vans that drive from the depot to one customer after the other. Most of these are in the centre."""
    draw = random.Random(5)
    centre = [number(row, column) for row in (4, 5, 6) for column in (4, 5, 6)]
    rows = ["person,time,latitude,longitude"]
    for day, van in itertools.product((4, 5), range(1, VANS + 1)):
        here, before = number(0, 9), None
        drive: list[Point] = [crossings[here]]
        while len(drive) * EVERY <= SECONDS:
            customer = draw.choice(centre if draw.random() < 0.6 else list(crossings))
            if customer == here:
                continue
            way = route(crossings, leads, here, customer, before)
            along, at = 0.0, [0.0]
            for a, b in itertools.pairwise(way):
                along += math.dist(crossings[a], crossings[b])
                at.append(along)
            done = SPEED * EVERY
            while done < along:
                leg = next(k for k in range(len(way) - 1) if at[k + 1] > done)
                share = (done - at[leg]) / (at[leg + 1] - at[leg])
                (ax, ay), (bx, by) = crossings[way[leg]], crossings[way[leg + 1]]
                drive.append((ax + share * (bx - ax), ay + share * (by - ay)))
                done += SPEED * EVERY
            here, before = way[-1], way[-2]
        began = datetime(2024, 3, day, 8, tzinfo=timezone.utc)
        for tick, (x, y) in enumerate(drive[: SECONDS // EVERY + 1]):
            latitude, longitude = degrees((x + draw.gauss(0, NOISE), y + draw.gauss(0, NOISE)))
            moment = began + timedelta(seconds=tick * EVERY)
            rows.append(f"van{van},{moment:%Y-%m-%dT%H:%M:%SZ},{latitude},{longitude}")
    return rows


FOLLOWS = {
    "register": {"check": 0.9, "ask for papers": 0.1},
    "check": {"ask for papers": 0.25, "site visit": 0.3, "advice": 0.35, "decide": 0.1},
    "ask for papers": {"papers came": 0.9, "end": 0.1},
    "papers came": {"check": 0.6, "advice": 0.4},
    "site visit": {"advice": 0.8, "decide": 0.2},
    "advice": {"decide": 0.9, "site visit": 0.1},
    "decide": {"letter": 1.0},
    "letter": {"end": 0.85, "objection": 0.15},
    "objection": {"hearing": 0.8, "decide": 0.2},
    "hearing": {"decide": 1.0},
}


def cases(count: int = 400) -> list[str]:
    """Cases of an office, in the order of their events."""
    draw = random.Random(3)
    events = []
    for case in range(1, count + 1):
        moment = datetime(2024, 1, 2, 8) + timedelta(minutes=draw.randrange(120 * 24 * 60))
        now = "register"
        while now != "end":
            events.append((moment, f"c{case:03}", now))
            moment += timedelta(minutes=draw.randrange(30, 6 * 24 * 60))
            now = draw.choices(list(FOLLOWS[now]), list(FOLLOWS[now].values()))[0]
    return [
        "case,when,activity",
        *(f"{case},{moment:%Y-%m-%dT%H:%M},{activity}" for moment, case, activity in sorted(events)),
    ]


def main() -> None:
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    crossings, streets = town()
    files = {
        "tutorial-fleet/town.osm": [osm(crossings, streets)],
        "tutorial-fleet/positions.csv": traces(crossings, ways(crossings, streets)),
        "tutorial-cases/log.csv": cases(),
        "tutorial-cases/handbook.csv": ["state", *FOLLOWS, "end"],
    }
    for name, lines in files.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
