"""Tables and columns of pandas, Polars and pyarrow: through Arrow's C interface, without a copy where the
library allows it. Rows become walks in the native part, in `groups.rs`."""

from __future__ import annotations

import contextlib
import importlib.util
from dataclasses import replace
from typing import Any, cast

from veilwalk._native import ParameterError, WalkError
from veilwalk.how import OBSERVED, Answer, How, both, name_text, unlike
from veilwalk.warning import warn


class Tables:
    """What the libraries of tables have in common. A subclass says how theirs does it."""

    def __init__(self, how: How) -> None:
        self.how = how

    @staticmethod
    def columns(frame: Any) -> list[str]:
        raise NotImplementedError

    @staticmethod
    def column(frame: Any, name: str) -> Any:
        raise NotImplementedError

    @staticmethod
    def is_lists(column: Any) -> bool:
        raise NotImplementedError

    def trajectories(self, frame: Any) -> Any:
        """The names of the walks, as they come back."""
        return self.alone(self.column(frame, self.how.trajectory))

    def alone(self, column: Any) -> Any:
        """A column that is released as it is, without what may lie beside it in memory: a slice, or a part of
        a text, can share that with all it was cut from."""
        return column

    @staticmethod
    def native(column: Any, name: str) -> Any:
        """The column as something with Arrow's C interface."""
        raise NotImplementedError

    def check(self, states: Any) -> None:
        """Refuses a column of states whose type cannot hold every state that may be released: before anything
        is charged or released."""

    def back(self, released: Any, like: Any) -> Any:
        """A released column as one of the library's, of the type of the given one."""
        raise NotImplementedError

    def empty(self, like: Any) -> Any:
        """A released column of no states, of the type of the given one."""
        raise NotImplementedError

    def assemble(self, frame: Any, columns: dict[str, Any]) -> Any:
        raise NotImplementedError

    @staticmethod
    def rows(table: Any, known: Any) -> Any:
        """The rows of a table or column for which this array says so."""
        raise NotImplementedError

    @staticmethod
    def values(column: Any) -> list[Any]:
        raise NotImplementedError

    @staticmethod
    def made(columns: dict[str, list[Any]]) -> Any:
        """A new table of these columns."""
        raise NotImplementedError

    def series(self, column: Any) -> Answer:
        """A column by itself: one walk, or a walk in each row."""
        self.check(column)
        if len(column) == 0:
            return self.how.nothing(lambda: self.empty(column))
        name = str(getattr(column, "name", None) or "walks")
        if self.is_lists(column):
            names = self.how.names_for(len(column))
            answer = self.how.list_column(self.native(column, name), name, names)
            return self.both_back(answer, column)
        only = self.how.names_for(1)[0]
        how = replace(self.how, state=name)
        known = how.known_rows(self.native(column, name))
        if known is not None:
            column = self.rows(column, known)
            if len(column) == 0:
                return how.nothing(lambda: self.empty(column))
        released, observed, _ = how.long(None, None, self.native(column, name), only)
        return self.both_back((released, observed), column)

    def both_back(self, answer: Answer, like: Any) -> Answer:
        """What was released and what was observed in the kind of the real states; places as texts."""
        places = self.how.manner.observes_places
        return unlike(
            answer,
            lambda new: self.back(new, like),
            lambda new: self.texts(new, like) if places else self.back(new, like),
        )

    def texts(self, observed: Any, like: Any) -> Any:
        """A column of texts, or of lists of them, in the library that this column is of."""
        raise NotImplementedError

    def frame(self, frame: Any) -> Any:
        how = self.how
        present = self.columns(frame)
        listed = ", ".join(repr(column) for column in present)
        for name in [how.state, *how.keep]:
            if name not in present:
                raise WalkError(f"there is no column {name!r}; the columns are {listed}")
        states = self.column(frame, how.state) if present.count(how.state) == 1 else None
        lists = states is not None and self.is_lists(states)
        step = None if lists else how.step
        own = [name for name in (how.trajectory, step, how.state) if name is not None]
        for name in [*own, *how.keep]:
            if present.count(name) > 1:
                raise WalkError(f"there are two columns {name!r}; the columns are {listed}")
        if len(set(own)) < len(own):
            raise ParameterError("trajectory, step and state have to be different columns")
        if how.state in how.keep:
            raise ParameterError(
                f"keep: {how.state!r} holds the real states, which would be released in place of the others"
            )
        for name in own:
            if name in how.keep:
                raise ParameterError(f"keep: {name!r} comes back in any case; leave it out")
        if how.manner.observes and OBSERVED in [*own, *how.keep]:
            raise ParameterError(
                f"{OBSERVED!r} is the column for what was observed, so nothing else can have that name; "
                "rename your column"
            )
        if how.names is not None and how.trajectory in present:
            raise ParameterError(f"names: a table names its walks in the column {how.trajectory!r}")
        if how.manner.skips and how.keep:
            raise ParameterError(
                f'keep: with unknown_state="skip" the values of {", ".join(how.keep)} that are missing would '
                "show which rows were left out; keep none, or give a state to take instead of unknown ones"
            )
        if how.manner.skips and step in present:
            raise ParameterError(
                f'unknown_state="skip": the column {step!r} would show which rows were left out; sort the '
                "rows by it and give step=None, or give a state to take instead of unknown ones"
            )
        if how.keep:
            warn(f"keep: {', '.join(how.keep)} is released as it is, unprotected")
        kept = {name: self.alone(self.column(frame, name)) for name in how.keep}
        self.check(states)
        if states is not None and not lists and len(states) > 0:
            known = how.known_rows(self.native(states, how.state))
            if known is not None:
                frame = self.rows(frame, known)
                states = self.column(frame, how.state)
        if lists:
            columns = self.list_form(frame, states, how.trajectory in present)
        else:
            columns = self.long_form(frame, states, present)
        return self.assemble(frame, columns | kept)

    def list_form(self, frame: Any, states: Any, has_names: bool) -> dict[str, Any]:
        how = self.how
        columns: dict[str, Any] = {}
        if has_names:
            trajectories = self.trajectories(frame)
            columns[how.trajectory] = trajectories
            names = self.values(trajectories)
            if any(type(value) is not str for value in names):
                names = self.checked_names(names)
            how = replace(how, names=names)
        names = how.names_for(len(states))
        answer = how.list_column(self.native(states, how.state), how.state, names)
        return columns | self.answered(self.both_back(answer, states))

    def answered(self, answer: Answer) -> dict[str, Any]:
        """The columns of what was released and, if it was, of what was observed."""
        released, observed = answer
        columns = {self.how.state: released}
        return columns if observed is None else columns | {OBSERVED: observed}

    def checked_names(self, values: list[Any]) -> list[str]:
        """Names that are not all texts."""
        for row, value in enumerate(values):
            if value is None or value != value:
                raise WalkError(
                    f'column "{self.how.trajectory}", row {row}: a missing value; every walk needs a name'
                )
        return [name_text(value) for value in values]

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
        trajectories = self.trajectories(frame)
        steps = self.alone(self.column(frame, how.step)) if how.step in present and how.step else None
        if len(states) == 0:
            numbered = self.no_numbers(states) if steps is None else steps
            columns = {how.trajectory: trajectories, how.step or "step": numbered}
            return columns | self.answered(both(how.nothing(lambda: states), self.empty))
        released, observed, numbers = how.long(
            self.native(trajectories, how.trajectory),
            None if steps is None else self.native(steps, how.step or "step"),
            self.native(states, how.state),
            "",
        )
        if steps is None:
            columns = {how.trajectory: trajectories, "step": self.numbers(numbers, states)}
        else:
            columns = {how.trajectory: trajectories, cast("str", how.step): steps}
        return columns | self.answered(self.both_back((released, observed), states))

    def numbers(self, numbers: Any, like: Any) -> Any:
        raise NotImplementedError

    def no_numbers(self, like: Any) -> Any:
        """An empty column of whole numbers."""
        raise NotImplementedError


class Polars(Tables):
    @staticmethod
    def columns(frame: Any) -> list[str]:
        return list(frame.columns)

    @staticmethod
    def column(frame: Any, name: str) -> Any:
        return frame.get_column(name)

    @staticmethod
    def is_lists(column: Any) -> bool:
        import polars as pl

        return isinstance(column.dtype, pl.List | pl.Array)

    @staticmethod
    def native(column: Any, name: str) -> Any:
        import polars as pl

        if column.dtype == pl.Null:
            raise WalkError(f'column "{name}": the type is Null: all values are missing')
        if str(column.dtype) in {"Int128", "UInt128"}:
            raise WalkError(f'column "{name}": the type is {column.dtype}; give whole numbers of 64 bits')
        return column

    def back(self, released: Any, like: Any) -> Any:
        import polars as pl

        series = pl.Series(like.name, released)
        if series.dtype == like.dtype:
            return series
        if isinstance(like.dtype, pl.Enum):
            return series.cast(pl.String).cast(like.dtype)
        if isinstance(_state_type(like), pl.Enum):
            series = series.cast(pl.List(pl.String)).cast(pl.List(_state_type(like)))
        return series.cast(like.dtype)

    def texts(self, observed: Any, like: Any) -> Any:
        import polars as pl

        return pl.Series(like.name, observed)

    def check(self, states: Any) -> None:
        import polars as pl

        kind = _state_type(states)
        if isinstance(kind, pl.Enum):
            known = set(kind.categories.to_list())
            lacking = next((label for label in self.how.labels if label not in known), None)
            if lacking is not None:
                raise WalkError(
                    f"column {states.name!r}: the Enum lacks the chain's state {lacking!r}, which a release "
                    "may need; use a Categorical, or an Enum of all states"
                )

    def empty(self, like: Any) -> Any:
        return like.clear()

    def assemble(self, frame: Any, columns: dict[str, Any]) -> Any:
        import polars as pl

        return pl.DataFrame([column.alias(name) for name, column in columns.items()])

    @staticmethod
    def rows(table: Any, known: Any) -> Any:
        import polars as pl

        return table.filter(pl.Series(known))

    @staticmethod
    def values(column: Any) -> list[Any]:
        return cast("list[Any]", column.to_list())

    @staticmethod
    def made(columns: dict[str, list[Any]]) -> Any:
        import polars as pl

        return pl.DataFrame(columns)

    def numbers(self, numbers: Any, like: Any) -> Any:
        import polars as pl

        return pl.Series("step", numbers)

    def no_numbers(self, like: Any) -> Any:
        import polars as pl

        return pl.Series("step", [], dtype=pl.Int64)


def _state_type(states: Any) -> Any:
    """The type of states in a column of Polars, or in its lists."""
    return getattr(states.dtype, "inner", states.dtype)


class Arrow(Tables):
    @staticmethod
    def columns(frame: Any) -> list[str]:
        return list(frame.column_names)

    @staticmethod
    def column(frame: Any, name: str) -> Any:
        return frame.column(name)

    @staticmethod
    def is_lists(column: Any) -> bool:
        import pyarrow as pa

        kind = column.type
        tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
        return any(is_such(kind) for is_such in tests)

    def trajectories(self, frame: Any) -> Any:
        return _without_unused(self.alone(frame.column(self.how.trajectory)))

    def alone(self, column: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = column.type
        # Views of texts show a part of what they refer to.
        plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
        if kind in plain:
            return column.cast(plain[kind]).cast(kind)
        if "view" not in str(kind):
            if column.nbytes >= column.get_total_buffer_size():
                return column
            with contextlib.suppress(pa.ArrowNotImplementedError):
                return column.take(pc.indices_nonzero(pa.repeat(True, len(column))))
        made = pa.array(column.to_pylist(), kind)
        return pa.chunked_array([made]) if isinstance(column, pa.ChunkedArray) else made

    @staticmethod
    def native(column: Any, name: str) -> Any:
        return column

    def back(self, released: Any, like: Any) -> Any:
        import pyarrow as pa

        chunked = pa.chunked_array(released)
        return chunked if isinstance(like, pa.ChunkedArray) else chunked.combine_chunks()

    def texts(self, observed: Any, like: Any) -> Any:
        return self.back(observed, like)

    def empty(self, like: Any) -> Any:
        import pyarrow as pa

        return (
            pa.chunked_array([], like.type) if isinstance(like, pa.ChunkedArray) else pa.array([], like.type)
        )

    def assemble(self, frame: Any, columns: dict[str, Any]) -> Any:
        return type(frame).from_arrays(list(columns.values()), names=list(columns))

    @staticmethod
    def rows(table: Any, known: Any) -> Any:
        import pyarrow as pa

        return table.filter(pa.array(known))

    @staticmethod
    def values(column: Any) -> list[Any]:
        return cast("list[Any]", column.to_pylist())

    @staticmethod
    def made(columns: dict[str, list[Any]]) -> Any:
        import pyarrow as pa

        return pa.table(columns)

    def numbers(self, numbers: Any, like: Any) -> Any:
        return self.back(numbers, like)

    def no_numbers(self, like: Any) -> Any:
        import pyarrow as pa

        return pa.array([], type=pa.int64())


def _without_unused(column: Any) -> Any:
    """A column of Arrow without values of its dictionary that do not occur: they are no part of a release."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column
    return column.cast(column.type.value_type).dictionary_encode().cast(column.type)


class Pandas(Tables):
    @staticmethod
    def columns(frame: Any) -> list[str]:
        return list(frame.columns)

    @staticmethod
    def column(frame: Any, name: str) -> Any:
        return frame[name]

    def trajectories(self, frame: Any) -> Any:
        import pandas as pd

        column = frame[self.how.trajectory]
        if isinstance(column.dtype, pd.CategoricalDtype):
            # Categories that do not occur are no part of a release.
            return column.cat.remove_unused_categories()
        return self.alone(column)

    def alone(self, column: Any) -> Any:
        import pandas as pd

        arrow = isinstance(column.dtype, pd.ArrowDtype)
        if not arrow and getattr(column.dtype, "storage", None) != "pyarrow":
            return column
        import pyarrow as pa

        array = pa.array(column)
        whole = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
        made = column.dtype.__from_arrow__(_without_unused(Arrow(self.how).alone(whole)))
        return pd.Series(made, index=column.index, name=column.name, dtype=column.dtype)

    @staticmethod
    def is_lists(column: Any) -> bool:
        if "list" in str(column.dtype):
            return True
        if column.dtype != object:
            return False
        first = next((value for value in column if value is not None), None)
        return isinstance(first, list | tuple) or getattr(first, "ndim", 0) == 1

    @staticmethod
    def native(column: Any, name: str) -> Any:
        if importlib.util.find_spec("pyarrow") is None:
            raise WalkError(
                "tables of pandas are read through pyarrow, which is not installed; pip install pyarrow"
            )
        import pyarrow as pa

        try:
            return pa.array(column, from_pandas=True)
        except OverflowError:
            raise WalkError(f"column {name!r}: a whole number of more than 64 bits") from None
        except UnicodeEncodeError:
            raise WalkError(f"column {name!r}: a string that is not Unicode") from None
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            kinds = sorted({type(value).__name__ for value in column if value is not None})
            raise WalkError(
                f"column {name!r}: values of type {' and '.join(kinds)}; give strings or integers in "
                f"one kind ({error})"
            ) from None

    def back(self, released: Any, like: Any) -> Any:
        import numpy as np
        import pandas as pd
        import pyarrow as pa

        array = pa.chunked_array(released)
        if isinstance(like.dtype, pd.CategoricalDtype):
            whole = array.combine_chunks()
            made: Any = pd.Categorical.from_codes(whole.indices.to_numpy(), whole.dictionary.to_pylist())
            # An order that someone gave to all states stays. Any other may be that of the real walks.
            if like.dtype.ordered and set(like.dtype.categories) == set(made.categories):
                made = made.reorder_categories(like.dtype.categories, ordered=True)
        elif isinstance(like.dtype, pd.ArrowDtype):
            # There may be more states than the keys of its dictionary can count.
            with contextlib.suppress(pa.ArrowInvalid):
                array = array.cast(like.dtype.pyarrow_dtype)
            made = pd.arrays.ArrowExtensionArray(array)
        elif self.is_lists(like):
            made = pd.array(
                [self.how.like(old, new) for old, new in zip(like, array.to_pylist(), strict=True)],
                dtype=object,
            )
        elif isinstance(like.dtype, np.dtype) and like.dtype.kind in "iu":
            made = array.to_numpy().astype(like.dtype)
        elif like.dtype == object:
            made = array.to_numpy(zero_copy_only=False).astype(object)
        else:
            made = pd.array(array.to_pandas(), dtype=like.dtype)
        # A dtype that is given is not guessed: objects stay objects.
        dtype = made.dtype
        return pd.Series(made, index=row_numbers(like.index), name=like.name, dtype=dtype)

    def texts(self, observed: Any, like: Any) -> Any:
        import pandas as pd
        import pyarrow as pa

        values = pa.chunked_array(observed).to_pylist()
        if self.is_lists(like):
            values = [self.how.like(old, new) for old, new in zip(like, values, strict=True)]
        return pd.Series(pd.array(values, dtype=object), index=row_numbers(like.index), name=like.name)

    def empty(self, like: Any) -> Any:
        import pandas as pd

        categorical = isinstance(like.dtype, pd.CategoricalDtype)
        dtype = pd.CategoricalDtype(self.how.labels) if categorical else like.dtype
        return pd.Series([], dtype=dtype, index=row_numbers(like.index), name=like.name)

    def assemble(self, frame: Any, columns: dict[str, Any]) -> Any:
        import pandas as pd

        index = row_numbers(frame.index)
        return pd.DataFrame({name: column.set_axis(index) for name, column in columns.items()})

    @staticmethod
    def rows(table: Any, known: Any) -> Any:
        # A new index: numbers that are missing from the old one would show the gaps.
        return table[known].reset_index(drop=True)

    @staticmethod
    def values(column: Any) -> list[Any]:
        return cast("list[Any]", column.tolist())

    @staticmethod
    def made(columns: dict[str, list[Any]]) -> Any:
        import pandas as pd

        return pd.DataFrame(columns)

    def numbers(self, numbers: Any, like: Any) -> Any:
        import pandas as pd
        import pyarrow as pa

        return pd.Series(pa.chunked_array(numbers).to_numpy(), index=row_numbers(like.index))

    def no_numbers(self, like: Any) -> Any:
        import pandas as pd

        return pd.Series([], index=row_numbers(like.index), dtype="int64")


def row_numbers(index: Any) -> Any:
    """The index of a release: the given one if it numbers rows, and else a new one, since what an index holds
    is released no more than any other column. Numbers that do not increase may be those of the real states,
    or tell how rows were sorted by them."""
    import pandas as pd

    plain = index.nlevels == 1 and index.name is None and getattr(index.dtype, "kind", "") in "iu"
    numbers = plain and index.is_monotonic_increasing and index.is_unique
    return index if numbers else pd.RangeIndex(len(index))


FRAMES = {"DataFrame", "Table", "RecordBatch"}


def library_of(walks: Any) -> type[Tables] | None:
    """The library that a table or a column is of, if it is one."""
    module, kind = type(walks).__module__.partition(".")[0], type(walks).__name__
    if module == "pandas" and kind in {"DataFrame", "Series"}:
        return Pandas
    if module == "polars" and kind in {"DataFrame", "Series"}:
        return Polars
    if module == "pyarrow" and (kind in FRAMES or hasattr(walks, "type")) and hasattr(walks, "__len__"):
        return Arrow
    return None


def collect(
    library: type[Tables], frame: Any, trajectory: str, step: str | None, state: str
) -> list[list[Any]]:
    """The walks of a table as lists of states, in the order in which they begin."""
    present = library.columns(frame)
    lacking = next((name for name in (state, trajectory) if name not in present), None)
    lists = state in present and library.is_lists(library.column(frame, state))
    if lacking is not None and not lists:
        listed = ", ".join(repr(column) for column in present)
        raise WalkError(f"there is no column {lacking!r}; the columns are {listed}")
    states = library.values(library.column(frame, state))
    if lists:
        return [list(walk) for walk in states]
    names = library.values(library.column(frame, trajectory))
    steps = library.values(library.column(frame, step)) if step in present and step else range(len(names))
    walks: dict[Any, list[tuple[Any, Any]]] = {}
    for name, number, value in zip(names, steps, states, strict=True):
        walks.setdefault(name, []).append((number, value))
    try:
        ordered = [sorted(walk, key=lambda row: row[0]) for walk in walks.values()]
    except TypeError as error:
        raise WalkError(f"column {step!r}: steps that have no order ({error})") from None
    return [[value for _, value in walk] for walk in ordered]
