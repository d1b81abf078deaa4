"""Releases whole walks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from veilwalk import _native
from veilwalk._native import ParameterError, WalkError
from veilwalk.exact import Exact
from veilwalk.files import Ledger
from veilwalk.how import name_text
from veilwalk.labels import State
from veilwalk.mechanism import Mechanism
from veilwalk.persons import tell_most
from veilwalk.session import Block
from veilwalk.source import new_release_id, source, warn_of_first
from veilwalk.spark.checks import check, check_types, checked_frame, refuse, refuse_skip, released_schema
from veilwalk.spark.workers import loader, walk_by_walk

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def _tell_persons(df: DataFrame, trajectory: str, person: str, mechanism: Mechanism) -> None:
    """Refuses walks without a person, or with two, and says what the promise comes to where somebody has
    several."""
    from pyspark.sql import functions as f

    pairs = df.select(f.col(trajectory).alias("walk"), f.col(person).alias("person")).distinct()
    missing = pairs.filter(f.col("person").isNull()).first()
    if missing is not None:
        raise WalkError(
            f"column {person!r}: a missing value for {missing['walk']!r}; every walk needs a person"
        )
    two = pairs.groupBy("walk").count().filter(f.col("count") > 1).first()
    if two is not None:
        raise WalkError(f"the walk {two['walk']!r} belongs to several persons; a walk has one person")
    walks = pairs.groupBy("person").count().agg(f.max("count").alias("most"), f.count("*").alias("persons"))
    found = walks.first()
    if found is not None:
        tell_most(found["most"] or 0, found["persons"], mechanism.epsilon)


def _owners(df: DataFrame, trajectory: str, person: str | None) -> dict[str, str]:
    """Every walk, and whose it is."""
    named = [trajectory] if person is None else [trajectory, person]
    rows = df.select(*named).distinct().toLocalIterator()
    return {name_text(row[0]): name_text(row[-1]) for row in rows}


def privatize(
    df: DataFrame,
    mechanism: Mechanism,
    *,
    key: bytes,
    release_id: str | None = None,
    model: str | os.PathLike[str] | None = None,
    trajectory: str = "trajectory",
    step: str = "step",
    state: str = "state",
    start: State | Literal["private", "initial", "first"] = "private",
    states: Literal["labels", "numbers"] = "labels",
    unknown_state: State | Literal["error"] = "error",
    block: Block | None = None,
    longest_walk: int | None = None,
    person: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
    budget: Exact | None = None,
    window: str | None = None,
    allow_vacuous: bool = False,
) -> DataFrame:
    """Releases the walks of a DataFrame: long, with one state a row, or with one walk a row in a column of
    arrays.

    Rows of a long DataFrame have no order of their own in Spark, so a column `step` (whole numbers or
    times) has to give it; a step that a trajectory has twice ends the job with an error. The result has the
    trajectory, the step and the released state; a column `observed` too under a mechanism that draws
    observations. It is the same however the rows are spread over
    partitions, and when a task is run again. A trajectory that has two rows with arrays ends the job with an
    error before either is released, in whatever partitions they are. With `block` steps are released in
    blocks, as by `Mechanism.privatize`. A state as `unknown_state` is taken instead of those that the chain
    does not have; none is left out, since steps that are missing would show it.

    Each call draws a release id, and its result is one release: Spark may compute it as often as it likes,
    and it comes out the same, as long as the walks do. If the data behind `df` changes, call `privatize`
    again: the old result on new walks would show where they differ. Another call is another release, and
    costs epsilon again. To repeat a release later, draw the id yourself
    (`release_id=veilwalk.new_release_id()`), keep it, and give it again with the same walks.

    `person` is a column that says whose walk each is. The promise is for one walk, and the losses of a
    person's walks add up: where somebody has several, a warning says what that comes to. With a `ledger` all
    walks are charged there by the driver before this returns, to their persons if there are any, and nothing
    is released if that would bring one of them above the `budget` (in a `window` such as "30d"). Both go
    through the walks once before the release; with a ledger the names of walks and persons come to the
    driver.

    `model` is the path of a compiled model (`mechanism.compile(path)`) that every worker can read; without
    it, one is compiled and sent to them.
    """
    from pyspark.sql import functions as f
    from pyspark.sql import types

    df = checked_frame(df)
    lists = state in df.columns and isinstance(df.schema[state].dataType, types.ArrayType)
    columns = [trajectory, state] if lists else [trajectory, step, state]
    check(df, columns if person is None else [*columns, person], key, release_id)
    check_types(df, trajectory, None if lists else step, state)
    refuse(mechanism, allow_vacuous)
    if ledger is None and budget is not None:
        raise ParameterError("budget: it is what a person may spend in a ledger; give ledger= too")
    length = mechanism._checked_block(block)
    # Drawn here, once: every task and every time the plan is run have the same.
    run = new_release_id() if release_id is None else release_id
    # What cannot be released in blocks is refused here and not in a task.
    asked = source(key, None, run)
    manner = _native.Manner(
        mechanism._native, asked, start, length, longest_walk, None, None, None, None, unknown_state
    )
    refuse_skip(manner)
    warn_of_first(start)
    load = loader(df, mechanism, model)
    if person is not None:
        _tell_persons(df, trajectory, person, mechanism)
    if ledger is not None:
        owners = _owners(df, trajectory, person)
        Ledger(ledger)._charge(
            mechanism,
            list(owners),
            None if person is None else owners,
            budget,
            window,
            release_id=run,
            start=start,
            block=length,
            longest_walk=longest_walk,
        )
    chosen = df.select(*columns)
    schema = released_schema(chosen, mechanism, state)

    def release(table: pa.Table) -> pa.Table:
        import warnings

        with warnings.catch_warnings():
            # The driver has been told.
            warnings.simplefilter("ignore")
            return load().privatize(
                table,
                trajectory=trajectory,
                step=step,
                state=state,
                key=key,
                release_id=run,
                start=start,
                states=states,
                unknown_state=unknown_state,
                block=block,
                longest_walk=longest_walk,
                allow_vacuous=True,
            )

    # All rows of a trajectory come to one task, one after another, so that it sees all of them before it
    # releases any. Two arrays of one trajectory are refused there, as is a step that stands twice.
    order = [trajectory] if lists else [trajectory, step]
    together = chosen.repartition(f.col(trajectory)).sortWithinPartitions(*order)
    return together.mapInArrow(walk_by_walk(trajectory, release), schema)
