"""Chains of maps, and positions matched to their streets: a town made up here, of three streets each way."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veilwalk as vw

BLOCK = 100.0
"""Metres from one crossing to the next."""
NORTH = math.degrees(BLOCK / 6_371_008.8)
EAST = NORTH / math.cos(math.radians(42.5))
ONE_WAY = 20
"""The middle street from west to east, which may only be driven that way."""
ROWS = {10: "Low Street", ONE_WAY: "Middle Street", 30: "High Street"}
COLUMNS = {1: "West Lane", 2: "Centre Lane", 3: "East Lane"}


def place(row: float, column: float) -> tuple[float, float]:
    """Latitude and longitude of what lies so many blocks from the south-western crossing."""
    return 42.5 + row * NORTH, 1.5 + column * EAST


def osm() -> str:
    nodes = [
        f'<node id="{10 * row + column}" lat="{place(row - 1, column - 1)[0]:.7f}" '
        f'lon="{place(row - 1, column - 1)[1]:.7f}"/>'
        for row in (1, 2, 3)
        for column in (1, 2, 3)
    ]

    def way(number: int, name: str, crossings: list[int]) -> str:
        points = "".join(f'<nd ref="{crossing}"/>' for crossing in crossings)
        one_way = '<tag k="oneway" v="yes"/>' if number == ONE_WAY else ""
        tags = f'<tag k="highway" v="residential"/><tag k="name" v="{name}"/>{one_way}'
        return f'<way id="{number}">{points}{tags}</way>'

    ways = [way(number, name, [number + column for column in (1, 2, 3)]) for number, name in ROWS.items()]
    ways += [way(number, name, [10 * row + number for row in (1, 2, 3)]) for number, name in COLUMNS.items()]
    return f'<?xml version="1.0"?><osm version="0.6">{"".join(nodes + ways)}</osm>'


TRIP = ["w10-11>12", "w2-12>22", "w20-22>23", "w3-23>33"]
"""East along the low street, north, east along the middle one, and north again."""


def positions() -> dict[str, list[Any]]:
    """A position every second of that trip at 10 m/s, a metre off to one side and to the other."""
    corners = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)]
    start = datetime(2024, 3, 1, 8, tzinfo=timezone.utc)
    columns: dict[str, list[Any]] = {"person": [], "time": [], "latitude": [], "longitude": []}
    for second in range(7, 44):
        block, share = divmod((second - 5) / 10, 1)
        (south, west), (north, east) = corners[int(block)], corners[int(block) + 1]
        off = 0.01 * (-1) ** second
        latitude, longitude = place(south + share * (north - south) + off, west + share * (east - west) + off)
        row = {"person": "ann", "time": start + timedelta(seconds=second)}
        for name, value in (row | {"latitude": latitude, "longitude": longitude}).items():
            columns[name].append(value)
    return columns


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("roads") / "town.osm"
    path.write_text(osm())
    return path


@pytest.fixture(scope="module")
def town(file: Path) -> vw.Chain:
    return vw.Chain.osm(file)


def test_states_are_streets_in_one_direction_each(town: vw.Chain) -> None:
    # Twelve blocks, of which the two of the middle street have one direction.
    assert len(town) == 2 * 10 + 2
    assert "w20-21>22" in town
    assert "w20-22>21" not in town
    assert set(town.row("w10-11>12")) == {"w10-12>13", "w2-12>22"}
    # Out of a corner there is one way on.
    assert town.row("w10-12>13") == {"w3-13>23": 1.0}
    assert town.lengths is not None
    assert town.coordinates is not None
    assert town.names is not None
    assert max(abs(length - BLOCK) for length in town.lengths) < 0.5
    where = town.coordinates[town.states.index("w10-11>12")]
    assert where == pytest.approx(place(0, 0.5), abs=1e-6)
    assert set(town.names) == {*ROWS.values(), *COLUMNS.values()}


def test_what_may_be_asked_for(file: Path, town: vw.Chain, tmp_path: Path) -> None:
    crossings = vw.Chain.osm(file, states="crossings")
    nodes = [10 * row + column for row in (1, 2, 3) for column in (1, 2, 3)]
    assert sorted(crossings.states) == sorted(f"n{node}" for node in nodes)
    assert "n21" not in crossings.row("n22")
    # Whoever walks need not heed one-way signs.
    assert "w20-22>21" in vw.Chain.osm(file, mode="foot")
    counts = tmp_path / "counts.csv"
    counts.write_text("from,to,count\nw10-11>12,w2-12>22,3\n")
    assert vw.Chain.osm(file, counts=counts).row("w10-11>12") == {"w10-12>13": 0.2, "w2-12>22": 0.8}
    ticks = vw.Chain.osm(file, every="20s", speed=36, away="away")
    # Two blocks in twenty seconds, one, none, or off the map.
    assert {"w3-13>23", "w10-12>13", "w10-11>12", "away"} <= set(ticks.row("w10-11>12"))
    packed = tmp_path / "town.osm.gz"
    packed.write_bytes(gzip.compress(osm().encode()))
    assert vw.Chain.osm(packed) == town
    path = tmp_path / "town.model"
    town.compile(path)
    assert vw.Chain.read(path) == town


def test_a_promise_in_metres_on_a_map(town: vw.Chain) -> None:
    m = vw.Mechanism("tight", town, epsilon=1, radius="200m")
    assert m.chain.metric == "street"
    assert m.chain.distance("w10-11>12", "w20-21>22", symmetric=True) == pytest.approx(2 * BLOCK, abs=1)
    # The one-way sign does not make the way back longer; both directions of a street are at one place.
    assert m.chain.distance("w1-11>21", "w1-21>11", symmetric=True) == 0
    assert m.loss("w10-11>12", "w20-21>22") <= 1


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_positions_become_streets(town: vw.Chain, kind: Callable[..., Any]) -> None:
    walks, summary = vw.prepare(kind(positions()), map=town, sigma=3)
    assert type(walks) is type(kind(positions()))
    table = pa.Table.from_pandas(walks) if isinstance(walks, pd.DataFrame) else pa.table(walks)
    assert table["state"].to_pylist() == TRIP
    assert set(table["person"].to_pylist()) == {"ann"}
    assert (summary["walks"], summary["off_the_map"]) == (1, 0)
    released = vw.Mechanism("tight", town, epsilon=4, radius="100m").privatize(walks)
    assert len(released) == len(TRIP)


def test_positions_on_a_clock(file: Path) -> None:
    ticks = vw.Chain.osm(file, every="10s", away="away")
    on_a_clock: dict[str, Any] = {
        "every": "10s",
        "window": "08:00-08:02",
        "timezone": "UTC",
        "away": "away",
        "gap": "15s",
    }
    walks, _ = vw.prepare(pl.DataFrame(positions()), map=ticks, sigma=3, **on_a_clock)
    # Nothing is heard of the first tick. After the last position the street is known for fifteen seconds.
    assert walks["state"].to_list() == ["away", *TRIP, TRIP[-1], *["away"] * 6]


def test_what_is_no_map(town: vw.Chain, tmp_path: Path) -> None:
    with pytest.raises(vw.ParameterError, match="mode"):
        vw.Chain.osm(tmp_path / "town.osm", mode="boat")
    with pytest.raises(vw.VeilwalkError, match=r"nowhere\.osm"):
        vw.Chain.osm(tmp_path / "nowhere.osm")
    half = tmp_path / "half.osm"
    half.write_text(osm()[:900])
    with pytest.raises(vw.ChainError, match=r"half\.osm.*cut short"):
        vw.Chain.osm(half)
    empty = tmp_path / "empty.osm"
    empty.write_text("<osm></osm>")
    with pytest.raises(vw.ChainError, match="no way that may be used"):
        vw.Chain.osm(empty)
    abroad = pd.DataFrame(positions()).assign(latitude=48.85, longitude=2.35)
    with pytest.raises(vw.VeilwalkError, match="give a map of that place"):
        vw.prepare(abroad, map=town)
    swapped = pd.DataFrame(positions()).rename(columns={"latitude": "longitude", "longitude": "latitude"})
    with pytest.raises(vw.VeilwalkError, match="swapped"):
        vw.prepare(swapped, map=town)
    with pytest.raises(vw.ParameterError, match="streets"):
        vw.prepare(pd.DataFrame(positions()), map=vw.Chain.credit())
    with pytest.raises(vw.ParameterError, match="cells and map"):
        vw.prepare(pd.DataFrame(positions()), map=town, cells="h3:9")
