"""Maps that `veilwalk map` writes, read by tools of others: shapely, pyarrow and gpxpy."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import gpxpy
import pyarrow.parquet as pq
import pytest
import shapely
from shapely.geometry import shape

import veilwalk as vw

STEPS = 12


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory, command: Callable[..., str]) -> Path:
    """A made-up town with walks of STEPS states in it, and a release of them that says what was observed."""
    folder = tmp_path_factory.mktemp("town")

    def run(*args: str) -> None:
        command(*(str(folder / arg[1:]) if arg.startswith("@") else arg for arg in args))

    grid = ["--width", "12", "--height", "9", "--spacing", "250m", "--places", "@places.csv"]
    run("chain", "generate", "grid", *grid, "-o", "@grid.csv")
    run("chain", "compile", "@grid.csv", "--places", "@places.csv", "-o", "@town")
    run("chain", "sample", "@town", "--walks", "40", "--steps", str(STEPS - 1), "-o", "@walks.csv")
    promise = ["--epsilon", "3", "--radius", "2", "--mechanism", "tight"]
    run("privatize", "@walks.csv", "--chain", "@town", *promise, "-o", "@released.csv")
    times = ["--every", "5m", "--from", "2026-05-01T06:00Z", "--attribution", "© somebody"]
    for name in ("map.geojson", "map.gpx", "map.parquet"):
        run("map", "@released.csv", "--chain", "@town", "--real", "@walks.csv", *times, "-o", f"@{name}")
    return folder


def rows(file: Path) -> list[dict[str, str]]:
    with file.open() as text:
        return list(csv.DictReader(text))


@pytest.fixture(scope="module")
def places(town: Path) -> dict[str, tuple[float, float]]:
    return {
        row["state"]: (float(row["longitude"]), float(row["latitude"])) for row in rows(town / "places.csv")
    }


def expected(town: Path, layer: str, places: dict[str, tuple[float, float]]) -> dict[str, list[Any]]:
    """The points of each walk of a layer, from the files that were drawn."""
    file, column = {
        "released": ("released.csv", "state"),
        "observed": ("released.csv", "observed"),
        "real": ("walks.csv", "state"),
    }[layer]
    walks: dict[str, list[Any]] = {}
    for row in rows(town / file):
        walks.setdefault(row["trajectory"], []).append(places[row[column]])
    return walks


def moment(step: int) -> datetime:
    return datetime(2026, 5, 1, 6, tzinfo=timezone.utc) + step * timedelta(minutes=5)


def test_geojson_is_valid_and_has_the_walks(town: Path, places: dict[str, tuple[float, float]]) -> None:
    collection = json.loads((town / "map.geojson").read_text())
    assert collection["type"] == "FeatureCollection"
    assert collection["attribution"] == "© somebody"
    lines: dict[tuple[str, str], Any] = {}
    observed: dict[str, list[Any]] = {}
    for feature in collection["features"]:
        geometry, properties = shape(feature["geometry"]), feature["properties"]
        if properties["layer"] == "observed":
            assert geometry.geom_type == "Point"
            assert datetime.fromisoformat(properties["time"]) == moment(properties["step"])
            observed.setdefault(properties["trajectory"], []).append((geometry.x, geometry.y))
            continue
        lines[properties["layer"], properties["trajectory"]] = geometry
        if geometry.geom_type == "LineString":
            assert geometry.is_valid
            times = [datetime.fromisoformat(time) for time in properties["coordTimes"]]
            assert times == [moment(step) for step in range(STEPS)]
        else:
            assert geometry.geom_type == "Point"
    assert observed == expected(town, "observed", places)
    for layer in ("released", "real"):
        for walk, points in expected(town, layer, places).items():
            drawn = list(lines.pop((layer, walk)).coords)
            assert drawn == points or (len(drawn) == 1 and set(points) == set(drawn))
    assert not lines


def test_gpx_has_a_track_for_each_walk(town: Path, places: dict[str, tuple[float, float]]) -> None:
    gpx = gpxpy.parse((town / "map.gpx").read_text())
    assert gpx.version == "1.1"
    assert gpx.copyright_author == "© somebody"
    for layer in ("released", "real"):
        tracks = {track.name: track for track in gpx.tracks if track.type == layer}
        walks = expected(town, layer, places)
        assert tracks.keys() == walks.keys()
        for name, track in tracks.items():
            [segment] = track.segments
            assert [(point.longitude, point.latitude) for point in segment.points] == walks[str(name)]
            assert [point.time for point in segment.points] == [moment(step) for step in range(STEPS)]


def test_geoparquet_has_a_row_for_each_state(town: Path, places: dict[str, tuple[float, float]]) -> None:
    table = pq.read_table(town / "map.parquet")
    metadata = table.schema.metadata
    assert metadata[b"attribution"].decode() == "© somebody"
    geo = json.loads(metadata[b"geo"])
    assert geo["version"] == "1.1.0"
    column = geo["columns"][geo["primary_column"]]
    assert column["encoding"] == "WKB"
    assert column["geometry_types"] == ["Point"]
    points = shapely.from_wkb(table["geometry"].to_pylist())
    assert tuple(column["bbox"]) == shapely.MultiPoint(points).bounds
    found: dict[str, dict[str, list[Any]]] = {}
    for row, point in zip(table.drop_columns("geometry").to_pylist(), points, strict=True):
        walk = found.setdefault(row["layer"], {}).setdefault(row["trajectory"], [])
        assert row["step"] == len(walk)
        assert row["time"] == moment(row["step"])
        assert places[row["state"]] == (point.x, point.y)
        walk.append((point.x, point.y))
    assert found == {layer: expected(town, layer, places) for layer in ("released", "observed", "real")}


def test_maps_of_python_are_those_of_the_command(town: Path, places: dict[str, tuple[float, float]]) -> None:
    chain = vw.Chain.read(town / "grid.csv", places=town / "places.csv")
    walks: dict[str, dict[str, list[str]]] = {"real": {}, "released": {}, "observed": {}}
    for layer, file, column in (
        ("real", "walks.csv", "state"),
        ("released", "released.csv", "state"),
        ("observed", "released.csv", "observed"),
    ):
        for row in rows(town / file):
            walks[layer].setdefault(row["trajectory"], []).append(row[column])
    drawn = vw.map_walks(
        chain,
        walks["released"],
        observed=walks["observed"],
        real=walks["real"],
        every="5m",
        start="2026-05-01T06:00Z",
        attribution="© somebody",
    )

    def features(text: str) -> list[str]:
        return sorted(json.dumps(feature, sort_keys=True) for feature in json.loads(text)["features"])

    assert features(drawn.geojson()) == features((town / "map.geojson").read_text())
    assert drawn.real
    assert "Not protected" in drawn.html()
    assert "srcdoc=" in drawn._repr_html_()
    assert len(gpxpy.parse(drawn.gpx()).tracks) == 80
    public = vw.map_walks(chain, list(walks["released"].values()), visits={"r0c0": 1.0})
    assert not public.real
    assert "Not protected" not in public.html()
    public.save(town / "python.gpx")
    assert gpxpy.parse((town / "python.gpx").read_text()).tracks[0].name == "0"


def test_maps_that_cannot_be_drawn(town: Path) -> None:
    chain = vw.Chain.read(town / "grid.csv", places=town / "places.csv")
    with pytest.raises(vw.ParameterError, match="does not say where"):
        vw.map_walks(vw.Chain.credit(), [["Baa"]]).html()
    with pytest.raises(vw.WalkError, match='walk "0", step 1'):
        vw.map_walks(chain, [["r0c0", "nowhere"]]).html()
    with pytest.raises(vw.ParameterError, match="belong together"):
        vw.map_walks(chain, [["r0c0"]], every="1m")
    with pytest.raises(vw.ParameterError, match="nothing to draw"):
        vw.map_walks(chain)
    with pytest.raises(vw.ParameterError, match=r"\.html"):
        vw.map_walks(chain, [["r0c0"]]).save("map.png")
    with pytest.raises(vw.ParameterError, match="not a time"):
        vw.map_walks(chain, [["r0c0"]], every="1m", start="noon").html()
