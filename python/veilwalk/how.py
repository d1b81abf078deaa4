"""How walks are released, whatever they come in; and what a released walk looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from veilwalk import _native
from veilwalk._native import ParameterError, WalkError
from veilwalk.exact import text_or_digits, written

Answer: TypeAlias = tuple[Any, Any]
"""What was released and what was observed, in the same form; `None` for the second under a mechanism that
draws moves."""

OBSERVED = "observed"
"""The column of tables that holds what was observed."""


def both(answer: Answer, make: Callable[[Any], Any]) -> Answer:
    """Makes the same of what was released and of what was observed, if anything was.

    >>> both(([1, 2], [3, 4]), sum), both(([1, 2], None), sum)
    ((3, 7), (3, None))
    """
    released, observed = answer
    return make(released), None if observed is None else make(observed)


def unlike(answer: Answer, make: Callable[[Any], Any], make_observed: Callable[[Any], Any]) -> Answer:
    """Makes one thing of what was released and another of what was observed, if anything was.

    >>> unlike(([1, 2], [3, 4]), sum, len)
    (3, 2)
    """
    released, observed = answer
    return make(released), None if observed is None else make_observed(observed)


@dataclass(frozen=True)
class How:
    """How walks are released, and where in a table they are."""

    manner: _native.Manner
    labels: list[str]
    states: str
    threads: int | None
    names: list[str] | None
    trajectory: str
    step: str | None
    state: str
    keep: tuple[str, ...]
    observed: bool
    """Whether what was observed is to come back beside walks that are no table."""

    def names_for(self, count: int) -> list[str]:
        """One name for each walk. With a key or a ledger they have to be given, and each be different: walks
        of the same name would share their randomness, or be charged once."""
        if self.names is None:
            if self.manner.needs_names:
                raise ParameterError(
                    "with a key or a ledger every walk needs a name of its own, to have randomness of its "
                    "own and be charged: give names=, a dict of walks, or a table with trajectories"
                )
            return [str(place) for place in range(count)]
        if len(self.names) != count:
            raise ParameterError(f"names: there are {len(self.names)} names for {count} walks")
        return different(self.names) if self.manner.needs_names else self.names

    def nothing(self, make: Callable[[], Any]) -> Answer:
        """What comes back of walks without a state."""
        return make(), make() if self.manner.observes else None

    def lists(self, walks: Iterable[object], count: int) -> Answer:
        """Releases lists of states."""
        return _native.release_lists(
            self.manner,
            self.states,
            walks,
            self.names_for(count),
            self.threads,
        )

    def list_column(self, column: object, name: str, names: list[str] | None) -> Answer:
        """Releases an Arrow column of lists."""
        return _native.release_list_column(
            self.manner,
            self.states,
            column,
            name,
            names,
            self.threads,
        )

    def long(self, trajectory: object, step: object, state: object, name: str) -> tuple[Any, Any, Any]:
        """Releases Arrow columns with one state a row. Gives the numbers of the steps too, if there is no
        column of steps."""
        return _native.release_long(
            self.manner,
            self.states,
            trajectory,
            step,
            state,
            (self.trajectory, self.step or "step", self.state),
            name,
            self.threads,
        )

    def known_rows(self, state: object) -> Any:
        """Which rows of an Arrow column stay, as an array of truth values; nothing if all do."""
        if not self.manner.skips:
            return None
        return _native.known_rows(self.manner, self.states, state, self.state)

    def each(self, walks: Iterable[Any]) -> Answer:
        """Releases walks, each in the kind it came in: a list, a tuple or an array."""
        walks = list(walks)
        for dtype in {walk.dtype for walk in walks if type(walk).__module__ == "numpy"}:
            self.check_fit(dtype)
        plain = [walk.tolist() if is_array(walk) else walk for walk in walks]

        def alike(states: Any) -> list[Any]:
            return [self.like(walk, new) for walk, new in zip(walks, states, strict=True)]

        return both(self.lists(plain, len(plain)), alike)

    def check_fit(self, dtype: Any) -> None:
        """Refuses an array that could not hold every state that may be released."""
        import numpy as np

        if dtype.kind not in "iu":
            return
        limits = np.iinfo(dtype)
        whole = (int(label) for label in self.labels if label.removeprefix("-").isdecimal())
        for number in range(len(self.labels)) if self.states == "numbers" else whole:
            if not limits.min <= number <= limits.max:
                raise WalkError(
                    f"the chain's state {number} does not fit into an array of type {dtype}; "
                    "give larger integers"
                )

    def like(self, walk: Any, released: list[Any]) -> Any:
        """A released walk in the kind of the real one."""
        if isinstance(walk, tuple):
            return tuple(released)
        if type(walk).__module__ == "numpy":
            return self.array_like(walk, released)
        return released

    def array_like(self, array: Any, released: Any) -> Any:
        """Released states in an array of the same kind."""
        import numpy as np

        made = np.array(released)
        if array.dtype.kind in "iu" and made.dtype.kind == "U":
            # Places that were observed of states that are integers.
            return made
        if array.dtype.kind != "U":
            return np.array(released, dtype=array.dtype)
        # Not as wide as the given array, whose width may be that of the longest real state. Only places
        # that were observed are longer than every label.
        wide = made.dtype.itemsize // 4 if made.dtype.kind == "U" else 1
        width = max(wide, *map(len, self.labels))
        return np.array(released, dtype=f"U{width}")


def name_text(value: object) -> str:
    """The name of a walk as text; an integer is its digits."""
    return written("name", "a walk is named", value, WalkError)


def person_texts(person: Mapping[Any, object] | None) -> dict[str, str] | None:
    """Whose walk each is, by the names of the walks as text."""
    if person is None:
        return None
    if not isinstance(person, Mapping):
        kind = type(person).__name__
        raise ParameterError(f"person: a {kind}; give a dict from the name of each walk to its person")
    return {name_text(walk): name_text(who) for walk, who in person.items()}


def different(names: list[str]) -> list[str]:
    """Names of which none stands twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ParameterError(
                f"names: {name!r} stands for two walks; with a key or a ledger every walk needs a name of "
                "its own"
            )
        seen.add(name)
    return names


def block_text(block: object) -> str | None:
    """The length of blocks as a string: a number of steps, or `all`."""
    if block is None:
        return None
    text = text_or_digits(block)
    if text is None:
        raise ParameterError(f'block={block!r}: give a number of steps from 1 up, or "all" for whole walks')
    return text


def is_array(walk: object) -> bool:
    return hasattr(walk, "tolist")
