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

from veilwalk.spark.batch import privatize
from veilwalk.spark.inference import estimate, refine
from veilwalk.spark.prepare import prepare
from veilwalk.spark.score import score
from veilwalk.spark.streams import ID_FILE, stream

__all__ = ["ID_FILE", "estimate", "prepare", "privatize", "refine", "score", "stream"]
