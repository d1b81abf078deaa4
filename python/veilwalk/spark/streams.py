"""Releases walks while they happen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from veilwalk import _native
from veilwalk._native import ParameterError, WalkError
from veilwalk.exact import path_text
from veilwalk.how import OBSERVED, name_text
from veilwalk.labels import State
from veilwalk.mechanism import Mechanism
from veilwalk.session import Block, Session
from veilwalk.source import new_release_id, source, warn_of_first
from veilwalk.spark.checks import check, check_types, checked_frame, refuse, refuse_skip, released_schema
from veilwalk.spark.workers import loader

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState

ID_FILE = "veilwalk-release-id"
"""The file in a checkpoint that has the release id of its query."""


def _id_of_stream(df: DataFrame, checkpoint: str | os.PathLike[str] | None, release_id: str | None) -> str:
    """The release id of a query: that of its checkpoint, or a new one that is kept there."""
    if checkpoint is None:
        if release_id is None:
            raise ParameterError(
                "checkpoint: give the folder that the query has as its checkpointLocation. Its release id is "
                "kept there, so that a query that is restarted is the same release; or keep one yourself and "
                "give release_id="
            )
        return release_id
    folder = path_text("checkpoint", checkpoint)
    try:
        spark: Any = df.sparkSession
        jvm: Any = spark._jvm
        path = jvm.org.apache.hadoop.fs.Path(folder, ID_FILE)
        files = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    except Exception as error:
        raise ParameterError(
            f"checkpoint: {folder!r} cannot be reached from this session ({error}); give release_id=, and "
            "keep it as long as the checkpoint"
        ) from error
    if not files.exists(path):
        parts = (jvm.org.apache.hadoop.fs.Path(folder, part) for part in ("offsets", "commits"))
        if release_id is None and any(files.exists(part) for part in parts):
            raise ParameterError(
                f"checkpoint: {folder!r} has batches of a query and no {ID_FILE}, so its release id is not "
                "known; give release_id= if you have it, or start anew with another checkpoint"
            )
        # Whoever comes second finds the file there, and takes the id of the first.
        try:
            out = files.create(path, False)
            try:
                out.write(bytearray((release_id or new_release_id()).lower().encode() + b"\n"))
            finally:
                out.close()
        except Exception as error:
            if not files.exists(path):
                raise ParameterError(f"checkpoint: {path.toString()} cannot be written ({error})") from error
    # What is read back is what every restart will read.
    stream = files.open(path)
    try:
        text = str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    finally:
        stream.close()
    kept = text.strip()
    if len(kept) != 32 or not text.endswith("\n"):
        raise ParameterError(
            f"checkpoint: {path.toString()} has no release id in it; it was cut while it was written, before "
            "anything was released under it. If the query never ran, delete the file"
        )
    if release_id is not None and kept != release_id.lower():
        raise ParameterError(
            f"release_id: {release_id!r}, and the checkpoint {folder!r} belongs to release {kept!r}; leave "
            "release_id out to go on with it, or give a new checkpoint for a new release"
        )
    return kept


def _position(step: Any) -> int:
    """A step as a number that can be compared and stored: a time is its nanoseconds or its day."""
    if hasattr(step, "value"):
        return int(step.value)
    return int(step.toordinal() if hasattr(step, "toordinal") else step)


def stream(
    df: DataFrame,
    mechanism: Mechanism,
    *,
    key: bytes,
    checkpoint: str | os.PathLike[str] | None = None,
    release_id: str | None = None,
    model: str | os.PathLike[str] | None = None,
    trajectory: str = "trajectory",
    step: str = "step",
    state: str = "state",
    start: State | Literal["private", "initial", "first"] = "private",
    states: Literal["labels", "numbers"] = "labels",
    unknown_state: State | Literal["error"] = "error",
    disorder: Literal["error", "drop"] = "error",
    block: Block | None = None,
    allow_vacuous: bool = False,
) -> DataFrame:
    """Releases the walks of a streaming DataFrame while they happen.

    `checkpoint` is the folder that the query has as its `checkpointLocation`. The release id is kept there,
    in a file of its own (`veilwalk-release-id`), through Spark's own file systems. A query that is restarted
    from its checkpoint so is the same release, and a query without it is a new one. Instead, `release_id` can
    be given; keep it as safe as the checkpoint, and never use it with another one. If both are given, the
    checkpoint has to have this id or none yet.

    Where each walk stands (what was released last and how many steps, the release id, what anybody can infer
    from observations, a keyed digest of the real states, nothing else of the real walk) is in Spark's state
    store, so a query that is restarted from its checkpoint goes on where it stopped, and a micro-batch that
    is run again releases the same states again. For that its source has to give the same rows again, as files
    and Kafka do.

    Rows of one trajectory are released in the order of `step`, which has to ascend. A row that comes
    after a later one, or a second time, ends the query with an error that names it; with
    `disorder="drop"` it is left out. A state as `unknown_state` is taken instead of those that the chain does
    not have.

    A stream is released one state at a time. In blocks, real states would wait in Spark's state store, and
    so in its checkpoint on disk, and nothing says when a walk is over: `block` is refused, and so is a
    mechanism with a lag. Under a mechanism that draws observations the stream has a column `observed` too.
    """
    from pyspark.sql import types

    df = checked_frame(df)
    check(df, [trajectory, step, state], key, release_id)
    check_types(df, trajectory, step, state)
    if isinstance(df.schema[state].dataType, types.ArrayType):
        raise WalkError(f"column {state!r}: a stream has one state a row, not a whole walk")
    if disorder not in ("error", "drop"):
        raise ParameterError(f'disorder={disorder!r}: give "error" or "drop"')
    if block is not None:
        raise ParameterError(
            "block: a stream is released one state at a time. In blocks, real states would have to wait in "
            "Spark's state store, and so in its checkpoint on disk, and nothing would say when a walk is "
            "over; release whole walks with privatize(block=...), or leave block out"
        )
    refuse(mechanism, allow_vacuous)
    if mechanism.lag:
        raise ParameterError(
            f"lag: an answer would come {mechanism.lag} steps later, and nothing says when a walk "
            "is over, so its last states would never be answered; release whole walks with privatize(), or "
            "make the mechanism without a lag"
        )
    chosen = df.select(trajectory, step, state)
    schema = released_schema(chosen, mechanism, state)
    warn_of_first(start)
    load = loader(df, mechanism, model)
    run = _id_of_stream(df, checkpoint, release_id)
    asked = source(key, None, run)
    manner = _native.Manner(
        mechanism._native, asked, start, None, None, None, None, None, None, unknown_state
    )
    refuse_skip(manner)
    # The function that goes to the workers holds no mechanism: they make their own.
    mechanism_observes = mechanism.observes
    walk_state = types.StructType(
        [
            types.StructField("session", types.BinaryType()),
            types.StructField("step", types.LongType()),
        ]
    )

    def release(
        group: tuple[Any, ...], frames: Iterable[pd.DataFrame], stored: GroupState
    ) -> Iterator[pd.DataFrame]:
        import warnings

        import pandas as pd

        rows = pd.concat(list(frames), ignore_index=True)
        if rows[[step, state]].isna().to_numpy().any() or group[0] is None:
            raise WalkError(f"trajectory {group[0]!r}: a missing value; every row needs all three")
        rows = rows.sort_values(step, kind="stable", ignore_index=True)
        name = name_text(group[0])
        saved, last = stored.get if stored.exists else (None, None)
        kept = []
        for place, now in enumerate(rows[step]):
            position = _position(now)
            if last is None or position > last:
                kept.append(place)
                last = position
            elif disorder == "error":
                raise WalkError(
                    f"trajectory {name!r}: step {now} comes after a later one, or a second time; steps "
                    'have to ascend. Leave such rows out with disorder="drop"'
                )
        if not kept:
            return
        rows = rows.iloc[kept]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = Session(
                load(),
                name=name,
                key=key,
                release_id=run,
                start=start,
                states=states,
                unknown_state=unknown_state,
                allow_vacuous=True,
                _saved=None if saved is None else bytes(saved),
            )
        released, observed = [], []
        for real in rows[state]:
            released.append(session.step(real) if session.released else session.start(real))
            observed += session.observed
        stored.update((session.to_bytes(), last))
        columns = {trajectory: rows[trajectory], step: rows[step], state: released}
        if mechanism_observes:
            columns[OBSERVED] = observed
        yield pd.DataFrame(columns)

    return chosen.groupBy(trajectory).applyInPandasWithState(
        release, schema, walk_state, "append", "NoTimeout"
    )
