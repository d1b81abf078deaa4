"""Raw events in tables of every kind to walks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veilwalk as vw

BERLIN = ZoneInfo("Europe/Berlin")
# Out of order, with one event twice.
EVENTS: list[tuple[int, datetime, str]] = [
    (2, datetime(2024, 3, 1, 9, tzinfo=timezone.utc), "office"),
    (1, datetime(2024, 3, 1, 10, tzinfo=BERLIN), "office"),
    (1, datetime(2024, 3, 1, 8, tzinfo=timezone.utc), "home"),
    (2, datetime(2024, 3, 1, 9, tzinfo=timezone.utc), "office"),
    (1, datetime(2024, 3, 1, 12, tzinfo=timezone.utc), "home"),
]
WALKS = [("2", 0, "office", "2"), ("1", 0, "home", "1"), ("1", 1, "office", "1"), ("1", 2, "home", "1")]
COLUMNS: dict[str, list[Any]] = {
    "person": [event[0] for event in EVENTS],
    "time": [event[1].astimezone(timezone.utc) for event in EVENTS],
    "state": [event[2] for event in EVENTS],
}
SECONDS = [event[1].timestamp() for event in EVENTS]
TEXTS = [event[1].isoformat() for event in EVENTS]

TABLES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas, a zone by name": lambda: pd.DataFrame(COLUMNS).assign(
        time=lambda frame: frame["time"].dt.tz_convert("America/New_York")
    ),
    "pandas, texts and categories": lambda: pd.DataFrame(COLUMNS | {"time": TEXTS}).astype(
        {"state": "category", "person": str}
    ),
    "pandas, seconds": lambda: pd.DataFrame(COLUMNS | {"time": SECONDS}),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars, a zone by name": lambda: pl.DataFrame(COLUMNS).with_columns(
        pl.col("time").dt.convert_time_zone("Asia/Tokyo"), pl.col("state").cast(pl.Categorical)
    ),
    "polars, nanoseconds": lambda: pl.DataFrame(COLUMNS).with_columns(pl.col("time").dt.cast_time_unit("ns")),
    "pyarrow": lambda: pa.table(COLUMNS),
    "pyarrow, in pieces": lambda: pa.concat_tables(
        [pa.table(COLUMNS).slice(0, 2), pa.table(COLUMNS).slice(2)]
    ),
    "pyarrow, texts": lambda: pa.table(COLUMNS | {"time": TEXTS}),
}


def rows(walks: Any) -> list[tuple[Any, ...]]:
    table = pa.Table.from_pandas(walks) if isinstance(walks, pd.DataFrame) else pa.table(walks)
    assert table.column_names[:4] == ["trajectory", "step", "state", "person"]
    return [tuple(row.values())[:4] for row in table.to_pylist()]


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_kind(kind: str) -> None:
    events = TABLES[kind]()
    walks, summary = vw.prepare(events)
    assert type(walks) is type(events)
    assert rows(walks) == WALKS
    assert (summary["events"], summary["repeats"], summary["walks"], summary["rows"]) == (5, 1, 2, 4)


@pytest.mark.parametrize("time_zone", ["UTC", "Europe/Berlin"])
def test_a_clock_has_as_many_ticks_on_every_day(time_zone: str) -> None:
    """An independent clock: every tick of every day asks every event."""
    zone = ZoneInfo(time_zone)
    first = datetime(2024, 3, 30, 5, 17, tzinfo=zone)
    events = [(first + timedelta(minutes=67 * number), f"s{number % 5}") for number in range(48)]
    table = pl.DataFrame(
        {"person": "ann", "time": [e[0].isoformat() for e in events], "state": [e[1] for e in events]}
    )
    walks, summary = vw.prepare(
        table, every="30m", window="00:00-24:00", timezone=time_zone, away="out", gap="1h"
    )
    expected = []
    for day in (30, 31, 1):
        begins = datetime(2024, 3 if day > 1 else 4, day, tzinfo=zone)
        midnight, next_midnight = begins.timestamp(), (begins + timedelta(days=1)).timestamp()
        for tick in range(48):
            moment = midnight + 1800 * tick
            known = [state for time, state in events if 0 <= moment - time.timestamp() <= 3600]
            name = f"ann/2024-{3 if day > 1 else 4:02}-{day:02}"
            # On a day of 23 hours the last ticks lie in the next day, whose walk tells of them.
            here = known and moment < next_midnight
            expected.append((name, tick, known[-1] if here else "out", "ann"))
    assert rows(walks) == expected[: len(walks)]
    assert summary["walks"] == len({row[0] for row in rows(walks)}) >= 2
    assert summary["ticks_away"] == sum(row[2] == "out" for row in rows(walks))


def test_walks_without_a_clock() -> None:
    events = pa.table({"who": ["a"] * 5, "at": [0, 1, 2, 5000, 5001], "where": ["x", "x", "y", "z", "z"]})
    columns = {"person": "who", "time": "at", "state": "where"}
    walks, summary = vw.prepare(events, **columns, gap="1h", merge_stays=True, end="end", length=2)  # type: ignore[arg-type]
    assert rows(walks) == [
        ("a/1", 0, "x", "a"),
        ("a/1", 1, "y", "a"),
        ("a/2", 0, "z", "a"),
        ("a/2", 1, "end", "a"),
    ]
    assert summary["stays_merged"] == 2


def test_positions_become_cells() -> None:
    events = pd.DataFrame(
        {"person": ["a", "a"], "time": [1, 2], "latitude": [37.7759, 48.8584], "lng": [-122.418, 2.2945]}
    )
    walks, _ = vw.prepare(events, cells="h3:5", longitude="lng")
    assert walks["state"].tolist() == ["85283083fffffff", "851fb467fffffff"]


def test_what_was_prepared_is_released() -> None:
    credit = vw.Chain.credit()
    labels = list(credit.states)[:3]
    events = pl.DataFrame({"person": ["a", "a", "b"], "time": [1, 2, 1], "state": labels})
    walks, _ = vw.prepare(events)
    released = vw.Mechanism("sharp", credit, epsilon=1, radius=3.5).privatize(walks)
    assert released.height == walks.height


def test_files_of_columns_have_zones_by_name(tmp_path: Path) -> None:
    """Times of pandas and Polars keep the name of their zone in Parquet."""
    pq.write_table(pa.table(COLUMNS), tmp_path / "events.parquet")
    assert rows(vw.prepare(pq.read_table(tmp_path / "events.parquet")).walks) == WALKS


@pytest.mark.parametrize(
    ("columns", "arguments", "words"),
    [
        ({"time": ["noon"] * 5}, {}, "row 0: .noon. is not a time"),
        ({"time": [*TEXTS[:4], "2024-03-01 08:00"]}, {}, "row 4: .*without a zone"),
        ({"time": [*TEXTS[:4], None]}, {}, "column .time., row 4: a missing value"),
        ({"state": ["a", "", "b", "c", "d"]}, {}, "column .state., row 1: a missing value"),
        ({}, {"state": "mood"}, "no column 'mood'; the columns are 'person'"),
        ({}, {"person": "state"}, "can be asked for once"),
        ({}, {"every": "1h"}, "row 0: .*timezone="),
        ({}, {"every": "7m", "timezone": "UTC"}, "every: .*whole number of ticks"),
        ({}, {"every": "1h", "timezone": "Mars"}, "timezone: .*not a time zone"),
        ({}, {"every": "1h", "gap": "2h"}, "gap: .*away="),
        ({}, {"every": "1h", "end": "x", "length": 2}, "without a clock"),
        ({}, {"away": "x"}, "give every="),
        ({}, {"end": "x"}, "belong together"),
        ({}, {"gap": "soon"}, "gap: .*not a span of time"),
        ({}, {"end": "home", "length": 3}, "row 2: .home. is a state of an event"),
        ({}, {"max_states": 1}, "row 2: .*max_states="),
        (
            {"latitude": [121.0] * 5, "longitude": [31.0] * 5},
            {"cells": "h3:9"},
            "swap latitude= and longitude=",
        ),
        ({}, {"cells": "h3:9"}, "no column 'latitude'"),
        ({"latitude": [1.0] * 5, "longitude": [1.0] * 5}, {"cells": "s2:3"}, "cells: .*h3:9"),
    ],
)
def test_what_is_refused(columns: dict[str, list[Any]], arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(vw.VeilwalkError, match=words):
        vw.prepare(pa.table(COLUMNS | columns), **arguments)


def test_only_tables() -> None:
    with pytest.raises(vw.WalkError, match="command `veilwalk prepare`"):
        vw.prepare([("ann", 1, "home")])
