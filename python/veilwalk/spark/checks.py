"""What is refused on the driver, before a job begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from veilwalk import _native
from veilwalk._native import ParameterError, WalkError
from veilwalk.how import OBSERVED
from veilwalk.mechanism import Mechanism
from veilwalk.source import check_guarantee, source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def checked_frame(df: DataFrame) -> DataFrame:
    if not (hasattr(df, "schema") and hasattr(df, "mapInArrow")):
        kind = type(df).__qualname__
        raise WalkError(f"walks of type {kind}; give a DataFrame of Spark, or others to Mechanism.privatize")
    return df


def check_columns(df: DataFrame, columns: Iterable[str]) -> None:
    missing = [name for name in columns if name not in df.columns]
    if missing:
        listed = ", ".join(repr(name) for name in df.columns)
        raise WalkError(f"there is no column {missing[0]!r}; the columns are {listed}")


def check(df: DataFrame, columns: Iterable[str], key: object, release_id: str | None) -> None:
    check_columns(df, columns)
    if not isinstance(key, bytes):
        raise ParameterError(
            "key: give secret bytes, such as secrets.token_bytes(32), and keep them. Spark runs tasks "
            "again, and without a key a task that is run again would be a second release"
        )
    source(key, None, release_id)


def refuse(mechanism: object, allow_vacuous: bool) -> None:
    if not isinstance(mechanism, Mechanism):
        kind = type(mechanism).__name__
        raise ParameterError(f"mechanism: a value of type {kind}; give a veilwalk.Mechanism")
    check_guarantee(mechanism._native, allow_vacuous)


def refuse_skip(manner: _native.Manner) -> None:
    if manner.skips:
        raise ParameterError(
            'unknown_state="skip": the steps that are missing would show which rows were left out; give a '
            "state of the chain to take instead of unknown ones"
        )


def check_types(df: DataFrame, trajectory: str, step: str | None, state: str) -> None:
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


def released_schema(chosen: DataFrame, mechanism: Mechanism, state: str) -> StructType:
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
