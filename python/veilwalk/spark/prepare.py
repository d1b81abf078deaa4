"""Raw events to walks, where tables outgrow one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veilwalk._native import ParameterError
from veilwalk.prepare import prepare as on_one_machine
from veilwalk.spark.checks import check_columns, checked_frame
from veilwalk.spark.workers import walk_by_walk

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

MOST_STATES = 100_000
"""How many different states the events of one worker's persons may have, unless another number is given."""


def prepare(
    events: DataFrame,
    *,
    person: str = "person",
    time: str = "time",
    state: str = "state",
    cells: str | None = None,
    latitude: str = "latitude",
    longitude: str = "longitude",
    timezone: str | None = None,
    gap: str | None = None,
    every: str | None = None,
    window: str = "00:00-24:00",
    away: str | None = None,
    end: str | None = None,
    length: int | None = None,
    merge_stays: bool = False,
    max_states: int = MOST_STATES,
) -> DataFrame:
    """Makes walks of a DataFrame of events; `veilwalk.prepare` for tables that outgrow one machine, with the
    same arguments. All events of a person go to one worker, which puts them in order.

    Gives a DataFrame with the columns `trajectory`, `step`, `state` and `person`. It holds the real walks
    and is not protected. There is no summary: count what you need to know in the DataFrame. Every person has
    walks on the days on which an event was seen; days on which nobody was seen are known by nobody
    (`days="all"` is for one machine).
    """
    from pyspark.sql import functions as f

    events = checked_frame(events)
    names = [person, time, *([state] if cells is None else [latitude, longitude])]
    if len(set(names)) < len(names):
        listed = ", ".join(map(repr, names))
        raise ParameterError(f"every column can be asked for once, and these are {listed}")
    check_columns(events, names)
    settings: dict[str, Any] = {
        "person": person,
        "time": time,
        "state": state,
        "cells": cells,
        "latitude": latitude,
        "longitude": longitude,
        "timezone": timezone,
        "gap": gap,
        "every": every,
        "window": window,
        "away": away,
        "end": end,
        "length": length,
        "merge_stays": merge_stays,
        "max_states": max_states,
    }
    _check_here(settings, names)

    def made(table: pa.Table) -> pa.Table:
        return on_one_machine(table, **settings).walks.cast(_schema())

    chosen = events.select(*names)
    together = chosen.repartition(f.col(person)).sortWithinPartitions(person)
    schema = "trajectory string, step long, state string, person string"
    return together.mapInArrow(walk_by_walk(person, made), schema)


def _check_here(settings: dict[str, Any], names: list[str]) -> None:
    """What does not go together is refused here, and not in a task."""
    import pyarrow as pa

    one = {name: pa.array(["2000-01-01T00:00:00Z" if name == settings["time"] else "1"]) for name in names}
    if settings["cells"] is not None:
        for name in (settings["latitude"], settings["longitude"]):
            one[name] = pa.array([1.0])
    on_one_machine(pa.table(one), **settings)


def _schema() -> pa.Schema:
    import pyarrow as pa

    columns = [
        ("trajectory", pa.string()),
        ("step", pa.int64()),
        ("state", pa.string()),
        ("person", pa.string()),
    ]
    return pa.schema(columns)
