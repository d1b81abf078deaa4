"""Chains: the public part of every release."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from veilwalk import html
from veilwalk._native import Chain as NativeChain
from veilwalk._native import ParameterError, compile_chain, sample_walks
from veilwalk.chain_sources import ChainSources
from veilwalk.exact import path_text
from veilwalk.labels import State, label_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Chain(ChainSources):
    """A public Markov chain: irreducible, finite, labelled.

    Everything veilwalk does with the real walk is protected; nothing it does with the chain is. Make
    one with a class method:

    >>> weather = Chain.from_transitions(
    ...     [("sun", "sun", 0.8), ("sun", "rain", 0.2), ("rain", "sun", 1.0)]
    ... )
    >>> weather
    Chain(2 states, 3 transitions, hash 8d7e…)
    >>> weather.states
    ['sun', 'rain']
    >>> weather.row("sun")
    {'sun': 0.8, 'rain': 0.2}
    """

    __slots__ = ("_native",)
    _native: NativeChain

    def __init__(self) -> None:
        raise TypeError(
            "make a chain with Chain.credit(), downtown(), from_matrix(), from_transitions(), even(), fit() "
            "or read()"
        )

    @classmethod
    def _of(cls, native: NativeChain) -> Chain:
        chain = object.__new__(cls)
        chain._native = native
        return chain

    @classmethod
    def _told(cls, native: NativeChain, initial: Initial) -> Chain:
        if native.notes:
            import warnings

            for note in native.notes:
                warnings.warn(note, UserWarning, stacklevel=3)
        return cls._of(native)._starting(initial)

    def compile(self, path: str | os.PathLike[str]) -> None:
        """Writes the chain with all its distances as a model, for `read` and for the command line. Processes
        that read a model above 16 MiB share one copy in memory.

        `Mechanism.compile` writes what is calibrated for a mechanism as well.

        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name) / "credit.model"
        >>> Chain.credit().compile(path)
        >>> Chain.read(path) == Chain.credit()
        True
        >>> folder.cleanup()
        """
        compile_chain(self._native, path_text("path", path))

    def _starting(self, initial: Initial) -> Chain:
        if isinstance(initial, str) and initial == "uniform":
            return self
        if isinstance(initial, Mapping):
            unknown = [state for state in initial if label_text(state) not in self.states]
            if unknown:
                raise ParameterError(f"initial: {unknown[0]!r} is not a state of the chain")
            by_label = {label_text(state): float(p) for state, p in initial.items()}
            return Chain._of(self._native.starting([by_label.get(s, 0.0) for s in self.states]))
        return Chain._of(self._native.starting(initial))

    def with_initial(self, initial: Initial) -> Chain:
        """The same chain with released walks that start elsewhere: `uniform`, `stationary`, a state,
        or a probability for each state.

        >>> Chain.credit().with_initial("Baa").initial["Baa"]
        1.0
        """
        if isinstance(initial, str) and initial == "uniform":
            return Chain._of(self._native.starting("uniform"))
        return self._starting(initial)

    @property
    def states(self) -> list[str]:
        """The labels, in order."""
        return self._native.states

    @property
    def lengths(self) -> list[float] | None:
        """How long each move is in metres, state by state as in `row`; None if the chain does not know."""
        return self._native.lengths

    @property
    def coordinates(self) -> list[tuple[float, float]] | None:
        """Where each state lies, as latitude and longitude in degrees; None if the chain does not know."""
        return self._native.coordinates

    @property
    def names(self) -> list[str] | None:
        """What people call each state, such as its street; None if the chain does not know."""
        return self._native.names

    @property
    def transitions(self) -> int:
        """How many moves are possible."""
        return self._native.transitions

    @property
    def period(self) -> int:
        """One for an aperiodic chain."""
        return self._native.period

    @property
    def hash(self) -> str:
        """Names the chain by its content, initial distribution included."""
        return self._native.hash

    @property
    def initial(self) -> dict[str, float]:
        """The distribution of a released walk's first state."""
        return dict(zip(self.states, self._native.initial, strict=True))

    def __len__(self) -> int:
        return len(self._native)

    def __contains__(self, state: object) -> bool:
        return state in self.states

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chain) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    def row(self, state: State) -> dict[str, float]:
        """Where a state can move to, with probabilities."""
        return dict(self._native.row(state))

    def probability(self, start: State, end: State) -> float:
        """The probability of a move; zero if it is impossible."""
        return self.row(start).get(label_text(end), 0.0)

    def matrix(self) -> npt.NDArray[np.float64]:
        """The transition matrix as a NumPy array."""
        import numpy as np

        places = {state: place for place, state in enumerate(self.states)}
        matrix = np.zeros((len(self), len(self)))
        for state, place in places.items():
            for end, p in self.row(state).items():
                matrix[place, places[end]] = p
        return matrix

    def distance(self, start: State, end: State, *, symmetric: bool = False) -> float:
        """How far apart two states are. In nats: the likeliest way, each move counting -ln p. The
        symmetric distance, which a radius is about, is the larger of the two directions. In metres if the
        chain was `measured` so."""
        return self._native.distance(start, end, symmetric)

    @overload
    def sample(
        self,
        walks: int,
        steps: int,
        *,
        start: State | None = None,
        seed: int | None = None,
        states: Literal["labels"] = "labels",
    ) -> list[list[str]]: ...
    @overload
    def sample(
        self,
        walks: int,
        steps: int,
        *,
        start: State | None = None,
        seed: int | None = None,
        states: Literal["numbers"],
    ) -> npt.NDArray[np.int64]: ...
    def sample(
        self,
        walks: int,
        steps: int,
        *,
        start: State | None = None,
        seed: int | None = None,
        states: Literal["labels", "numbers"] = "labels",
    ) -> list[list[str]] | npt.NDArray[np.int64]:
        """Draws walks of the chain itself, each of this many steps after its start: what real walks would be
        if the chain were right, and nobody's.

        They start at `start`, or at a state of the initial distribution. With `states="numbers"` they come
        as places in `chain.states`, in an array with a row for each walk.

        >>> Chain.credit().sample(2, 3, start="Aaa", seed=1)
        [['Aaa', ...], ['Aaa', ...]]
        """
        for name, number in (("walks", walks), ("steps", steps)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise ParameterError(f"{name}: {number!r}; give a whole number from 0 up")
        if states not in ("labels", "numbers"):
            raise ParameterError(f'states={states!r}: give "labels", or "numbers" for places in chain.states')
        drawn = sample_walks(self._native, walks, steps, start, seed).reshape(walks, steps + 1)
        if states == "numbers":
            return drawn
        labels = self.states
        return [[labels[place] for place in walk] for walk in drawn.tolist()]

    def stationary(self) -> dict[str, float]:
        """The share of time spent in each state in the long run."""
        return dict(zip(self.states, self._native.stationary(), strict=True))

    def entropy_rate(self) -> float:
        """Nats per step, in the long run."""
        return self._native.entropy_rate()

    def diameter(self) -> tuple[str, str, float]:
        """The largest distance between two states, with the two."""
        return self._native.diameter()

    def closest_pair(self) -> tuple[str, str, float] | None:
        """The two states that are closest by the symmetric distance. A smaller radius protects
        nothing."""
        return self._native.closest_pair()

    def __repr__(self) -> str:
        return f"Chain({len(self)} states, {self.transitions} transitions, hash {self.hash[:4]}…)"

    def _repr_html_(self) -> str:
        rows = [
            ("states", f"{len(self):,}"),
            ("transitions", f"{self.transitions:,}"),
            ("period", str(self.period)),
            ("hash", self.hash),
        ]
        shown = 12
        parts = [html.title("Markov chain"), html.facts(rows)]
        if len(self) <= shown:
            matrix = {state: self.row(state) for state in self.states}
            parts.append(
                html.table(
                    ["from \\ to", *self.states],
                    [
                        [a, *(f"{matrix[a][b]:.4g}" if b in matrix[a] else "·" for b in matrix)]
                        for a in matrix
                    ],
                )
            )
        else:
            some = ", ".join(self.states[:shown])
            parts.append(html.paragraph(f"States: {some}, …"))
        return html.page(*parts)

    def measured(self, metric: str | os.PathLike[str]) -> Chain:
        """The same chain with distances of another metric, which promises are then about.

        `"nats"` goes by how likely moves are. `"street"` is the shortest way along the lengths of moves, in
        metres, whatever their direction; `"line"` the straight line between coordinates. The path of a CSV
        file with the columns `from,to,distance` (or `from,to,metres`) gives distances of one's own, which are
        checked to be a metric.
        """
        return Chain._of(self._native.measured(path_text("metric", metric)))

    def _measured_for(self, radius: str) -> Chain:
        """The chain with distances in what a radius is in."""
        other = self._native.measured_for(radius)
        return self if other is None else Chain._of(other)

    @property
    def metric(self) -> str:
        """`"nats"`, `"street"`, `"line"` or `"table"`.

        >>> Chain.credit().metric
        'nats'
        """
        return self._native.metric

    @property
    def unit(self) -> str:
        """What distances are counted in: `"nats"`, `"m"` or `"units"`."""
        return self._native.unit

    def to_bytes(self) -> bytes:
        """The chain to the last bit, for another process: a model without distances."""
        return self._native.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Chain:
        """The chain that was written as these bytes."""
        return cls._of(NativeChain.from_bytes(data))

    def __reduce__(self) -> tuple[Any, ...]:
        own = self._native.own_distances()
        if own is None and self.metric == "nats":
            return (Chain.from_bytes, (self.to_bytes(),))
        return (_measured, (self.to_bytes(), self.metric, own))


def _measured(data: bytes, metric: str, own: tuple[bytes, bool] | None) -> Chain:
    """The chain of another process, with its metric."""
    chain = Chain.from_bytes(data)
    if own is None:
        return chain.measured(metric)
    return Chain._of(chain._native.with_own_distances(*own))


Initial: TypeAlias = Literal["uniform", "stationary"] | State | Mapping[State, float] | Sequence[float]
"""Where released walks start."""
