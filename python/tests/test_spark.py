"""Spark for real, in local mode: batch, stream, tasks that are run again, a query that is killed.

Needs Java 17 and PySpark; says so and skips where they are missing.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from conftest import ID, KEY, WALKS

import veilwalk as vw

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'veilwalk[spark]'")
pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(shutil.which("java") is None, reason="Java 17 is not installed"),
]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "trajectory string, step long, state string"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    from spark_session import session

    spark = session("local[2,4]")
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def walks(credit: vw.Chain) -> dict[str, list[str]]:
    """The chain's own walks, of different lengths."""
    draw = random.Random(1)
    made = dict(WALKS)
    for number in range(30):
        walk = [draw.choice(credit.states)]
        for _ in range(draw.randrange(40)):
            row = credit.row(walk[-1])
            walk += draw.choices(list(row), list(row.values()))
        made[f"walk {number}"] = walk
    return made


@pytest.fixture(scope="module")
def tight(credit: vw.Chain) -> vw.Mechanism:
    """Draws observations."""
    return vw.Mechanism("tight", credit, epsilon=2, radius=3.5)


@pytest.fixture(scope="module")
def expected(sharp: vw.Mechanism, walks: dict[str, list[str]]) -> dict[str, list[str]]:
    return sharp.privatize(walks, key=KEY, release_id=ID)


def rows_of(walks: dict[str, list[str]]) -> list[tuple[str, int, str]]:
    rows = [(name, step, state) for name, walk in walks.items() for step, state in enumerate(walk)]
    random.Random(2).shuffle(rows)
    return rows


def collected(df: DataFrame, column: str = "state") -> dict[str, list[str]]:
    walks: dict[str, list[tuple[int, str]]] = {}
    for row in df.collect():
        walks.setdefault(row["trajectory"], []).append((row["step"], row[column]))
    return {name: [state for _, state in sorted(rows)] for name, rows in walks.items()}


def test_batch_releases_what_python_does(
    spark: SparkSession,
    sharp: vw.Mechanism,
    walks: dict[str, list[str]],
    expected: dict[str, list[str]],
    tmp_path: Path,
) -> None:
    import veilwalk.spark

    df = spark.createDataFrame(rows_of(walks), SCHEMA)
    assert collected(veilwalk.spark.privatize(df, sharp, key=KEY, release_id=ID)) == expected
    # However the rows are spread, and with the model from a file.
    model = tmp_path / "model"
    sharp.compile(model)
    spread = veilwalk.spark.privatize(df.repartition(5), sharp, key=KEY, release_id=ID, model=model)
    assert spread.columns == ["trajectory", "step", "state"]
    assert collected(spread) == expected
    lists = spark.createDataFrame(list(walks.items()), "trajectory string, state array<string>")
    released = veilwalk.spark.privatize(lists, sharp, key=KEY, release_id=ID)
    assert {row["trajectory"]: row["state"] for row in released.collect()} == expected


@pytest.mark.parametrize("lag", [0, 3])
def test_observations_in_batches(
    lag: int, spark: SparkSession, credit: vw.Chain, walks: dict[str, list[str]]
) -> None:
    import veilwalk.spark

    m = vw.Mechanism("tight", credit, epsilon=2, radius=3.5, lag=lag)
    expected, observed = m.privatize(walks, key=KEY, release_id=ID, observed=True)
    df = spark.createDataFrame(rows_of(walks), SCHEMA).repartition(5)
    released = veilwalk.spark.privatize(df, m, key=KEY, release_id=ID).cache()
    assert released.columns == ["trajectory", "step", "state", "observed"]
    assert collected(released) == expected
    assert collected(released, "observed") == observed
    lists = spark.createDataFrame(list(walks.items()), "trajectory string, state array<string>")
    rows = veilwalk.spark.privatize(lists, m, key=KEY, release_id=ID).collect()
    assert {row["trajectory"]: row["state"] for row in rows} == expected
    assert {row["trajectory"]: row["observed"] for row in rows} == observed
    # States that are whole numbers stay what they are.
    numbered = [(name, step, credit.states.index(state)) for name, step, state in rows_of(walks)]
    df = spark.createDataFrame(numbered, "trajectory string, step long, state int")
    released = veilwalk.spark.privatize(df, m, key=KEY, release_id=ID, states="numbers")
    assert released.schema["observed"].dataType == released.schema["state"].dataType
    found = collected(released, "observed")
    assert {name: [credit.states[int(s)] for s in walk] for name, walk in found.items()} == observed


def test_each_call_is_one_release(
    spark: SparkSession, sharp: vw.Mechanism, walks: dict[str, list[str]]
) -> None:
    """However often Spark computes it; another call is another release."""
    import veilwalk.spark

    df = spark.createDataFrame(rows_of(walks), SCHEMA)
    one, two = (veilwalk.spark.privatize(df, sharp, key=KEY) for _ in range(2))
    released = collected(one)
    assert collected(one) == released
    assert collected(two) != released


def test_a_walk_that_is_there_twice_is_refused(spark: SparkSession, sharp: vw.Mechanism) -> None:
    """In whatever partitions its rows are, and before either of them is released."""
    import veilwalk.spark

    rows = [(f"walk {number}", ["Baa", "A"]) for number in range(40)]
    rows.append(("walk 20", ["B", "Caa"]))
    lists = spark.createDataFrame(rows, "trajectory string, state array<string>").repartition(8)
    spread = {row[0] for row in lists.rdd.glom().map(len).map(lambda n: (n,)).collect()}
    assert spread != {41}, "in different partitions"
    released = veilwalk.spark.privatize(lists, sharp, key=KEY)
    with pytest.raises(Exception, match="walk 20"):
        released.collect()
    with pytest.raises(Exception, match="walk 20"):
        released.where("trajectory = 'walk 20'").take(1)
    different = lists.where("state[0] = 'Baa'")
    assert len(veilwalk.spark.privatize(different, sharp, key=KEY).collect()) == 40


@pytest.mark.parametrize("block", [3, "all"])
def test_blocks_in_batches(
    block: Any, spark: SparkSession, sharp: vw.Mechanism, walks: dict[str, list[str]]
) -> None:
    import veilwalk.spark

    df = spark.createDataFrame(rows_of(walks), SCHEMA)
    released = veilwalk.spark.privatize(df, sharp, key=KEY, release_id=ID, block=block)
    assert collected(released) == sharp.privatize(walks, key=KEY, release_id=ID, block=block)


def test_workers_open_a_compiled_model(
    spark: SparkSession, credit: vw.Chain, walks: dict[str, list[str]], tmp_path: Path
) -> None:
    """Sent by Spark, or from a path: a file with another chain is refused by the worker that opens it."""
    import veilwalk.spark

    cell = vw.Mechanism("cell", credit, epsilon=2, radius=3.5)
    path = tmp_path / "cell.model"
    cell.compile(path)
    df = spark.createDataFrame(rows_of(walks), SCHEMA)
    expected = cell.privatize(walks, key=KEY, release_id=ID)
    for model in (None, path):
        assert collected(veilwalk.spark.privatize(df, cell, key=KEY, release_id=ID, model=model)) == expected
    other = credit.with_initial("Baa")
    other.compile(path.with_name("other.model"))
    wrong = veilwalk.spark.privatize(df, cell, key=KEY, release_id=ID, model=path.with_name("other.model"))
    with pytest.raises(Exception, match="the mechanism was made for"):
        wrong.collect()


@pytest.mark.parametrize("name", ["sharp", "tight"])
def test_a_task_that_is_run_again_releases_the_same(
    name: str,
    spark: SparkSession,
    credit: vw.Chain,
    walks: dict[str, list[str]],
    tmp_path: Path,
) -> None:
    import veilwalk.spark

    attempts = tmp_path / "attempts"
    m = vw.Mechanism(name, credit, epsilon=2, radius=3.5)

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Fails after it has been given released rows, on the first attempt of each partition."""
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for batch in batches:
            with attempts.open("a") as file:
                file.write(f"{context.partitionId()} {context.attemptNumber()}\n")
            yield batch
            if context.attemptNumber() == 0:
                raise RuntimeError("the first attempt fails, on purpose")

    df = spark.createDataFrame(rows_of(walks), SCHEMA)
    released = veilwalk.spark.privatize(df, m, key=KEY, release_id=ID)
    again = released.mapInArrow(fail_once, released.schema)
    assert collected(again) == m.privatize(walks, key=KEY, release_id=ID)
    if m.observes:
        _, observed = m.privatize(walks, key=KEY, release_id=ID, observed=True)
        assert collected(again, "observed") == observed
    tried = {tuple(line.split()) for line in attempts.read_text().splitlines()}
    assert any(attempt == "0" for _, attempt in tried)
    assert any(attempt == "1" for _, attempt in tried)


def test_bad_tables_are_refused(
    spark: SparkSession, sharp: vw.Mechanism, tight: vw.Mechanism, credit: vw.Chain
) -> None:
    import veilwalk.spark

    df = spark.createDataFrame([("a", 0, "B"), ("a", 0, "A")], SCHEMA)
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: veilwalk.spark.privatize(df, sharp, key=None), "second release"),  # type: ignore[arg-type]
        (lambda: veilwalk.spark.privatize(df, sharp, key=b"short"), "at least 16"),
        (
            lambda: veilwalk.spark.privatize(df, sharp, key=KEY, release_id=ID, step="when"),
            "no column 'when'",
        ),
        (
            lambda: veilwalk.spark.privatize(df, sharp, key=KEY, release_id=ID, step="state"),
            "whole number or a time",
        ),
        (
            lambda: veilwalk.spark.privatize(df, b"nonsense", key=KEY),  # type: ignore[arg-type]
            "give a veilwalk.Mechanism",
        ),
        (lambda: veilwalk.spark.privatize(df, sharp, key=KEY, release_id=ID, block=0), "from 1 up"),
        (lambda: veilwalk.spark.stream(df, sharp, key=KEY, release_id=ID, block=5), "checkpoint on disk"),
        (
            lambda: veilwalk.spark.stream(
                df, vw.Mechanism("tight", credit, epsilon=2, radius=3.5, lag=1), key=KEY, release_id=ID
            ),
            "its last states would never be answered",
        ),
        *(
            (
                lambda release=release: release(
                    df.withColumnRenamed("state", "observed"), tight, state="observed", key=KEY, release_id=ID
                ),
                "nothing else can have that name",
            )
            for release in (veilwalk.spark.privatize, veilwalk.spark.stream)
        ),
        (
            lambda: veilwalk.spark.stream(df, sharp, key=KEY, release_id=ID, unknown_state="skip"),
            "show which rows were left out",
        ),
        (
            lambda: veilwalk.spark.privatize(df, sharp, key=KEY, release_id=ID, unknown_state="skip"),
            "show which rows were left out",
        ),
        (
            lambda: veilwalk.spark.privatize(
                df, vw.Mechanism("paper", credit, epsilon=1, radius=1), key=KEY, release_id=ID
            ),
            "would be empty",
        ),
        (
            lambda: veilwalk.spark.privatize(
                df.selectExpr("*", "1.5 as x"), sharp, key=KEY, release_id=ID, state="x"
            ),
            "give strings or integers",
        ),
    ]
    for call, message in refused:
        with pytest.raises(vw.VeilwalkError, match=message):
            call()
    with pytest.raises(Exception, match="has step 0 a second time"):
        veilwalk.spark.privatize(df, sharp, key=KEY, release_id=ID).collect()
    unknown = spark.createDataFrame([("a", 0, "Zzz")], SCHEMA)
    with pytest.raises(Exception, match="is not a state of the chain"):
        veilwalk.spark.privatize(unknown, sharp, key=KEY, release_id=ID).collect()
    for as_if in ("Def", "B"):
        known = spark.createDataFrame([("a", 0, as_if)], SCHEMA)
        expected = veilwalk.spark.privatize(known, sharp, key=KEY, release_id=ID).collect()
        found = veilwalk.spark.privatize(unknown, sharp, key=KEY, release_id=ID, unknown_state=as_if)
        assert found.collect() == expected


def write_batches(folder: Path, batches: list[list[tuple[str, int, str]]], first: int = 0) -> None:
    """One file for each micro-batch, in order of time."""
    folder.mkdir(exist_ok=True)
    for number, rows in enumerate(batches, first):
        lines = [json.dumps({"trajectory": name, "step": step, "state": state}) for name, step, state in rows]
        file = folder / f"{number:04}.json"
        file.write_text("\n".join(lines) + "\n")
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def in_batches(walks: dict[str, list[str]], count: int) -> list[list[tuple[str, int, str]]]:
    """Rows in order of their steps, shuffled within each batch."""
    longest = max(len(walk) for walk in walks.values())
    batches: list[list[tuple[str, int, str]]] = [[] for _ in range(count)]
    for name, step, state in rows_of(walks):
        batches[step * count // longest].append((name, step, state))
    return batches


def run_stream(spark: SparkSession, model: Any, folder: Path, **how: Any) -> None:
    import veilwalk.spark

    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    query = (
        veilwalk.spark.stream(rows, model, key=KEY, checkpoint=folder / "checkpoint", **how)
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def test_a_stream_releases_what_python_does(
    spark: SparkSession,
    sharp: vw.Mechanism,
    walks: dict[str, list[str]],
    tmp_path: Path,
) -> None:
    import veilwalk.spark

    batches = in_batches(walks, 4)
    write_batches(tmp_path / "in", batches[:2])
    run_stream(spark, sharp, tmp_path)
    # Stopped in between, and started again from its checkpoint.
    write_batches(tmp_path / "in", batches[2:], first=2)
    run_stream(spark, sharp, tmp_path)
    released = collected(spark.read.parquet(str(tmp_path / "out")))
    kept = (tmp_path / "checkpoint" / veilwalk.spark.ID_FILE).read_text().strip()
    assert released == sharp.privatize(walks, key=KEY, release_id=kept)
    # Without its checkpoint it is another release; with its id the same.
    shutil.rmtree(tmp_path / "checkpoint")
    shutil.rmtree(tmp_path / "out")
    run_stream(spark, sharp, tmp_path)
    assert (tmp_path / "checkpoint" / veilwalk.spark.ID_FILE).read_text().strip() != kept
    assert collected(spark.read.parquet(str(tmp_path / "out"))) != released
    shutil.rmtree(tmp_path / "checkpoint")
    shutil.rmtree(tmp_path / "out")
    run_stream(spark, sharp, tmp_path, release_id=kept)
    assert collected(spark.read.parquet(str(tmp_path / "out"))) == released


def test_a_stream_keeps_what_is_believed(
    spark: SparkSession, tight: vw.Mechanism, walks: dict[str, list[str]], tmp_path: Path
) -> None:
    import veilwalk.spark

    batches = in_batches(walks, 4)
    write_batches(tmp_path / "in", batches[:2])
    run_stream(spark, tight, tmp_path)
    write_batches(tmp_path / "in", batches[2:], first=2)
    run_stream(spark, tight, tmp_path)
    released = spark.read.parquet(str(tmp_path / "out"))
    assert released.columns == ["trajectory", "step", "state", "observed"]
    kept = (tmp_path / "checkpoint" / veilwalk.spark.ID_FILE).read_text().strip()
    expected, observed = tight.privatize(walks, key=KEY, release_id=kept, observed=True)
    assert collected(released) == expected
    assert collected(released, "observed") == observed


def test_the_id_of_a_stream_is_that_of_its_checkpoint(
    spark: SparkSession, sharp: vw.Mechanism, tmp_path: Path
) -> None:
    import veilwalk.spark

    (tmp_path / "in").mkdir()
    rows = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))

    def made(**how: Any) -> object:
        return veilwalk.spark.stream(rows, sharp, key=KEY, **how)

    with pytest.raises(vw.ParameterError, match="checkpointLocation"):
        made()
    made(release_id=ID)
    checkpoint = tmp_path / "checkpoint"
    made(checkpoint=checkpoint, release_id=ID)
    assert (checkpoint / veilwalk.spark.ID_FILE).read_text() == ID + "\n"
    made(checkpoint=checkpoint)
    made(checkpoint=checkpoint.as_uri())
    with pytest.raises(vw.ParameterError, match=f"belongs to release '{ID}'"):
        made(checkpoint=checkpoint, release_id="f" * 32)
    # A query of which the id is not known.
    used = tmp_path / "used"
    (used / "offsets").mkdir(parents=True)
    with pytest.raises(vw.ParameterError, match="its release id is not known"):
        made(checkpoint=used)
    # A file that was cut.
    cut = tmp_path / "cut"
    cut.mkdir()
    (cut / veilwalk.spark.ID_FILE).write_text("0011")
    with pytest.raises(vw.ParameterError, match="was cut"):
        made(checkpoint=cut)
    with pytest.raises(vw.ParameterError, match="32 hexadecimal digits"):
        made(release_id="17")


def test_a_stream_notices_rows_out_of_order(spark: SparkSession, sharp: vw.Mechanism, tmp_path: Path) -> None:
    batches = [[("a", 0, "B"), ("a", 2, "B")], [("a", 1, "A"), ("a", 2, "B"), ("a", 3, "B")]]
    for how in ("error", "drop"):
        folder = tmp_path / how
        folder.mkdir()
        write_batches(folder / "in", batches)
        if how == "error":
            with pytest.raises(Exception, match="comes after a later one, or a second time"):
                run_stream(spark, sharp, folder)
        else:
            run_stream(spark, sharp, folder, disorder="drop")
            steps = [row["step"] for row in spark.read.parquet(str(folder / "out")).collect()]
            assert sorted(steps) == [0, 2, 3]


def test_a_killed_query_goes_on_from_its_checkpoint(
    spark: SparkSession,
    sharp: vw.Mechanism,
    walks: dict[str, list[str]],
    tmp_path: Path,
) -> None:
    import veilwalk.spark

    sharp.compile(tmp_path / "model")
    write_batches(tmp_path / "in", in_batches(walks, 6))
    program = [sys.executable, str(Path(__file__).with_name("stream_query.py")), str(tmp_path)]
    log = (tmp_path / "log").open("w")
    first = subprocess.Popen(program, stdout=log, stderr=log, start_new_session=True)
    progress = tmp_path / "progress"
    deadline = time.monotonic() + 400
    while not (progress.exists() and progress.read_text() >= "1"):
        assert first.poll() is None, (tmp_path / "log").read_text()[-2000:]
        assert time.monotonic() < deadline, "the query does not get on"
        time.sleep(0.02)
    # The driver, its Java machine and its workers, at once.
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    committed = len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*")))
    assert 1 <= committed < 6, "killed in the middle"
    second = subprocess.run(program, stdout=log, stderr=log, check=False, timeout=400)
    assert second.returncode == 0, (tmp_path / "log").read_text()[-2000:]
    kept = (tmp_path / "checkpoint" / veilwalk.spark.ID_FILE).read_text().strip()
    expected = sharp.privatize(walks, key=KEY, release_id=kept)
    assert collected(spark.read.parquet(str(tmp_path / "out"))) == expected


def test_persons_are_charged_and_told(
    spark: SparkSession, sharp: vw.Mechanism, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    import veilwalk.spark

    owners = {"north": "ann", "south": "bob", "east": "ann", "12": "ann"}
    rows = [(name, owners[name], i, s) for name, walk in WALKS.items() for i, s in enumerate(walk)]
    df = spark.createDataFrame(rows, "trajectory string, who string, step long, state string")
    ledger = tmp_path / "ledger"
    told = "2 persons have up to 3 walks. .* with 3 walks, epsilon 6 in all"
    with pytest.warns(vw.PrivacyWarning, match=told):
        released = veilwalk.spark.privatize(
            df.repartition(4), sharp, key=KEY, release_id=ID, person="who", ledger=ledger, budget=6
        )
    assert released.columns == ["trajectory", "step", "state"], "whose walk it is is not released"
    assert collected(released) == {name: expected[name] for name in WALKS}
    assert vw.Ledger(ledger).spent() == {"ann": 6, "bob": 2}
    with pytest.warns(vw.PrivacyWarning, match=told):
        veilwalk.spark.privatize(df, sharp, key=KEY, person="who")
    with (
        pytest.warns(vw.PrivacyWarning, match=told),
        pytest.raises(vw.LedgerError, match="ann"),
    ):
        veilwalk.spark.privatize(df, sharp, key=KEY, person="who", ledger=ledger, budget=7)
    assert vw.Ledger(ledger).spent() == {"ann": 6, "bob": 2}
    # Without persons every walk is its own.
    veilwalk.spark.privatize(df, sharp, key=KEY, ledger=tmp_path / "walks")
    assert vw.Ledger(tmp_path / "walks").spent() == dict.fromkeys(WALKS, 2)


def test_persons_that_are_none(spark: SparkSession, sharp: vw.Mechanism) -> None:
    import veilwalk.spark

    schema = "trajectory string, who string, step long, state string"
    two = spark.createDataFrame([("x", "ann", 0, "B"), ("x", "bob", 1, "B")], schema)
    with pytest.raises(vw.WalkError, match="'x' belongs to several persons"):
        veilwalk.spark.privatize(two, sharp, key=KEY, person="who")
    none = spark.createDataFrame([("x", None, 0, "B")], schema)
    with pytest.raises(vw.WalkError, match="'who': a missing value for 'x'"):
        veilwalk.spark.privatize(none, sharp, key=KEY, person="who")
    with pytest.raises(vw.WalkError, match="no column 'whom'"):
        veilwalk.spark.privatize(two, sharp, key=KEY, person="whom")
    with pytest.raises(vw.ParameterError, match="give ledger= too"):
        veilwalk.spark.privatize(two, sharp, key=KEY, budget=1)


@pytest.mark.parametrize("name", ["tight", "cell"])
def test_refined_walks_are_those_of_one_machine(
    spark: SparkSession, walks: dict[str, list[str]], credit: vw.Chain, name: str
) -> None:
    from veilwalk.spark import privatize, refine

    mechanism = vw.Mechanism(name, credit, epsilon=3, radius=3.5)
    rows = [(who, step, state) for who, walk in walks.items() for step, state in enumerate(walk)]
    real = spark.createDataFrame(rows, SCHEMA)
    released = privatize(real, mechanism, key=KEY, release_id=ID).repartition(5)
    refined = refine(released, mechanism).toPandas().sort_values(["trajectory", "step"])
    here = released.toPandas().sort_values(["trajectory", "step"])
    expected = mechanism.refine(here).sort_values(["trajectory", "step"])
    for column in ("trajectory", "step", "state", "released", "confidence"):
        assert refined[column].tolist() == expected[column].tolist(), column
    assert refined["released"].tolist() == here["state"].tolist()
    if name == "tight":
        with pytest.raises(vw.WalkError, match="no column 'observed'"):
            refine(released.drop("observed"), mechanism)


def test_an_estimate_is_that_of_one_machine(
    spark: SparkSession, walks: dict[str, list[str]], credit: vw.Chain
) -> None:
    from veilwalk.spark import estimate, privatize

    mechanism = vw.Mechanism("tight", credit, epsilon=3, radius=3.5)
    rows = [(who, step, state) for who, walk in walks.items() for step, state in enumerate(walk)]
    released = privatize(spark.createDataFrame(rows, SCHEMA), mechanism, key=KEY, release_id=ID)
    here = released.toPandas().sort_values(["trajectory", "step"])
    moves = estimate(released, mechanism, what="moves")
    assert not isinstance(moves, vw.Chain)
    found = moves.toPandas()
    expected = mechanism.estimate(here, what="moves", interval=None)
    keys = ["from", "to"]
    found, expected = (table.sort_values(keys).reset_index(drop=True) for table in (found, expected))
    assert found[keys].equals(expected[keys])
    assert (found["share"] - expected["share"]).abs().max() < 1e-6
    learned = estimate(released, mechanism, what="chain")
    assert isinstance(learned, vw.Chain)
    assert learned.states == credit.states
    trips = estimate(released, mechanism, what="od")
    assert not isinstance(trips, vw.Chain)
    keys = ["origin", "destination"]
    found, expected = (
        table.sort_values(keys).reset_index(drop=True)
        for table in (trips.toPandas(), mechanism.estimate(here, what="od", interval=None))
    )
    assert found[keys].equals(expected[keys])
    assert (found["share"] - expected["share"]).abs().max() < 1e-6
    with pytest.raises(vw.ParameterError, match="what"):
        estimate(released, mechanism, what="ends")  # type: ignore[arg-type]
    with pytest.raises(vw.ParameterError, match="interval"):
        estimate(released, mechanism, interval=95)


def test_intervals_are_about_those_of_one_machine(
    spark: SparkSession, walks: dict[str, list[str]], credit: vw.Chain
) -> None:
    """Other walks are drawn, so they are alike and not the same; and they hold the share they are around."""
    from veilwalk.spark import estimate, privatize

    mechanism = vw.Mechanism("tight", credit, epsilon=3, radius=3.5)
    rows = [(who, step, state) for who, walk in walks.items() for step, state in enumerate(walk)]
    released = privatize(spark.createDataFrame(rows, SCHEMA), mechanism, key=KEY, release_id=ID)
    here = released.toPandas().sort_values(["trajectory", "step"])
    found = estimate(released, mechanism, interval=0.9, replicates=20)
    assert not isinstance(found, vw.Chain)
    made = found.toPandas().set_index("state")
    expected = mechanism.estimate(here, interval=0.9, replicates=20).set_index("state").loc[made.index]
    assert (made["share"] - expected["share"]).abs().max() < 1e-6
    assert ((made["low"] <= made["share"]) & (made["share"] <= made["high"])).all()
    width, expected_width = ((table["high"] - table["low"]) for table in (made, expected))
    # Twenty replicates tell a deviation to a sixth or so.
    assert 0.5 < width.sum() / expected_width.sum() < 2
    again = estimate(released.repartition(3), mechanism, interval=0.9, replicates=20)
    assert not isinstance(again, vw.Chain)
    assert (again.toPandas().set_index("state").loc[made.index]["low"] - made["low"]).abs().max() < 1e-6


def test_events_are_prepared_as_on_one_machine(spark: SparkSession) -> None:
    import pandas as pd

    from veilwalk.spark import prepare

    events = pd.DataFrame(
        {
            "person": [f"p{number % 7}" for number in range(60)],
            "time": [
                f"2024-03-0{1 + number % 3}T{8 + number % 9:02}:{number % 6}0:00Z" for number in range(60)
            ],
            "state": ["home" if number % 4 else "work" for number in range(60)],
        }
    )
    frame = spark.createDataFrame(events).repartition(4)
    for settings in (
        {},
        {"gap": "3h", "merge_stays": True},
        {"end": "out", "length": 12},
        {"every": "1h", "window": "06:00-20:00", "away": "nowhere", "timezone": "UTC"},
    ):
        order = ["trajectory", "step"]
        found = prepare(frame, **settings).toPandas().sort_values(order).reset_index(drop=True)
        expected = vw.prepare(events, **settings).walks.sort_values(order).reset_index(drop=True)
        assert found.astype(str).equals(expected.astype(str)), settings
    with pytest.raises(vw.ParameterError, match="belong together"):
        prepare(frame, end="out")
    with pytest.raises(vw.WalkError, match="no column 'who'"):
        prepare(frame, person="who")


def test_scores_are_those_of_one_machine(
    spark: SparkSession, walks: dict[str, list[str]], credit: vw.Chain
) -> None:
    from veilwalk.spark import privatize, score

    mechanism = vw.Mechanism("chen", credit, epsilon=8, substitutions=1)
    rows = [(who, step, state) for who, walk in walks.items() for step, state in enumerate(walk)]
    real = spark.createDataFrame(rows, SCHEMA)
    released = privatize(real, mechanism, key=KEY, release_id=ID)
    here = released.toPandas().sort_values(["trajectory", "step"])
    estimate = mechanism.estimate(here, interval=None)
    with pytest.warns(vw.PrivacyWarning, match="NOT protected"):
        found = score(
            real.repartition(3),
            released,
            credit,
            mechanism=mechanism,
            estimate=spark.createDataFrame(estimate),
        )
    listed = here.groupby("trajectory", sort=False)["state"].agg(list).to_dict()
    with pytest.warns(vw.PrivacyWarning, match="NOT protected"):
        expected = vw.score(walks, listed, credit, mechanism=mechanism, estimate=estimate)
    assert found.candidates == expected.candidates == ["release", "estimate", "laplace_counts"]
    for key in ("visits_tv", "moves_tv", "od_jsd"):
        ours, theirs = (one.to_dict()["release"][key]["value"] for one in (found, expected))
        assert ours == pytest.approx(theirs, abs=1e-12), key
    with pytest.warns(vw.PrivacyWarning, match="NOT protected"):
        part = score(real, released, credit, walks=10)
    assert part.to_dict()["walks"] == 10
