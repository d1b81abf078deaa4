"""A streaming query as a program of its own, so that a test can kill it.

python stream_query.py FOLDER: opens the compiled FOLDER/model, releases what is in FOLDER/in, one file a
batch, and writes to FOLDER/out with its checkpoint in FOLDER/checkpoint.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from conftest import KEY
from spark_session import session

import veilwalk as vw
import veilwalk.spark


def main(folder: Path) -> None:
    spark = session("local[2]")
    rows = spark.readStream.schema("trajectory string, step long, state string").option(
        "maxFilesPerTrigger", 1
    )
    model = folder / "model"
    mechanism = vw.Mechanism("sharp", vw.Chain.read(model), epsilon=2, radius=3.5)
    released = veilwalk.spark.stream(
        rows.json(str(folder / "in")), mechanism, key=KEY, checkpoint=folder / "checkpoint", model=model
    )
    query = (
        released.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    while query.isActive:
        done = query.lastProgress
        if done is not None:
            (folder / "progress").write_text(str(done["batchId"]))
        time.sleep(0.02)
    query.awaitTermination()
    spark.stop()
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
