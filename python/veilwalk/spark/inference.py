"""Learns from releases: the walks behind them, and what the crowd did."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from veilwalk import _native
from veilwalk._native import ParameterError
from veilwalk.chain import Chain
from veilwalk.exact import whole_number
from veilwalk.how import OBSERVED
from veilwalk.inference import columns_of, tell, tell_unsettled
from veilwalk.labels import State
from veilwalk.mechanism import Mechanism
from veilwalk.spark.checks import check_columns, check_types, checked_frame
from veilwalk.spark.climbing import Climbed, Law, climbed_together
from veilwalk.spark.workers import loader, walk_by_walk
from veilwalk.walks import collect

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import DataFrame


def _released(df: DataFrame, mechanism: Mechanism, trajectory: str, step: str, state: str) -> DataFrame:
    """The columns of a release that inference looks at."""
    df = checked_frame(df)
    if not isinstance(mechanism, Mechanism):
        kind = type(mechanism).__name__
        raise ParameterError(f"mechanism: a value of type {kind}; give a veilwalk.Mechanism")
    columns = [trajectory, step, state, *([OBSERVED] if mechanism.observes else [])]
    check_columns(df, columns)
    check_types(df, trajectory, step, state)
    return df.select(*columns)


def refine(
    df: DataFrame,
    mechanism: Mechanism,
    *,
    aim: Literal["distance", "states"] = "distance",
    lag: int | None = None,
    start: State | Literal["private", "initial", "first"] = "private",
    model: str | os.PathLike[str] | None = None,
    trajectory: str = "trajectory",
    step: str = "step",
    state: str = "state",
) -> DataFrame:
    """The feasible walks that are expected to be nearest to the real ones, given the release in a long
    DataFrame; `Mechanism.refine` for releases that outgrow one machine. It looks at the release alone, and so
    costs nothing.

    Takes what `privatize` gives, with the column `observed` if the mechanism draws observations. The result
    has the columns `trajectory`, `step` (from zero), `state`, `released` and `confidence`, the probability
    that the state is the real one.
    """
    from pyspark.sql import functions as f
    from pyspark.sql import types

    chosen = _released(df, mechanism, trajectory, step, state)
    load = loader(df, mechanism, model)
    label = chosen.schema[state].dataType
    schema = types.StructType(
        [
            types.StructField("trajectory", chosen.schema[trajectory].dataType),
            types.StructField("step", types.LongType()),
            types.StructField("state", label),
            types.StructField("released", label),
            types.StructField("confidence", types.DoubleType()),
        ]
    )

    def refined(table: pa.Table) -> pa.Table:
        import pyarrow as pa

        found = load().refine(
            table,
            aim=aim,
            lag=lag,
            start=start,
            trajectory=trajectory,
            step=step,
            state=state,
            threads=1,
        )
        of_state = table.schema.field(state).type
        wanted = [table.schema.field(trajectory).type, pa.int64(), of_state, of_state, pa.float64()]
        return found.cast(pa.schema(list(zip(found.column_names, wanted, strict=True))))

    together = chosen.repartition(f.col(trajectory)).sortWithinPartitions(trajectory, step)
    return together.mapInArrow(walk_by_walk(trajectory, refined), schema)


def estimate(
    df: DataFrame,
    mechanism: Mechanism,
    *,
    what: Literal["visits", "moves", "od", "chain"] = "visits",
    interval: float | None = None,
    replicates: int = 100,
    strength: float = 1,
    seed: int = 1,
    start: State | Literal["private", "initial", "first"] = "private",
    model: str | os.PathLike[str] | None = None,
    trajectory: str = "trajectory",
    step: str = "step",
    state: str = "state",
) -> DataFrame | Chain:
    """What the crowd did, learned from the release in a long DataFrame; `Mechanism.estimate` for releases
    that outgrow one machine. It looks at the release alone, and so costs nothing.

    The workers find the expected moves of their walks, the driver adds them up and finds the next law: a job
    of Spark for each round, of which there may be some dozens. The release is kept in memory, or on disk
    where it does not fit, while that goes on. Gives a DataFrame with `state` (or `from` and `to`, or
    `origin` and `destination`) and `share`, or the chain.

    With an `interval` such as 0.95 there are columns `low` and `high`. The estimate is made again
    `replicates` times, with walks that count as often as a Poisson law of mean one says (by the walk's name
    and the `seed`): what drawing walks with replacement comes to where they are spread over machines. All
    replicates go through the walks together, so there are few more jobs, but each takes as long as all
    replicates together.
    """
    import numpy as np
    from pyspark import StorageLevel
    from pyspark.sql import functions as f

    if what not in ("visits", "moves", "od", "chain"):
        raise ParameterError(f"what: {what!r}; give 'visits', 'moves', 'od' or 'chain'")
    if interval is not None and (what == "chain" or not 0 < interval < 1):
        raise ParameterError("interval: give a number between zero and one, or None; a chain has none")
    replicates = whole_number("replicates", replicates, 10)
    seed = whole_number("seed", seed, 0)
    chosen = _released(df, mechanism, trajectory, step, state)
    load = loader(df, mechanism, model)
    drawn = OBSERVED if mechanism.observes else state
    together = chosen.repartition(f.col(trajectory)).sortWithinPartitions(trajectory, step)
    together = together.persist(StorageLevel.MEMORY_AND_DISK)

    def walks_of(table: pa.Table) -> tuple[Mechanism, list[list[object]], list[object]]:
        names = list(dict.fromkeys(table.column(trajectory).to_pylist()))
        return load(), collect(table, trajectory, step, drawn), names

    def counts_under(laws: list[Law], numbers: list[int] | None) -> list[list[float]]:
        """The expected counts of all walks under each of these laws; those of replicates with their
        weights."""

        def counts(table: pa.Table) -> pa.Table:
            import pyarrow as pa

            made, walks, names = walks_of(table)
            weights = None if numbers is None else _weights(names, seed, replicates, numbers)
            found = _native.expected_counts(made.chain._native, made._native, start, walks, laws, weights)
            rows = [one.tolist() for one in found]
            return pa.table(
                {
                    "law": pa.array(range(len(rows)), pa.int64()),
                    "numbers": pa.array(rows, pa.list_(pa.float64())),
                }
            )

        schema = "law long, numbers array<double>"
        sums: dict[int, npt.NDArray[np.float64]] = {}
        for row in together.mapInArrow(walk_by_walk(trajectory, counts), schema).toLocalIterator():
            sums[row["law"]] = sums.get(row["law"], 0) + np.asarray(row["numbers"])
        return [sums[law].tolist() if law in sums else [] for law in range(len(laws))]

    def trips_under(laws: list[Law], numbers: list[int] | None) -> list[dict[tuple[int, int], float]]:
        """The expected numbers of walks between first and last states, in the same way."""

        def trips(table: pa.Table) -> pa.Table:
            import pyarrow as pa

            made, walks, names = walks_of(table)
            weights = None if numbers is None else _weights(names, seed, replicates, numbers)
            found = _native.expected_trips(made.chain._native, made._native, start, walks, laws, weights)
            listed = [
                (law, *ends) for law, columns in enumerate(found) for ends in zip(*columns, strict=True)
            ]
            columns = list(zip(*listed, strict=True)) or [(), (), (), ()]
            types = (pa.int64(), pa.int64(), pa.int64(), pa.float64())
            names_of = ("law", "first", "last", "walks")
            arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
            return pa.table(dict(zip(names_of, arrays, strict=True)))

        schema = "law long, first long, last long, walks double"
        parts = together.mapInArrow(walk_by_walk(trajectory, trips), schema)
        sums: list[dict[tuple[int, int], float]] = [{} for _ in laws]
        for row in parts.groupBy("law", "first", "last").agg(f.sum("walks").alias("walks")).toLocalIterator():
            sums[row["law"]][row["first"], row["last"]] = row["walks"]
        return sums

    native, made = mechanism.chain._native, mechanism._native

    def climb(begin: Law | None, expect: Callable[[list[float], list[float]], list[float]]) -> Climbed:
        return _native.estimate_by(native, made, start, what, float(strength), begin, expect)

    try:
        found = climb(None, lambda *law: counts_under([law], None)[0])
        chain, (first, second, share, _), law, counts, quality = found
        again: list[Climbed] = []
        if interval is not None:
            again = climbed_together(
                replicates, lambda expect: climb(law, expect), lambda laws, which: counts_under(laws, which)
            )
        if what == "od":
            trips = trips_under([law], None)[0]
            of_replicates = trips_under([one[2] for one in again], list(range(len(again)))) if again else []
    finally:
        together.unpersist()
    converged, dropped, surprises = quality
    tell(dropped, surprises)
    tell_unsettled(converged)
    if chain is not None:
        return Chain._of(chain)
    if what == "od":
        ends = sorted(trips)
        counts = [trips[pair] for pair in ends]
        total = sum(counts)
        share = [count / total for count in counts]
        first, second = [pair[0] for pair in ends], [pair[1] for pair in ends]
        counted = [[one.get(pair, 0.0) for pair in ends] for one in of_replicates]
    else:
        counted = [one[3] for one in again]
    columns = columns_of(what, mechanism._native.labels, (first, second), share)
    if interval is not None:
        columns["low"], columns["high"] = _native.intervals_of(counts, counted, float(interval))
    rows = list(zip(*columns.values(), strict=True))
    if what == "od":
        # As on one machine: there may be a square of the states of them.
        rows = [row for row in rows if row[2] >= LEAST_TRIP]
    return df.sparkSession.createDataFrame(rows, list(columns))


LEAST_TRIP = 1e-6
"""What less than one walk in a million does is left out."""


def _weights(names: list[object], seed: int, replicates: int, which: list[int]) -> list[list[int]]:
    """How often each walk counts in these replicates: the same wherever and whenever it is asked."""
    import numpy as np

    drawn = []
    for name in names:
        digest = hashlib.blake2b(f"{seed} {name}".encode(), digest_size=16).digest()
        source = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))
        drawn.append(source.poisson(1.0, replicates))
    return [[int(walk[replicate]) for walk in drawn] for replicate in which]
