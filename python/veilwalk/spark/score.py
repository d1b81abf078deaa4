"""Whether a release is worth anything, where it outgrows one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veilwalk.chain import Chain
from veilwalk.exact import whole_number
from veilwalk.labels import State
from veilwalk.mechanism import Mechanism
from veilwalk.score import Score
from veilwalk.score import score as on_one_machine
from veilwalk.spark.checks import check_columns, check_types, checked_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def score(
    real: DataFrame,
    release: DataFrame,
    chain: Chain,
    *,
    walks: int = 100_000,
    refined: DataFrame | None = None,
    estimate: Any = None,
    mechanism: Mechanism | None = None,
    unknown_state: State = "error",
    repetitions: int = 20,
    seed: int = 1,
    trajectory: str = "trajectory",
    step: str = "step",
    state: str = "state",
) -> Score:
    """Compares a release with the real walks, as `veilwalk.score` does, in long DataFrames that outgrow one
    machine. It reads the real walks, so its figures are NOT protected.

    All figures are shares and averages over walks, so a part of the walks tells them: of so many `walks`,
    drawn by their names and the `seed`, the real ones and those released in their place come to the driver,
    and the figures are those of these. Where there are no more walks than that, they are those of all. How
    much chance does is told beside each figure, and the choice of the walks is in it. `estimate` is what
    `Mechanism.estimate` or `spark.estimate` gave (a DataFrame), from the whole release.
    """
    from pyspark.sql import functions as f

    walks = whole_number("walks", walks, 1)
    seed = whole_number("seed", seed, 0)
    given = {"release": release} if refined is None else {"release": release, "refined": refined}
    real = checked_frame(real)
    for frame in (real, *given.values()):
        check_columns(checked_frame(frame), [trajectory, step, state])
        check_types(frame, trajectory, step, state)
    order = f.xxhash64(f.lit(seed), f.col(trajectory).cast("string"))
    chosen = real.select(trajectory).distinct().orderBy(order, trajectory).limit(walks)
    chosen = chosen.persist()

    def brought(frame: DataFrame) -> dict[Any, list[Any]]:
        mine = frame.join(f.broadcast(chosen), trajectory, "left_semi").select(trajectory, step, state)
        walk = f.sort_array(f.collect_list(f.struct(step, state))).alias("walk")
        rows = mine.groupBy(trajectory).agg(walk).toLocalIterator()
        return {row[trajectory]: [place[1] for place in row["walk"]] for row in rows}

    try:
        here = brought(real)
        made = {name: brought(frame) for name, frame in given.items()}
    finally:
        chosen.unpersist()
    if hasattr(estimate, "toLocalIterator"):
        estimate = [row.asDict() for row in estimate.toLocalIterator()]
    return on_one_machine(
        here,
        made["release"],
        chain,
        refined=made.get("refined"),
        estimate=estimate,
        mechanism=mechanism,
        unknown_state=unknown_state,
        repetitions=repetitions,
        seed=seed,
    )
