"""How a worker comes by the mechanism, and does its share of whole walks."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veilwalk import _native
from veilwalk._native import ParameterError
from veilwalk.chain import Chain
from veilwalk.exact import path_text
from veilwalk.mechanism import Mechanism, remade

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

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


def loader(
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


def walk_by_walk(
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
