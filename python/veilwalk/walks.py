"""Takes walks of any kind, sends each to the code for its kind, and gives the same kind back.

Lists and NumPy arrays go straight to the native part; tables are in `tables.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from veilwalk import _native, tables
from veilwalk._native import ParameterError, WalkError
from veilwalk.how import OBSERVED, Answer, How, both, is_array, name_text, unlike


def privatize(walks: Any, how: How) -> Answer:
    """Releases walks of any kind. What was observed is by itself, but for a table, where it is a column."""
    library, kind = tables.library_of(walks), type(walks).__name__
    frame = library is not None and kind in tables.FRAMES
    if how.observed and not how.manner.observes:
        raise ParameterError(
            "observed: this mechanism draws moves, so nothing is observed beside what is released; choose "
            '"tight", "believed" or "plane", or leave observed= out'
        )
    if how.observed and frame:
        raise ParameterError(
            f"observed: of a table, what was observed comes back in the column {OBSERVED!r} in any case; "
            "leave observed= out"
        )
    if library is not None:
        made = library(how)
        return (made.frame(walks), None) if frame else made.series(walks)
    if type(walks).__module__ == "numpy" and kind == "ndarray":
        return _numpy(walks, how)
    if isinstance(walks, Mapping):
        named = replace(how, names=[name_text(name) for name in walks])
        return both(named.each(walks.values()), lambda new: dict(zip(walks, new, strict=True)))
    if isinstance(walks, list | tuple):
        return _lists(walks, how)
    hint = "; collect it first" if kind == "LazyFrame" else ""
    raise WalkError(
        f"walks of type {type(walks).__qualname__}{hint}; give a list of lists, a dict of lists, a NumPy "
        "array, or a table or column of pandas, Polars or pyarrow"
    )


def collect(walks: Any, trajectory: str, step: str | None, state: str) -> list[list[Any]]:
    """Walks of any kind that `privatize` takes, as lists of states."""
    library, kind = tables.library_of(walks), type(walks).__name__
    if library is not None and kind in tables.FRAMES:
        return tables.collect(library, walks, trajectory, step, state)
    if library is not None:
        walks = library.values(walks)
    elif type(walks).__module__ == "numpy" and kind == "ndarray":
        walks = walks.tolist()
    elif isinstance(walks, Mapping):
        walks = list(walks.values())
    elif isinstance(walks, str) or not isinstance(walks, Iterable):
        raise WalkError(f"walks of type {type(walks).__qualname__}; give walks as `privatize` takes them")
    listed = [walk.tolist() if is_array(walk) else walk for walk in walks]
    if not listed or not isinstance(listed[0], Iterable) or isinstance(listed[0], str):
        # States, and so one walk, as for `privatize`; what is no state is refused as such.
        listed = [listed] if listed else []
    for place, walk in enumerate(listed):
        if isinstance(walk, str) or not isinstance(walk, Iterable):
            raise WalkError(f"walk {place} is {walk!r}; a walk is a list of states")
    return [list(walk) for walk in listed]


def persons_of(walks: Any, person: object, count: int, trajectory: str, step: str | None) -> list[str]:
    """Whose walk each of so many is, in the order of `collect`."""
    library, kind = tables.library_of(walks), type(walks).__name__
    if isinstance(person, str):
        if library is None or kind not in tables.FRAMES:
            raise ParameterError(
                f"person: {person!r} would be a column, and these walks are no table; give a list with one "
                "entry for each walk"
            )
        owners: list[str] = []
        for rows in tables.collect(library, walks, trajectory, step, person):
            names = {name_text(row) for row in rows}
            if len(names) != 1:
                raise WalkError(f"a walk of several persons: {sorted(names)}; a walk has one person")
            owners.extend(names)
    elif isinstance(person, Mapping):
        if not isinstance(walks, Mapping):
            raise ParameterError(
                "person: a dict goes with a dict of walks; give a list with one entry for each"
            )
        lacking = [name for name in walks if name not in person]
        if lacking:
            raise ParameterError(f"person: it does not say whose walk {lacking[0]!r} is")
        owners = [name_text(person[name]) for name in walks]
    elif isinstance(person, Iterable):
        owners = [name_text(name) for name in person]
    else:
        raise ParameterError(f"person: a {type(person).__name__}; give a column, a dict or a list")
    if len(owners) != count:
        raise ParameterError(f"person: {len(owners)} entries for {count} walks; give one for each")
    return owners


def _lists(walks: list[Any] | tuple[Any, ...], how: How) -> Answer:
    if not walks:
        return how.nothing(type(walks))
    first = walks[0]
    if isinstance(first, list | tuple) or (is_array(first) and getattr(first, "ndim", 0) == 1):
        return both(how.each(walks), lambda new: how.like(walks, new))
    # Anything else is taken for a state, and refused by its type if it is none.
    return both(how.each([walks]), lambda new: new[0])


# NumPy


def _numpy(array: Any, how: How) -> Answer:
    import numpy as np

    if array.ndim not in (1, 2):
        raise WalkError(
            f"an array of {array.ndim} dimensions; give one for one walk, two for a walk in each row"
        )
    if array.size == 0:
        return how.nothing(array.copy)
    count = 1 if array.ndim == 1 else array.shape[0]
    if array.ndim == 2 and how.manner.skips:
        raise ParameterError(
            'unknown_state="skip": the rows of an array have one length, so that no state can be left out of '
            "a walk; give a list of arrays, or a state to take instead of unknown ones"
        )
    if array.dtype.kind in "iu":
        largest = np.iinfo(np.int64).max
        if array.dtype.kind == "u" and array.max() > largest:
            raise WalkError(f"{array.max()} is larger than any label")
        how.check_fit(array.dtype)
        flat = np.ascontiguousarray(array, dtype=np.int64).reshape(-1)
        answer = _native.release_numbers(
            how.manner,
            how.states,
            flat,
            how.names_for(count),
            how.threads,
        )
        shape = array.shape if array.ndim == 2 else -1
        return unlike(
            answer,
            lambda numbers: numbers.astype(array.dtype).reshape(shape),
            # Places are texts.
            lambda seen: (np.array(seen) if isinstance(seen, list) else seen.astype(array.dtype)).reshape(
                shape
            ),
        )
    if array.dtype.kind not in "UOT":
        raise WalkError(
            f"an array of type {array.dtype}; states are strings or integers, as labels or with "
            'states="numbers" as places'
        )
    if array.ndim == 1 and isinstance(array[0], list | tuple | np.ndarray):
        return both(how.each(array), _objects)
    if array.ndim == 1:
        return both(how.lists([array.tolist()], 1), lambda new: how.array_like(array, new[0]))
    return both(how.lists(array.tolist(), count), lambda new: how.array_like(array, new))


def _objects(walks: list[Any]) -> Any:
    """An array of walks that NumPy takes for objects, whatever their lengths."""
    import numpy as np

    made = np.empty(len(walks), dtype=object)
    made[:] = walks
    return made
