"""Chains: the public part of every release."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from veilwalk import html
from veilwalk._native import Chain as NativeChain
from veilwalk._native import ChainError, ParameterError, compile_chain
from veilwalk.exact import Exact, exact_text, is_unicode, path_text, text_or_digits, whole_number
from veilwalk.walks import collect, persons_of
from veilwalk.warning import warn

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from veilwalk.trips import Trips

State: TypeAlias = str | int
"""A state by its label; an integer stands for the label with its digits."""


def label_text(value: object) -> str:
    """A label as text; an integer is its digits."""
    text = text_or_digits(value)
    if text is None:
        kind = type(value).__name__
        raise ChainError(f"a label of type {kind}; a state is labelled by a string or an integer")
    if not is_unicode(text):
        raise ChainError(f"the label {text!r} is not Unicode; a state is labelled by a string or an integer")
    return text


def _labels_of(matrix: Any) -> list[object]:
    """The names of a table's columns. Its rows, where they have names, are in the same order."""
    labels = list(matrix.columns)
    index = getattr(matrix, "index", None)
    if index is not None and list(index) not in (labels, list(range(len(index)))):
        raise ChainError(
            "the rows of the matrix are not named like its columns; give both the same labels in the same "
            "order, or matrix.to_numpy() and labels="
        )
    return labels


def _asked(epsilon: Exact, max_moves: int, floor: Exact | None) -> tuple[str, int, str | None]:
    """The price of a noisy fit, the most moves of a person, and the floor."""
    return (
        exact_text("epsilon", epsilon),
        whole_number("max_moves", max_moves, 1),
        None if floor is None else exact_text("floor", floor),
    )


def _tell_seed(seed: int | None) -> None:
    if seed is not None:
        warn("fitted with a seed: whoever knows it can undo the noise; this chain is NOT private")


class Chain:
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

    @classmethod
    def credit(cls, *, initial: Initial = "uniform") -> Chain:
        """The credit ratings of the paper: nine states, from Aaa to default.

        >>> Chain.credit().closest_pair()
        ('B', 'Ba', 2.733...)
        """
        return cls._of(NativeChain.credit())._starting(initial)

    @classmethod
    def downtown(cls, *, initial: Initial = "uniform") -> Chain:
        """A made-up network of 43 street segments."""
        return cls._of(NativeChain.downtown())._starting(initial)

    @classmethod
    def from_matrix(
        cls,
        matrix: object,
        labels: Iterable[object] | None = None,
        *,
        normalize: bool = False,
        largest_component: bool = False,
        initial: Initial = "uniform",
    ) -> Chain:
        """A square matrix of probabilities, one row for each state, as lists, a NumPy array, or a table of
        pandas or Polars, whose columns are named like the states.

        Without labels, states are called "0", "1", and so on. A row that does not sum to one is
        refused, unless `normalize` is given.

        >>> Chain.from_matrix([[0.5, 0.5], [1.0, 0.0]], labels=["work", "home"])
        Chain(2 states, 3 transitions, hash ...)
        """
        rows: Any = matrix
        if hasattr(matrix, "columns") and hasattr(matrix, "to_numpy"):
            labels = _labels_of(matrix) if labels is None else labels
            rows = matrix.to_numpy()
        rows = rows.tolist() if hasattr(rows, "tolist") else rows
        try:
            numbers = [[float(entry) for entry in row] for row in rows]
        except (TypeError, ValueError) as error:
            raise ChainError(f"a matrix has rows of numbers: {error}") from None
        names = range(len(numbers)) if labels is None else labels
        native = NativeChain.from_matrix(
            [label_text(label) for label in names], numbers, normalize, largest_component
        )
        return cls._told(native, initial)

    @classmethod
    def from_transitions(
        cls,
        transitions: Iterable[tuple[State, State, float]] | Mapping[tuple[State, State], float],
        *,
        counts: bool = False,
        normalize: bool = False,
        largest_component: bool = False,
        initial: Initial = "uniform",
    ) -> Chain:
        """Transitions (from, to, probability), or (from, to, count) with `counts=True`.

        >>> Chain.from_transitions({("a", "b"): 3, ("a", "a"): 1, ("b", "a"): 2}, counts=True).row("a")
        {'a': 0.25, 'b': 0.75}
        """
        rows: Iterable[Any] = transitions
        if isinstance(transitions, Mapping):
            rows = [
                (*key, entry) if isinstance(key, tuple) else (key, entry)
                for key, entry in transitions.items()
            ]
        elif hasattr(transitions, "columns") and hasattr(transitions, "to_numpy"):
            raise ChainError(
                "transitions are given as (from, to, number); of a table: "
                'zip(table["from"], table["to"], table["count"])'
            )
        listed = []
        for place, row in enumerate(rows):
            try:
                start, end, entry = row
                listed.append((label_text(start), label_text(end), float(entry)))
            except (TypeError, ValueError) as error:
                if isinstance(error, ChainError):
                    raise
                raise ChainError(
                    f"transition {place} is {row!r}; it has to be (from, to, number): {error}"
                ) from None
        native = NativeChain.from_transitions(listed, counts, normalize, largest_component)
        return cls._told(native, initial)

    @classmethod
    def fit(
        cls,
        walks: object,
        *,
        restart: bool = False,
        largest_component: bool = False,
        initial: Initial | None = None,
        trajectory: str = "trajectory",
        step: str | None = "step",
        state: str = "state",
        epsilon: Exact | None = None,
        person: object = None,
        max_moves: int | None = None,
        edges: Chain | Iterable[tuple[object, object]] | None = None,
        starts: Exact | None = None,
        floor: Exact | None = None,
        seed: int | None = None,
    ) -> Chain:
        """Counts the transitions of walks, given as `Mechanism.privatize` takes them: lists, a dict, arrays
        or a table. With `restart` a move from the last state of every walk to its first is counted too, for
        walks that end somewhere.

        The chain becomes public with everything released under it, and it tells about the walks it
        was fitted on. A chain fitted on sensitive walks is not a safe choice: fit on walks that need
        no protection. A warning says so.

        With `epsilon` the counts are noisy, and the chain may be published: one person added or removed,
        with all walks, changes the odds of it by at most `exp(epsilon)`. `person` says whose walk each is: a
        column of a table, a dict by the names of a dict of walks, or a list with one entry for each walk.
        `max_moves` is how many moves of one person are counted at most. `edges` are the moves that are
        public: a chain, or pairs of states; others are not counted. `starts` is the share of epsilon for
        noisy first states, which become the initial distribution. `floor` is added to every noisy count (1 if
        not given). A `seed` makes the noise reproducible, and the chain not private.

        >>> ratings = Chain.credit().sample(1000, 20, seed=1)
        >>> fitted = Chain.fit(ratings, epsilon=1, person=range(1000), max_moves=20, edges=Chain.credit())
        >>> fitted.transitions == Chain.credit().transitions
        True
        """
        listed = [[label_text(s) for s in walk] for walk in collect(walks, trajectory, step, state)]
        if epsilon is not None:
            if restart:
                raise ParameterError("restart: with epsilon= only moves of the walks are counted")
            if person is None or max_moves is None or edges is None:
                raise ParameterError(
                    "epsilon: it protects persons, so give person= (whose walk each is), max_moves= (how "
                    "many moves of one person are counted at most) and edges= (the moves that are public)"
                )
            persons = persons_of(walks, person, len(listed), trajectory, step)
            shares = (None if starts is None else exact_text("starts", starts), None, None)
            asked = _asked(epsilon, max_moves, floor)
            graph = edges if isinstance(edges, Chain) else cls._graph(edges, largest_component)
            _tell_seed(seed)
            native, _, _ = NativeChain.fit_privately(
                listed, persons, graph._native, asked, shares, None, seed
            )
            fitted = cls._of(native)
            return fitted if initial is None else fitted.with_initial(initial)
        if (person, max_moves, edges, starts, floor, seed) != (None,) * 6:
            raise ParameterError(
                "person, max_moves, edges, starts, floor and seed are for noisy counts; give epsilon= too"
            )
        native = NativeChain.fit(listed, restart, largest_component)
        warn(
            "this chain tells about the walks it was fitted on, and becomes public with everything "
            "released under it; fit on walks that need no protection"
        )
        return cls._told(native, "uniform" if initial is None else initial)

    @classmethod
    def fit_trips(
        cls,
        walks: object,
        *,
        epsilon: Exact,
        person: object,
        max_moves: int,
        edges: Chain | Iterable[tuple[object, object]],
        longest_walk: int,
        starts: Exact | None = "0.1",
        ends: Exact | None = "0.1",
        lengths: Exact = "0.1",
        floor: Exact | None = None,
        largest_component: bool = False,
        seed: int | None = None,
        trajectory: str = "trajectory",
        step: str | None = "step",
        state: str = "state",
    ) -> Trips:
        """A noisy fit of everything that made-up trips need, for one price: the chain, where walks start,
        where they end, and how many moves they have. See `fit`, whose promise it is: one person added or
        removed changes the odds of all of it together by at most `exp(epsilon)`.

        `starts`, `ends` and `lengths` are the shares of epsilon that go there, the rest goes to moves. Of
        each person one walk is drawn for each of the three. Walks of more moves than `longest_walk` count as
        that long. Ends are left out with `ends=None`, and walks start anywhere with `starts=None`.

        >>> ratings = Chain.credit().sample(1000, 20, start="B", seed=1)
        >>> trips = Chain.fit_trips(
        ...     ratings, epsilon=4, person=range(1000), max_moves=20, edges=Chain.credit(),
        ...     longest_walk=30, seed=1,
        ... )
        >>> max(range(len(trips.lengths)), key=trips.lengths.__getitem__)
        20
        >>> len(trips.sample(5, seed=1))
        5
        """
        from veilwalk.trips import Trips

        listed = [[label_text(s) for s in walk] for walk in collect(walks, trajectory, step, state)]
        persons = persons_of(walks, person, len(listed), trajectory, step)
        graph = edges if isinstance(edges, Chain) else cls._graph(edges, largest_component)
        shares = tuple(
            None if share is None else exact_text(name, share)
            for name, share in (("starts", starts), ("ends", ends), ("lengths", lengths))
        )
        longest = whole_number("longest_walk", longest_walk, 1)
        asked = _asked(epsilon, max_moves, floor)
        _tell_seed(seed)
        native, last, sizes = NativeChain.fit_privately(
            listed, persons, graph._native, asked, shares, longest, seed
        )
        chain = cls._of(native)
        assert sizes is not None, "lengths were asked for"
        return Trips(chain, None if last is None else dict(zip(chain.states, last, strict=True)), sizes)

    @classmethod
    def even(
        cls,
        edges: Chain | Iterable[tuple[object, object]] | None = None,
        *,
        states: Iterable[object] | None = None,
        largest_component: bool = False,
        initial: Initial = "uniform",
    ) -> Chain:
        """A chain on which every move of a state is as likely as its other moves: what is known of a map, or
        of a list of `states` that may all follow each other, without a look at any walk. Release a first
        round under it, and `Mechanism.estimate(…, what="chain")` learns a better one from that release, at
        no cost.

        >>> Chain.even([("a", "b"), ("b", "a"), ("b", "b")]).row("b")
        {'a': 0.5, 'b': 0.5}
        >>> Chain.even(states=["x", "y", "z"]).transitions
        9
        """
        if (edges is None) == (states is None):
            raise ParameterError(
                "edges, states: give one of them: the moves that there are, or states for all moves"
            )
        if states is not None:
            labels = [label_text(state) for state in states]
            edges = [(start, end) for start in labels for end in labels]
        assert edges is not None
        native = edges._native if isinstance(edges, Chain) else cls._graph(edges, largest_component)._native
        return cls._of(native.evened())._starting(initial)

    @classmethod
    def _graph(cls, edges: Iterable[tuple[object, object]], largest_component: bool) -> Chain:
        listed = []
        for place, edge in enumerate(edges):
            try:
                start, end = edge
            except (TypeError, ValueError):
                raise ChainError(f"edge {place} is {edge!r}; it has to be a pair of states") from None
            listed.append((label_text(start), label_text(end), 1.0))
        native = NativeChain.from_transitions(listed, True, False, largest_component)
        return cls._told(native, "uniform")

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        normalize: bool = False,
        largest_component: bool = False,
        places: str | os.PathLike[str] | None = None,
        initial: Initial | None = None,
    ) -> Chain:
        """Reads a file: a square matrix with labels, a table `from,to,probability|count` with or without a
        column `length` in metres, or a model that `compile` or `veilwalk chain compile` wrote, which has its
        distances with it and is opened in milliseconds.

        `places` is a file that says where the states lie: `state,latitude,longitude` in degrees, and perhaps
        `name`. A model holds that already.

        Released walks start anywhere unless `initial` says where; those of a model, where they did when it
        was compiled.
        """
        table = None if places is None else path_text("places", places)
        native = NativeChain.read(path_text("path", path), normalize, largest_component, table)
        if initial is None:
            return cls._told(native, "uniform")
        return cls._told(native, "uniform").with_initial(initial)

    @classmethod
    def osm(
        cls,
        path: str | os.PathLike[str],
        *,
        mode: str = "car",
        states: str = "segments",
        turns: str = "even",
        counts: str | os.PathLike[str] | None = None,
        every: str | None = None,
        speed: float | None = None,
        away: str | None = None,
    ) -> Chain:
        """Makes the chain of the streets of a map of OpenStreetMap (PBF, or XML, which may be packed with
        gzip), for whoever moves by `mode`: "car", "bike" or "foot".

        States are streets between two junctions, each in one direction, or with `states="crossings"`
        junctions. The traffic divides evenly at junctions, by `turns="class"` more to larger roads, or as a
        table `counts` says. With `every="30s"` moves are those between two ticks of a clock, at about `speed`
        km/h. `away` names a state for whoever is not on the map. The largest part is kept whose states all
        reach each other.

        Maps are © OpenStreetMap contributors (ODbL): what is made of them has to say so.
        """
        table = None if counts is None else path_text("counts", counts)
        native = NativeChain.osm(path_text("path", path), mode, states, turns, table, every, speed, away)
        return cls._told(native, "uniform")

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
        drawn = self._native.sample(walks, steps, start, seed).reshape(walks, steps + 1)
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
