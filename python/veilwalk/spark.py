"""Apache Spark: for walks that outgrow one machine, and for streams.

`privatize` releases whole walks of a DataFrame, `stream` releases walks while they happen. Both need a
secret key: engines run tasks again, and with fresh randomness a task that is run again would be a second
release. Derived from the key, the walk's name, the step and the real state, it is the same release.

The mechanism is sent to the workers as bytes (or read there from a file that holds them), made once in
each worker process and kept. Workers need the same version of veilwalk.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from veilwalk._native import ParameterError, WalkError
from veilwalk.chain import State
from veilwalk.mechanism import Mechanism
from veilwalk.session import Session
from veilwalk.source import source, warn_of_first
from veilwalk.walks import name_text

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState

Model: TypeAlias = Mechanism | bytes | str | os.PathLike[str]
"""A mechanism, its bytes, or the path of a file with them that every worker can read."""

_MODELS: dict[str, Mechanism] = {}


def _load(data: bytes) -> Mechanism:
    """The mechanism, made once in each process."""
    name = hashlib.sha256(data).hexdigest()
    if name not in _MODELS:
        _MODELS[name] = Mechanism.from_bytes(data)
    return _MODELS[name]


_FILES: dict[str, bytes] = {}


def _read(path: str) -> bytes:
    if path not in _FILES:
        _FILES[path] = Path(path).read_bytes()
    return _FILES[path]


def _loader(df: DataFrame, model: Model) -> Callable[[], Mechanism]:
    """How a worker comes by the mechanism."""
    if isinstance(model, str | os.PathLike):
        path = os.fspath(model)
        expected = hashlib.sha256(Path(path).read_bytes()).hexdigest()

        def from_file() -> Mechanism:
            data = _read(path)
            if hashlib.sha256(data).hexdigest() != expected:
                raise ParameterError(f"{path}: the file on this worker is not the driver's")
            return _load(data)

        return from_file
    data = model.to_bytes() if isinstance(model, Mechanism) else bytes(model)
    try:
        shared = df.sparkSession.sparkContext.broadcast(data)
    except Exception:
        # Spark Connect has no broadcasts: the bytes go along with the function.
        return lambda: _load(data)
    return lambda: _load(shared.value)


def _check(df: DataFrame, columns: Iterable[str], key: object) -> None:
    missing = [name for name in columns if name not in df.columns]
    if missing:
        listed = ", ".join(repr(name) for name in df.columns)
        raise WalkError(f"there is no column {missing[0]!r}; the columns are {listed}")
    if not isinstance(key, bytes):
        raise ParameterError(
            "key: give secret bytes, such as secrets.token_bytes(32), and keep them. Spark runs tasks "
            "again, and without a key a task that is run again would be a second release"
        )
    source(key, None)


def _here(model: Model) -> Mechanism:
    if isinstance(model, Mechanism):
        return model
    return _load(Path(model).read_bytes() if isinstance(model, str | os.PathLike) else bytes(model))


def _check_types(df: DataFrame, trajectory: str, step: str | None, state: str) -> None:
    from pyspark.sql import types

    named = {field.name: field.dataType for field in df.schema.fields}
    whole = (types.ByteType, types.ShortType, types.IntegerType, types.LongType)
    for name in (trajectory, state):
        kind = named[name]
        if name == state and isinstance(kind, types.ArrayType):
            kind = kind.elementType
        if not isinstance(kind, (types.StringType, *whole)):
            raise WalkError(
                f"column {name!r}: the type is {kind.simpleString()}; give texts or whole numbers"
            )
    if step is not None:
        times = (types.TimestampType, types.TimestampNTZType, types.DateType)
        if not isinstance(named[step], whole + times):
            raise WalkError(
                f"column {step!r}: the type is {named[step].simpleString()}; a step is a whole number "
                "or a time"
            )


def _position(step: Any) -> int:
    """A step as a number that can be compared and stored: a time is its nanoseconds or its day."""
    if hasattr(step, "value"):
        return int(step.value)
    return int(step.toordinal() if hasattr(step, "toordinal") else step)


def privatize(
    df: DataFrame,
    model: Model,
    *,
    key: bytes,
    trajectory: str = "trajectory",
    step: str = "step",
    state: str = "state",
    start: State | Literal["initial", "first"] = "initial",
    states: Literal["labels", "numbers"] = "labels",
    allow_vacuous: bool = False,
) -> DataFrame:
    """Releases the walks of a DataFrame: long, with one state a row, or with one walk a row in a column of
    arrays.

    Rows of a long DataFrame have no order of their own in Spark, so a column `step` (whole numbers or
    times) has to give it; a step that a trajectory has twice ends the job with an error. The result has the
    trajectory, the step and the released state. It is the same however the rows are spread over
    partitions, and when a task is run again.
    """
    from pyspark.sql import functions as f
    from pyspark.sql import types

    lists = state in df.columns and isinstance(df.schema[state].dataType, types.ArrayType)
    columns = [trajectory, state] if lists else [trajectory, step, state]
    _check(df, columns, key)
    _check_types(df, trajectory, None if lists else step, state)
    if not allow_vacuous:
        _here(model)._native.refuse_empty_guarantee()
    warn_of_first(start)
    load = _loader(df, model)
    chosen = df.select(*columns)

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
                start=start,
                states=states,
                allow_vacuous=True,
            )

    def release_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows > 0:
                yield from release(pa.Table.from_batches([batch])).to_batches()

    def release_walks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows come walk by walk. The last walk of a batch may go on in the next, so it waits."""
        import pyarrow as pa

        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            if batch.num_rows == 0:
                continue
            names = batch.column(trajectory)
            last = names[len(names) - 1]
            begin = len(names) - 1
            while begin > 0 and names[begin - 1] == last:
                begin -= 1
            if begin == 0 and (not waiting or waiting[-1].column(trajectory)[0] == last):
                waiting.append(batch)
                continue
            done = pa.Table.from_batches([*waiting, batch.slice(0, begin)])
            yield from release(done).to_batches()
            waiting = [batch.slice(begin)]
        if waiting:
            yield from release(pa.Table.from_batches(waiting)).to_batches()

    if lists:
        return chosen.mapInArrow(release_rows, chosen.schema)
    together = chosen.repartition(f.col(trajectory)).sortWithinPartitions(trajectory, step)
    return together.mapInArrow(release_walks, chosen.schema)


def stream(
    df: DataFrame,
    model: Model,
    *,
    key: bytes,
    trajectory: str = "trajectory",
    step: str = "step",
    state: str = "state",
    start: State | Literal["initial", "first"] = "initial",
    states: Literal["labels", "numbers"] = "labels",
    disorder: Literal["error", "drop"] = "error",
    allow_vacuous: bool = False,
) -> DataFrame:
    """Releases the walks of a streaming DataFrame while they happen.

    Where each walk stands (what was released last and how many steps, nothing of the real walk) is in
    Spark's state store, so a query that is restarted from its checkpoint goes on where it stopped, and a
    micro-batch that is run again releases the same states again.

    Rows of one trajectory are released in the order of `step`, which has to ascend. A row that comes
    after a later one, or a second time, ends the query with an error that names it; with
    `disorder="drop"` it is left out.
    """
    from pyspark.sql import types

    _check(df, [trajectory, step, state], key)
    _check_types(df, trajectory, step, state)
    if isinstance(df.schema[state].dataType, types.ArrayType):
        raise WalkError(f"column {state!r}: a stream has one state a row, not a whole walk")
    if disorder not in ("error", "drop"):
        raise ParameterError(f'disorder={disorder!r}: give "error" or "drop"')
    if not allow_vacuous:
        _here(model)._native.refuse_empty_guarantee()
    warn_of_first(start)
    load = _loader(df, model)
    chosen = df.select(trajectory, step, state)
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
                start=start,
                states=states,
                allow_vacuous=True,
                _saved=None if saved is None else bytes(saved),
            )
        released = [session.step(real) if session.released else session.start(real) for real in rows[state]]
        stored.update((session.to_bytes(), last))
        yield pd.DataFrame({trajectory: rows[trajectory], step: rows[step], state: released})

    return chosen.groupBy(trajectory).applyInPandasWithState(
        release, chosen.schema, walk_state, "append", "NoTimeout"
    )
