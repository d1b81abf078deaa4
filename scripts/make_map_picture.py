"""Draws docs/pictures/map.svg: a real walk in a made-up town, and what was released in its place.

Runs the program that it is given, and draws the GeoJSON that `veilwalk map` writes. The release is drawn
from a number, so that the picture is the same each time.

    python scripts/make_map_picture.py target/debug/veilwalk
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from make_pictures import INK, QUIET, REAL, SEEN, Picture

WIDE, HIGH, MARGIN, TOP = 720, 470, 30, 60


def made(program: Path, folder: Path) -> tuple[dict[str, list[list[float]]], list[list[list[float]]]]:
    """The walks by their layers, and the streets."""

    def run(*args: str) -> None:
        subprocess.run([program, *args], cwd=folder, check=True, stderr=subprocess.DEVNULL)

    grid = ["--width", "18", "--height", "10", "--seed", "3", "--spacing", "100m"]
    run("chain", "generate", "grid", *grid, "--places", "places.csv", "-o", "grid.csv")
    run("chain", "compile", "grid.csv", "--places", "places.csv", "-o", "town")
    run("chain", "sample", "town", "--walks", "1", "--steps", "40", "--seed", "5", "-o", "walks.csv")
    promise = ["--epsilon", "1", "--radius", "2", "--mechanism", "tight", "--seed", "1"]
    run("privatize", "walks.csv", "--chain", "town", *promise, "-o", "released.csv")
    run("map", "released.csv", "--chain", "town", "--real", "walks.csv", "-o", "map.geojson")
    features = json.loads((folder / "map.geojson").read_text())["features"]
    lines = [feature for feature in features if feature["geometry"]["type"] == "LineString"]
    layers = {line["properties"]["layer"]: line["geometry"]["coordinates"] for line in lines}
    with (folder / "places.csv").open() as file:
        places = {
            row["state"]: [float(row["longitude"]), float(row["latitude"])] for row in csv.DictReader(file)
        }
    with (folder / "grid.csv").open() as file:
        streets = [[places[row["from"]], places[row["to"]]] for row in csv.DictReader(file)]
    return layers, streets


def draw(layers: dict[str, list[list[float]]], streets: list[list[list[float]]]) -> None:
    points = [point for street in streets for point in street]
    west, east = min(x for x, _ in points), max(x for x, _ in points)
    north = max(y for _, y in points)
    scale = (WIDE - 2 * MARGIN) / (east - west)

    def at(point: list[float]) -> tuple[float, float]:
        return round(MARGIN + (point[0] - west) * scale, 1), round(TOP + (north - point[1]) * scale, 1)

    picture = Picture(WIDE, HIGH, "A real walk in a made-up town, and what was released in its place")
    drawn = set()
    for start, end in streets:
        pair = frozenset((at(start), at(end)))
        if len(pair) == 2 and pair not in drawn:
            drawn.add(pair)
            picture.line([at(start), at(end)], "#d0d7de", width=2)
    for layer, colour, width in (("real", REAL, 9), ("released", SEEN, 3)):
        way = [at(point) for point in layers[layer]]
        picture.line(way, colour, width=width)
        picture.dot(*way[0], colour, radius=7, hollow=True)
        picture.dot(*way[-1], colour, radius=7)
    picture.text(MARGIN, 36, "the real walk", colour=REAL, bold=True)
    picture.text(MARGIN + 120, 36, "what was released", colour=SEEN, bold=True)
    picture.text(
        WIDE - MARGIN,
        36,
        "streets of 100 m, made up; ε = 1 within 2 nats",
        colour=QUIET,
        anchor="end",
        size=12,
    )
    picture.text(
        MARGIN,
        HIGH - 20,
        "Both take streets that are there. Circles are where they begin, dots where they end.",
        colour=INK,
    )
    picture.save("map.svg")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        draw(*made(Path(sys.argv[1]).resolve(), Path(folder)))
