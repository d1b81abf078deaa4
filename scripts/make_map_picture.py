"""Draws docs/pictures/map.svg: a van's real walk in a made-up town, and what was released in its place.

Runs the program that it is given on the data of docs/tutorial-fleet.md, and draws the GeoJSON that it
writes. The release is drawn from a number, so that the picture is the same each time.

    python scripts/make_map_picture.py target/debug/veilwalk
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

from make_pictures import INK, QUIET, REAL, SEEN, Picture

SAMPLES = Path(__file__).resolve().parent.parent / "docs" / "samples" / "tutorial-fleet"
WIDE, MARGIN, TOP, BOTTOM = 720, 40, 64, 64
WALK = "van1/2024-03-04"
WIDTHS = {"primary": 6, "secondary": 4.5, "residential": 3}

Line = list[list[float]]


def walks(program: Path, folder: Path) -> dict[str, list[Line]]:
    """The lines of a walk by their layers."""

    def run(*args: str | Path) -> None:
        subprocess.run([program, *args], cwd=folder, check=True, stderr=subprocess.DEVNULL)

    clock = ["--every", "20s"]
    run("chain", "osm", SAMPLES / "town.osm", *clock, "--speed", "50", "-o", "town.model")
    window = ["--window", "08:00-08:10", "--timezone", "UTC"]
    run("prepare", SAMPLES / "positions.csv", "--map", "town.model", *clock, *window, "-o", "walks.csv")
    promise = ["--epsilon", "3", "--per", "150m", "--mechanism", "tight", "--seed", "1"]
    run("privatize", "walks.csv", "--chain", "town.model", *promise, "-o", "released.csv")
    run("map", "released.csv", "--chain", "town.model", "--real", "walks.csv", "-o", "map.geojson")
    layers: dict[str, list[Line]] = {"real": [], "released": []}
    for feature in json.loads((folder / "map.geojson").read_text())["features"]:
        properties, geometry = feature["properties"], feature["geometry"]
        if properties["trajectory"] == WALK and geometry["type"] == "LineString":
            layers[properties["layer"]].append(geometry["coordinates"])
    return layers


def draw(layers: dict[str, list[Line]]) -> None:
    town = ET.parse(SAMPLES / "town.osm").getroot()
    nodes = {
        node.get("id"): [float(node.get("lon", "")), float(node.get("lat", ""))] for node in town.iter("node")
    }
    streets, water = [], []
    for way in town.iter("way"):
        tags = {tag.get("k"): tag.get("v") for tag in way.iter("tag")}
        line = [nodes[nd.get("ref")] for nd in way.iter("nd")]
        if "highway" in tags:
            streets.append((WIDTHS[tags["highway"] or ""], line))
        else:
            water.append(line)
    points = [point for _, line in streets for point in line]
    west, east = min(x for x, _ in points), max(x for x, _ in points)
    south, north = min(y for _, y in points), max(y for _, y in points)
    scale = (WIDE - 2 * MARGIN) / (east - west)
    # A degree of latitude is longer on the ground than one of longitude.
    up = scale / math.cos(math.radians(north))
    high = round(TOP + (north - south) * up + BOTTOM)

    def at(point: list[float]) -> tuple[float, float]:
        return round(MARGIN + (point[0] - west) * scale, 1), round(TOP + (north - point[1]) * up, 1)

    picture = Picture(WIDE, high, "A van's real walk in a made-up town, and what was released in its place")
    for line in water:
        # No farther than the card.
        inside = [(min(max(x, 12.0), WIDE - 12.0), y) for x, y in map(at, line)]
        picture.line(inside, "#cfe8fc", width=22)
    for width, line in streets:
        picture.line([at(point) for point in line], "#d0d7de", width=width)
    for layer, colour, width in (("real", REAL, 9), ("released", SEEN, 3.5)):
        for way in layers[layer]:
            picture.line([at(point) for point in way], colour, width=width)
        start, end = layers[layer][0][0], layers[layer][-1][-1]
        picture.dot(*at(start), colour, radius=7, hollow=True)
        picture.dot(*at(end), colour, radius=7)
    picture.text(MARGIN, 34, "the real drive", colour=REAL, bold=True)
    picture.text(MARGIN + 125, 34, "what was released", colour=SEEN, bold=True)
    told = "answered at once, ε = 3 for each 150 m along the streets"
    picture.text(WIDE - MARGIN, 34, told, colour=QUIET, anchor="end", size=12)
    told = "A made-up town. Circles are where the drives begin, dots where they end."
    picture.text(MARGIN, high - 20, told, colour=INK)
    picture.save("map.svg")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        draw(walks(Path(sys.argv[1]).resolve(), Path(folder)))
