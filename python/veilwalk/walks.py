"""Walks in, walks out, in the kind they came in.

Lists and NumPy arrays go straight to the native part. Columns of Polars, pyarrow and pandas go through
Arrow's C interface, without a copy where the library allows it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from veilwalk import _native
from veilwalk._native import ParameterError, WalkError
from veilwalk.warning import warn

Walks = TypeVar("Walks")


@dataclass(frozen=True)
class How:
    """How walks are released, and where in a table they are."""

    mechanism: _native.Mechanism
    source: _native.Source
    start: object
    states: str
    threads: int | None
    names: list[str] | None
    trajectory: str
    step: str | None
    state: str
    keep: tuple[str, ...]

    def names_for(self, count: int) -> list[str]:
        """One name for each walk. With a key they have to be given, and each be different: walks of the
        same name would share their randomness."""
        if self.names is None:
            if self.source.kind == "key":
                raise ParameterError(
                    "with a key every walk needs a name of its own, or walks would share their "
                    "randomness: give names=, a dict of walks, or a table with trajectories"
                )
            return [str(place) for place in range(count)]
        if len(self.names) != count:
            raise ParameterError(f"names: there are {len(self.names)} names for {count} walks")
        if self.source.kind == "key" and len(set(self.names)) < count:
            seen: set[str] = set()
            twice = next(name for name in self.names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            raise ParameterError(
                f"names: {twice!r} stands for two walks; with a key every walk needs a name of its own"
            )
        return self.names

    def lists(self, walks: Iterable[object], count: int) -> list[list[Any]]:
        """Releases lists of states."""
        return _native.release_lists(
            self.mechanism,
            self.source,
            self.start,
            self.states,
            walks,
            self.names_for(count),
            self.threads,
        )

    def list_column(self, column: object, name: str, names: list[str] | None) -> Any:
        """Releases an Arrow column of lists."""
        return _native.release_list_column(
            self.mechanism,
            self.source,
            self.start,
            self.states,
            column,
            name,
            names,
            self.threads,
        )

    def long(self, trajectory: object, step: object, state: object, name: str) -> tuple[Any, Any]:
        """Releases Arrow columns with one state a row."""
        return _native.release_long(
            self.mechanism,
            self.source,
            self.start,
            self.states,
            trajectory,
            step,
            state,
            (self.trajectory, self.step or "step", self.state),
            name,
            self.threads,
        )


def name_text(value: object) -> str:
    """The name of a walk as text; an integer is its digits."""
    if isinstance(value, str):
        return value
    if not isinstance(value, bool):
        try:
            return str(value.__index__())  # type: ignore[attr-defined]
        except AttributeError:
            pass
    kind = type(value).__name__
    raise WalkError(f"a name of type {kind}; a walk is named by a text or a whole number")


def privatize(walks: Walks, how: How) -> Walks:
    """Releases walks of any kind."""
    return cast("Walks", _release(walks, how))


def _release(walks: Any, how: How) -> Any:
    module = type(walks).__module__.partition(".")[0]
    kind = type(walks).__name__
    if module == "pandas" and kind == "DataFrame":
        return _Pandas(how).frame(walks)
    if module == "pandas" and kind == "Series":
        return _Pandas(how).series(walks)
    if module == "polars" and kind == "DataFrame":
        return _Polars(how).frame(walks)
    if module == "polars" and kind == "Series":
        return _Polars(how).series(walks)
    if module == "pyarrow" and kind in {"Table", "RecordBatch"}:
        return _Arrow(how).frame(walks)
    if module == "pyarrow" and hasattr(walks, "type"):
        return _Arrow(how).series(walks)
    if module == "numpy" and kind == "ndarray":
        return _numpy(walks, how)
    if isinstance(walks, Mapping):
        listed = [list(walk) if _is_array(walk) else walk for walk in walks.values()]
        named = replace(how, names=[name_text(name) for name in walks])
        released = named.lists(listed, len(listed))
        return {name: _like(walk, new) for (name, walk), new in zip(walks.items(), released, strict=True)}
    if isinstance(walks, list | tuple):
        return _lists(walks, how)
    hint = "; collect it first" if kind == "LazyFrame" else ""
    raise WalkError(
        f"walks of type {type(walks).__qualname__}{hint}; give a list of lists, a dict of lists, a NumPy "
        "array, or a table or column of pandas, Polars or pyarrow"
    )


def _is_array(walk: object) -> bool:
    return hasattr(walk, "tolist")


def _like(walk: Any, released: list[Any]) -> Any:
    """A released walk in the kind of the real one."""
    if isinstance(walk, tuple):
        return tuple(released)
    if type(walk).__module__ == "numpy":
        return _array_like(walk, released)
    return released


def _lists(walks: list[Any] | tuple[Any, ...], how: How) -> Any:
    if not walks:
        return type(walks)()
    first = walks[0]
    if isinstance(first, list | tuple) or (_is_array(first) and getattr(first, "ndim", 0) == 1):
        plain = [walk.tolist() if _is_array(walk) else walk for walk in walks]
        released = how.lists(plain, len(plain))
        return type(walks)(_like(walk, new) for walk, new in zip(walks, released, strict=True))
    # Anything else is taken for a state, and refused by its type if it is none.
    released = how.lists([walks], 1)
    return type(walks)(released[0])


# NumPy


def _array_like(array: Any, released: Any) -> Any:
    """Released states in an array of the same kind."""
    import numpy as np

    if array.dtype.kind != "U":
        return np.array(released, dtype=array.dtype)
    # Labels may be longer than those that were given.
    made = np.array(released, dtype=str)
    return made if made.dtype.itemsize > array.dtype.itemsize else made.astype(array.dtype)


def _check_fit(how: How, dtype: Any) -> None:
    """Refuses an array that could not hold every state that may be released."""
    import numpy as np

    limits = np.iinfo(dtype)
    labels = how.mechanism.labels
    numbers = range(len(labels)) if how.states == "numbers" else map(int, _whole(labels))
    for number in numbers:
        if not limits.min <= number <= limits.max:
            raise WalkError(
                f"the chain's state {number} does not fit into an array of type {dtype}; give larger integers"
            )


def _whole(labels: Iterable[str]) -> Iterable[str]:
    return (label for label in labels if label.removeprefix("-").isdecimal())


def _numpy(array: Any, how: How) -> Any:
    import numpy as np

    if array.ndim not in (1, 2):
        raise WalkError(
            f"an array of {array.ndim} dimensions; give one for one walk, two for a walk in each row"
        )
    if array.size == 0:
        return array.copy()
    count = 1 if array.ndim == 1 else array.shape[0]
    if array.dtype.kind in "iu":
        largest = np.iinfo(np.int64).max
        if array.dtype.kind == "u" and array.max() > largest:
            raise WalkError(f"{array.max()} is larger than any label")
        _check_fit(how, array.dtype)
        flat = np.ascontiguousarray(array, dtype=np.int64).reshape(-1)
        released = _native.release_numbers(
            how.mechanism,
            how.source,
            how.start,
            how.states,
            flat,
            how.names_for(count),
            how.threads,
        )
        return released.astype(array.dtype).reshape(array.shape)
    if array.dtype.kind not in "UOT":
        raise WalkError(
            f"an array of type {array.dtype}; states are texts or whole numbers, as labels or with "
            'states="numbers" as places'
        )
    if array.ndim == 1 and isinstance(array[0], list | tuple | np.ndarray):
        walks = how.lists([list(walk) for walk in array], len(array))
        made = np.empty(len(array), dtype=object)
        made[:] = [_like(walk, new) for walk, new in zip(array, walks, strict=True)]
        return made
    if array.ndim == 1:
        return _array_like(array, how.lists([array.tolist()], 1)[0])
    return _array_like(array, how.lists(array.tolist(), count))


# Tables


class _Tables:
    """What the libraries of tables have in common. A subclass says how theirs does it."""

    def __init__(self, how: How) -> None:
        self.how = how

    def columns(self, frame: Any) -> list[str]:
        raise NotImplementedError

    def column(self, frame: Any, name: str) -> Any:
        raise NotImplementedError

    def is_lists(self, column: Any) -> bool:
        raise NotImplementedError

    def native(self, column: Any, name: str) -> Any:
        """The column as something with Arrow's C interface."""
        raise NotImplementedError

    def back(self, released: Any, like: Any) -> Any:
        """A released column as one of the library's, of the type of the given one."""
        raise NotImplementedError

    def assemble(self, frame: Any, columns: dict[str, Any]) -> Any:
        raise NotImplementedError

    def values(self, column: Any) -> list[Any]:
        raise NotImplementedError

    def series(self, column: Any) -> Any:
        """A column by itself: one walk, or a walk in each row."""
        if len(column) == 0:
            return column
        name = str(getattr(column, "name", None) or "walks")
        if self.is_lists(column):
            names = self.how.names_for(len(column))
            return self.back(self.how.list_column(self.native(column, name), name, names), column)
        only = self.how.names_for(1)[0]
        how = replace(self.how, state=name)
        released, _ = how.long(None, None, self.native(column, name), only)
        return self.back(released, column)

    def frame(self, frame: Any) -> Any:
        how = self.how
        present = self.columns(frame)
        for name in [how.state, *how.keep]:
            if name not in present:
                listed = ", ".join(repr(column) for column in present)
                raise WalkError(f"there is no column {name!r}; the columns are {listed}")
        if how.keep:
            warn(f"keep: {', '.join(how.keep)} is released as it is, unprotected")
        kept = {name: self.column(frame, name) for name in how.keep}
        states = self.column(frame, how.state)
        if self.is_lists(states):
            columns = self.list_form(frame, states, how.trajectory in present)
        else:
            columns = self.long_form(frame, states, present)
        return self.assemble(frame, columns | kept)

    def list_form(self, frame: Any, states: Any, has_names: bool) -> dict[str, Any]:
        how = self.how
        columns: dict[str, Any] = {}
        if has_names:
            trajectories = self.column(frame, how.trajectory)
            columns[how.trajectory] = trajectories
            names = []
            for row, value in enumerate(self.values(trajectories)):
                if value is None or value != value:
                    raise WalkError(
                        f'column "{how.trajectory}", row {row}: a missing value; every walk needs a name'
                    )
                names.append(name_text(value))
            how = replace(how, names=names)
        names = how.names_for(len(states))
        released = how.list_column(self.native(states, how.state), how.state, names)
        columns[how.state] = self.back(released, states)
        return columns

    def long_form(self, frame: Any, states: Any, present: list[str]) -> dict[str, Any]:
        how = self.how
        if how.trajectory not in present:
            listed = ", ".join(repr(column) for column in present)
            raise WalkError(
                f"there is no column {how.trajectory!r} to tell walks apart; the columns are {listed}. "
                f"Name it with trajectory=, or give the column {how.state!r} alone if it is one walk"
            )
        if how.step not in (None, "step") and how.step not in present:
            listed = ", ".join(repr(column) for column in present)
            raise WalkError(f"there is no column {how.step!r}; the columns are {listed}")
        trajectories = self.column(frame, how.trajectory)
        steps = self.column(frame, how.step) if how.step in present and how.step else None
        if len(states) == 0:
            columns = {how.trajectory: trajectories, how.state: states}
            return columns if steps is None else columns | {cast("str", how.step): steps}
        released, numbers = how.long(
            self.native(trajectories, how.trajectory),
            None if steps is None else self.native(steps, how.step or "step"),
            self.native(states, how.state),
            "",
        )
        if steps is None:
            columns = {how.trajectory: trajectories, "step": self.numbers(numbers, states)}
        else:
            columns = {how.trajectory: trajectories, cast("str", how.step): steps}
        columns[how.state] = self.back(released, states)
        return columns

    def numbers(self, numbers: Any, like: Any) -> Any:
        raise NotImplementedError


class _Polars(_Tables):
    def columns(self, frame: Any) -> list[str]:
        return list(frame.columns)

    def column(self, frame: Any, name: str) -> Any:
        return frame.get_column(name)

    def is_lists(self, column: Any) -> bool:
        import polars as pl

        return isinstance(column.dtype, pl.List | pl.Array)

    def native(self, column: Any, name: str) -> Any:
        import polars as pl

        if column.dtype == pl.Null:
            raise WalkError(f'column "{name}": the type is Null: all values are missing')
        return column

    def back(self, released: Any, like: Any) -> Any:
        import polars as pl

        series = pl.Series(like.name, released)
        if series.dtype == like.dtype:
            return series
        if isinstance(like.dtype, pl.Enum):
            known = set(like.dtype.categories.to_list())
            lacking = next((label for label in self.how.mechanism.labels if label not in known), None)
            if lacking is not None:
                raise WalkError(
                    f"column {like.name!r}: the Enum lacks the chain's state {lacking!r}, which a release "
                    "may need; use a Categorical, or an Enum of all states"
                )
            return series.cast(pl.String).cast(like.dtype)
        return series.cast(like.dtype)

    def assemble(self, frame: Any, columns: dict[str, Any]) -> Any:
        import polars as pl

        return pl.DataFrame([column.alias(name) for name, column in columns.items()])

    def values(self, column: Any) -> list[Any]:
        return cast("list[Any]", column.to_list())

    def numbers(self, numbers: Any, like: Any) -> Any:
        import polars as pl

        return pl.Series("step", numbers)


class _Arrow(_Tables):
    def columns(self, frame: Any) -> list[str]:
        return list(frame.column_names)

    def column(self, frame: Any, name: str) -> Any:
        return frame.column(name)

    def is_lists(self, column: Any) -> bool:
        import pyarrow as pa

        kind = column.type
        tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
        return any(is_such(kind) for is_such in tests)

    def native(self, column: Any, name: str) -> Any:
        return column

    def back(self, released: Any, like: Any) -> Any:
        import pyarrow as pa

        chunked = pa.chunked_array(released)
        return chunked if isinstance(like, pa.ChunkedArray) else chunked.combine_chunks()

    def assemble(self, frame: Any, columns: dict[str, Any]) -> Any:
        return type(frame).from_arrays(list(columns.values()), names=list(columns))

    def values(self, column: Any) -> list[Any]:
        return cast("list[Any]", column.to_pylist())

    def numbers(self, numbers: Any, like: Any) -> Any:
        return self.back(numbers, like)


class _Pandas(_Tables):
    def columns(self, frame: Any) -> list[str]:
        return list(frame.columns)

    def column(self, frame: Any, name: str) -> Any:
        return frame[name]

    def is_lists(self, column: Any) -> bool:
        if "list" in str(column.dtype):
            return True
        if column.dtype != object:
            return False
        first = next((value for value in column if value is not None), None)
        return isinstance(first, list | tuple) or getattr(first, "ndim", 0) == 1

    def native(self, column: Any, name: str) -> Any:
        if importlib.util.find_spec("pyarrow") is None:
            raise WalkError(
                "tables of pandas are released through pyarrow, which is not installed; pip install pyarrow"
            )
        import pyarrow as pa

        try:
            return pa.array(column, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            kinds = sorted({type(value).__name__ for value in column if value is not None})
            raise WalkError(
                f"column {name!r}: values of type {' and '.join(kinds)}; give texts or whole numbers in "
                f"one kind ({error})"
            ) from None

    def back(self, released: Any, like: Any) -> Any:
        import pandas as pd
        import pyarrow as pa

        array = pa.chunked_array(released)
        if isinstance(like.dtype, pd.CategoricalDtype):
            whole = array.combine_chunks()
            made: Any = pd.Categorical.from_codes(
                whole.indices.to_numpy(),
                categories=whole.dictionary.to_pylist(),
                ordered=bool(like.dtype.ordered),
            )
        elif isinstance(like.dtype, pd.ArrowDtype):
            made = pd.arrays.ArrowExtensionArray(array.cast(like.dtype.pyarrow_dtype))
        elif self.is_lists(like):
            made = pd.array(
                [_like(old, new) for old, new in zip(like, array.to_pylist(), strict=True)],
                dtype=object,
            )
        elif like.dtype.kind in "iu":
            made = array.to_numpy().astype(like.dtype)
        elif like.dtype == object:
            made = array.to_numpy(zero_copy_only=False).astype(object)
        else:
            made = pd.array(array.to_pandas(), dtype=like.dtype)
        # A dtype that is given is not guessed: objects stay objects.
        dtype = made.dtype
        return pd.Series(made, index=like.index, name=like.name, dtype=dtype)

    def assemble(self, frame: Any, columns: dict[str, Any]) -> Any:
        import pandas as pd

        return pd.DataFrame(columns, index=frame.index)

    def values(self, column: Any) -> list[Any]:
        return cast("list[Any]", column.tolist())

    def numbers(self, numbers: Any, like: Any) -> Any:
        import pandas as pd
        import pyarrow as pa

        return pd.Series(pa.chunked_array(numbers).to_numpy(), index=like.index)
