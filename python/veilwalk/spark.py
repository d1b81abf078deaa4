"""Apache Spark: for walks that outgrow one machine, and for streams.

`privatize` releases whole walks of a DataFrame, `stream` releases walks while they happen. Both need a
secret key: engines run tasks again, and with fresh randomness a task that is run again would be a second
release. Randomness is derived from the key, the release id, the walk's name, the step and the real state,
so a task that is run again repeats itself. The driver draws one release id for each query; the query is
then one release, however often its tasks run. A stream keeps the id with its checkpoint.

Workers open a compiled model and make the mechanism on it once. The processes of a machine share one copy
of a model above 16 MiB. The model is compiled here and sent to them as a file, unless `model` names one that
they can all read. Workers need the same version of veilwalk.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from veilwalk import _native
from veilwalk._native import ParameterError, WalkError
from veilwalk.chain import Chain, State
from veilwalk.exact import Exact, path_text
from veilwalk.files import Ledger
from veilwalk.how import OBSERVED, name_text
from veilwalk.inference import columns_of, tell, tell_unsettled
from veilwalk.mechanism import Mechanism, remade
from veilwalk.persons import tell_most
from veilwalk.session import Block, Session
from veilwalk.source import check_guarantee, new_release_id, source, warn_of_first
from veilwalk.walks import collect

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState
    from pyspark.sql.types import StructType

_MADE: dict[tuple[str, str], Mechanism] = {}
"""The mechanisms of this process, by the file of their model and by their fingerprint."""


def _made(path: str, arguments: tuple[Any, ...], fingerprint: str, version: str, chain: str) -> Mechanism:
    """The mechanism on a compiled model, made once in each process."""
    if (path, fingerprint) not in _MADE:
        model = Chain.read(path)
        if model.hash != chain:
            raise ParameterError(
                f"{path}: the model has the chain {model.hash[:12]}…, and the mechanism was made for "
                f"{chain[:12]}…; compile the mechanism's own chain, initial distribution included"
            )
        _MADE[path, fingerprint] = remade(model, arguments, fingerprint, version)
    return _MADE[path, fingerprint]


_COMPILED: dict[str, str] = {}


def _compiled(mechanism: Mechanism) -> str:
    """The mechanism's model in a file that lasts as long as this process."""
    fingerprint = mechanism.fingerprint
    if fingerprint not in _COMPILED:
        folder = tempfile.mkdtemp(prefix="veilwalk-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = str(Path(folder) / f"veilwalk-{fingerprint}.model")
        mechanism.compile(path)
        _COMPILED[fingerprint] = path
    return _COMPILED[fingerprint]


def _loader(
    df: DataFrame, mechanism: Mechanism, model: str | os.PathLike[str] | None
) -> Callable[[], Mechanism]:
    """How a worker comes by the mechanism."""
    arguments, fingerprint = mechanism._native.arguments, mechanism.fingerprint
    version, chain = _native.__version__, mechanism.chain.hash
    if model is not None:
        path = path_text("model", model)
        return lambda: _made(path, arguments, fingerprint, version, chain)
    try:
        context = df.sparkSession.sparkContext
    except Exception as error:
        raise ParameterError(
            "model: this session cannot send files to its workers; compile the model "
            "(mechanism.compile(path)) where all of them can read it, and give model=path"
        ) from error
    compiled = _compiled(mechanism)
    context.addFile(compiled)
    name = os.path.basename(compiled)

    def from_spark() -> Mechanism:
        from pyspark import SparkFiles

        return _made(SparkFiles.get(name), arguments, fingerprint, version, chain)

    return from_spark


def _checked_frame(df: DataFrame) -> DataFrame:
    if not (hasattr(df, "schema") and hasattr(df, "mapInArrow")):
        kind = type(df).__qualname__
        raise WalkError(f"walks of type {kind}; give a DataFrame of Spark, or others to Mechanism.privatize")
    return df


def _check_columns(df: DataFrame, columns: Iterable[str]) -> None:
    missing = [name for name in columns if name not in df.columns]
    if missing:
        listed = ", ".join(repr(name) for name in df.columns)
        raise WalkError(f"there is no column {missing[0]!r}; the columns are {listed}")


def _check(df: DataFrame, columns: Iterable[str], key: object, release_id: str | None) -> None:
    _check_columns(df, columns)
    if not isinstance(key, bytes):
        raise ParameterError(
            "key: give secret bytes, such as secrets.token_bytes(32), and keep them. Spark runs tasks "
            "again, and without a key a task that is run again would be a second release"
        )
    source(key, None, release_id)


def _refuse(mechanism: object, allow_vacuous: bool) -> None:
    if not isinstance(mechanism, Mechanism):
        kind = type(mechanism).__name__
        raise ParameterError(f"mechanism: a value of type {kind}; give a veilwalk.Mechanism")
    check_guarantee(mechanism._native, allow_vacuous)


def _refuse_skip(manner: _native.Manner) -> None:
    if manner.skips:
        raise ParameterError(
            'unknown_state="skip": the steps that are missing would show which rows were left out; give a '
            "state of the chain to take instead of unknown ones"
        )


def _check_types(df: DataFrame, trajectory: str, step: str | None, state: str) -> None:
    from pyspark.sql import types

    named = {field.name: field.dataType for field in df.schema.fields}
    whole = (types.ByteType, types.ShortType, types.IntegerType, types.LongType)
    for name in (trajectory, state):
        kind = named[name]
        if name == state and isinstance(kind, types.ArrayType):
            kind = kind.elementType
        if not isinstance(kind, (types.StringType, *whole)):
            raise WalkError(f"column {name!r}: the type is {kind.simpleString()}; give strings or integers")
    if step is not None:
        times = (types.TimestampType, types.TimestampNTZType, types.DateType)
        if not isinstance(named[step], whole + times):
            raise WalkError(
                f"column {step!r}: the type is {named[step].simpleString()}; a step is a whole number "
                "or a time"
            )


def _released_schema(chosen: DataFrame, mechanism: Mechanism, state: str) -> StructType:
    """The columns of a release: those that were given and, where real states are observed, what was
    observed."""
    from pyspark.sql import types

    if not mechanism.observes:
        return chosen.schema
    if OBSERVED in chosen.columns:
        raise ParameterError(
            f"{OBSERVED!r} is the column for what was observed, so nothing else can have that name; rename "
            "your column"
        )
    return types.StructType(
        [*chosen.schema.fields, types.StructField(OBSERVED, chosen.schema[state].dataType)]
    )


def _position(step: Any) -> int:
    """A step as a number that can be compared and stored: a time is its nanoseconds or its day."""
    if hasattr(step, "value"):
        return int(step.value)
    return int(step.toordinal() if hasattr(step, "toordinal") else step)


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

    df = _checked_frame(df)
    lists = state in df.columns and isinstance(df.schema[state].dataType, types.ArrayType)
    columns = [trajectory, state] if lists else [trajectory, step, state]
    _check(df, columns if person is None else [*columns, person], key, release_id)
    _check_types(df, trajectory, None if lists else step, state)
    _refuse(mechanism, allow_vacuous)
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
    _refuse_skip(manner)
    warn_of_first(start)
    load = _loader(df, mechanism, model)
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
    schema = _released_schema(chosen, mechanism, state)

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
    return together.mapInArrow(_walk_by_walk(trajectory, release), schema)


def _walk_by_walk(
    trajectory: str, work: Callable[[pa.Table], pa.Table]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Does the work on whole walks, whose rows come one after another."""

    def of_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The last walk of a batch may go on in the next, so it waits."""
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
            yield from work(done).to_batches()
            waiting = [batch.slice(begin)]
        if waiting:
            yield from work(pa.Table.from_batches(waiting)).to_batches()

    return of_batches


def _released(df: DataFrame, mechanism: Mechanism, trajectory: str, step: str, state: str) -> DataFrame:
    """The columns of a release that inference looks at."""
    df = _checked_frame(df)
    if not isinstance(mechanism, Mechanism):
        kind = type(mechanism).__name__
        raise ParameterError(f"mechanism: a value of type {kind}; give a veilwalk.Mechanism")
    columns = [trajectory, step, state, *([OBSERVED] if mechanism.observes else [])]
    _check_columns(df, columns)
    _check_types(df, trajectory, step, state)
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
    load = _loader(df, mechanism, model)
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
    return together.mapInArrow(_walk_by_walk(trajectory, refined), schema)


def estimate(
    df: DataFrame,
    mechanism: Mechanism,
    *,
    what: Literal["visits", "moves", "chain"] = "visits",
    strength: float = 1,
    start: State | Literal["private", "initial", "first"] = "private",
    model: str | os.PathLike[str] | None = None,
    trajectory: str = "trajectory",
    step: str = "step",
    state: str = "state",
) -> DataFrame | Chain:
    """What the crowd did, learned from the release in a long DataFrame; `Mechanism.estimate` for releases
    that outgrow one machine, without intervals. It looks at the release alone, and so costs nothing.

    The workers find the expected moves of their walks, the driver adds them up and finds the next law: a job
    of Spark for each round, of which there may be some dozens. The release is kept in memory, or on disk
    where it does not fit, while that goes on. Gives a DataFrame with `state` (or `from` and `to`) and
    `share`, or the chain.
    """
    import numpy as np
    from pyspark import StorageLevel
    from pyspark.sql import functions as f

    if what not in ("visits", "moves", "chain"):
        raise ParameterError(f"what: {what!r}; give 'visits', 'moves' or 'chain'")
    chosen = _released(df, mechanism, trajectory, step, state)
    load = _loader(df, mechanism, model)
    drawn = OBSERVED if mechanism.observes else state
    together = chosen.repartition(f.col(trajectory)).sortWithinPartitions(trajectory, step)
    together = together.persist(StorageLevel.MEMORY_AND_DISK)

    def expect(initial: list[float], moves: list[float]) -> list[float]:
        def counts(table: pa.Table) -> pa.Table:
            import pyarrow as pa

            made = load()
            walks = collect(table, trajectory, step, drawn)
            numbers = _native.expected_counts(made.chain._native, made._native, start, walks, initial, moves)
            return pa.table({"numbers": pa.array([numbers.tolist()], pa.list_(pa.float64()))})

        of_parts = together.mapInArrow(_walk_by_walk(trajectory, counts), "numbers array<double>")
        parts = [np.asarray(row["numbers"]) for row in of_parts.collect()]
        return [float(number) for number in np.sum(parts, axis=0)] if parts else []

    try:
        chain, (first, second, share, _), converged, dropped, surprises = _native.estimate_by(
            mechanism.chain._native, mechanism._native, start, what, float(strength), expect
        )
    finally:
        together.unpersist()
    tell(dropped, surprises)
    tell_unsettled(converged)
    if chain is not None:
        return Chain._of(chain)
    labels = mechanism._native.labels
    columns = columns_of(what, labels, (first, second), share)
    rows = list(zip(*columns.values(), strict=True))
    return df.sparkSession.createDataFrame(rows, list(columns))


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

    df = _checked_frame(df)
    _check(df, [trajectory, step, state], key, release_id)
    _check_types(df, trajectory, step, state)
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
    _refuse(mechanism, allow_vacuous)
    if mechanism.lag:
        raise ParameterError(
            f"lag: an answer would come {mechanism.lag} steps later, and nothing says when a walk "
            "is over, so its last states would never be answered; release whole walks with privatize(), or "
            "make the mechanism without a lag"
        )
    chosen = df.select(trajectory, step, state)
    schema = _released_schema(chosen, mechanism, state)
    warn_of_first(start)
    load = _loader(df, mechanism, model)
    run = _id_of_stream(df, checkpoint, release_id)
    asked = source(key, None, run)
    manner = _native.Manner(
        mechanism._native, asked, start, None, None, None, None, None, None, unknown_state
    )
    _refuse_skip(manner)
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
