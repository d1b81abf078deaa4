"""Raw events of persons to walks."""

from __future__ import annotations

from typing import Any, NamedTuple

from veilwalk import _native
from veilwalk._native import ParameterError, WalkError
from veilwalk.chain import Chain
from veilwalk.tables import Arrow, Pandas, Polars, Tables, library_of


class Prepared(NamedTuple):
    """Walks, and what became of the events they were made of."""

    walks: Any
    """A table of the library that the events came in, with the columns `trajectory`, `step`, `state` and
    `person`: a row for each state. It holds the real walks and is not protected."""
    summary: dict[str, int]
    """How many events, walks, repeats and so on. The numbers come from the real events and are not
    protected."""


def prepare(
    events: Any,
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
    days: str = "seen",
    end: str | None = None,
    length: int | None = None,
    merge_stays: bool = False,
    max_states: int | None = None,
    map: Chain | None = None,  # noqa: A002
    sigma: float = 10.0,
) -> Prepared:
    """Makes walks of a table of events: who (`person`), when (`time`), and where or what (`state`).

    The table is one of pandas, Polars or pyarrow, in any order. Times are times, texts of ISO 8601, or
    seconds since 1970. With `cells="h3:9"` states are cells of H3 of the columns `latitude` and `longitude`,
    in degrees.

    With `every="5m"` events are put on a clock: one walk for each person and day, with a state for every tick
    within `window` ("06:00-22:00"), by the clock of `timezone`. The state of a tick is the last that is
    known; where nothing is known, or not for longer than `gap`, it is `away`. With `days="all"` everybody has
    a walk on every day. Then neither the times of events nor their number show in a release.

    Without it, a walk has a state for every event: `gap="30m"` splits walks where nothing was heard for
    longer, `merge_stays` leaves out events with the state of the one before them, and `end` with `length`
    gives all walks one length.

    With a `map`, a chain that `Chain.osm` made or a model of one, positions are matched to its streets: a
    walk has a state for every street that was passed, or with `every` the street at every tick. `sigma`
    says how far positions are off, in metres. Whoever is on no street is `away`; without it, the walk ends
    there.

    Release the walks with their `person`: the losses of all walks of a person add up.
    """
    library = library_of(events)
    if library is None or not hasattr(events, "columns"):
        raise WalkError(
            f"events come in a table of pandas, Polars or pyarrow, and this is {type(events).__name__}; for "
            "files there is the command `veilwalk prepare`"
        )
    if (end is None) != (length is None):
        raise ParameterError(
            "end and length belong together: the state that fills up walks, and their length"
        )
    if cells is not None and map is not None:
        raise ParameterError("cells and map are two ways to make states of positions; leave out one of them")
    if not 0.5 <= sigma <= 500:
        raise ParameterError("sigma: give metres between 0.5 and 500")
    if every is None and ((away is not None and map is None) or days != "seen" or window != "00:00-24:00"):
        raise ParameterError('window, away and days are those of a clock; give every=, such as every="5m"')
    if every is not None and (end is not None or merge_stays):
        raise ParameterError(
            "end, length and merge_stays are for walks without a clock; leave out one or other"
        )
    if every is not None and gap is not None and away is None:
        raise ParameterError(
            "gap: on a clock, what is known is forgotten after it; say what then is with away="
        )
    if length is not None and length < 1:
        raise ParameterError("length: a walk has at least one state; give a number from 1 up")
    names = [person, time, *((state,) if cells is None and map is None else (latitude, longitude))]
    if len(set(names)) < len(names):
        listed = ", ".join(repr(name) for name in names)
        raise ParameterError(f"every column can be asked for once, and these are {listed}")
    columns, summary = _native.prepare(
        [(name, _column(library, events, name)) for name in names],
        cells,
        gap,
        timezone,
        every,
        window,
        away,
        days,
        merge_stays,
        None if end is None or length is None else (end, length),
        max_states,
        None if map is None else map._native,
        sigma,
    )
    return Prepared(_table(library, columns), dict(summary))


def _column(library: type[Tables], events: Any, name: str) -> Any:
    present = library.columns(events)
    if present.count(name) != 1:
        listed = ", ".join(repr(column) for column in present)
        what = "is no column" if name not in present else "are two columns"
        raise WalkError(f"there {what} {name!r}; the columns are {listed}")
    return library.native(library.column(events, name), name)


def _table(library: type[Tables], columns: list[Any]) -> Any:
    names = ("trajectory", "step", "state", "person")
    if library is Polars:
        import polars as pl

        return pl.DataFrame([pl.Series(name, column) for name, column in zip(names, columns, strict=True)])
    import pyarrow as pa

    table = pa.table({name: pa.chunked_array(column) for name, column in zip(names, columns, strict=True)})
    if library is Pandas:
        return table.to_pandas()
    assert library is Arrow
    return table
