"""Where a chain comes from: a matrix, moves, walks, a graph, a file or a map."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from veilwalk._native import Chain as NativeChain
from veilwalk._native import ChainError, ParameterError, fit_chain, fit_chain_privately, osm_chain
from veilwalk.exact import Exact, exact_text, path_text, whole_number
from veilwalk.labels import State, label_text
from veilwalk.walks import collect, persons_of
from veilwalk.warning import warn

if TYPE_CHECKING:
    from veilwalk.chain import Chain, Initial
    from veilwalk.trips import Trips


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


class ChainSources:
    """The part of a `Chain` that makes one."""

    __slots__ = ()

    if TYPE_CHECKING:

        @classmethod
        def _of(cls, native: NativeChain) -> Chain: ...

        @classmethod
        def _told(cls, native: NativeChain, initial: Initial) -> Chain: ...

    @classmethod
    def credit(cls, *, initial: Initial = "uniform") -> Chain:
        """The credit ratings of the paper: nine states, from Aaa to default.

        >>> from veilwalk import Chain
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

        >>> from veilwalk import Chain
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

        >>> from veilwalk import Chain
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

        >>> from veilwalk import Chain
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
            graph = cls._graph(edges, largest_component)
            _tell_seed(seed)
            native, _, _ = fit_chain_privately(listed, persons, graph, asked, shares, None, seed)
            fitted = cls._of(native)
            return fitted if initial is None else fitted.with_initial(initial)
        if (person, max_moves, edges, starts, floor, seed) != (None,) * 6:
            raise ParameterError(
                "person, max_moves, edges, starts, floor and seed are for noisy counts; give epsilon= too"
            )
        native = fit_chain(listed, restart, largest_component)
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

        >>> from veilwalk import Chain
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
        graph = cls._graph(edges, largest_component)
        shares = tuple(
            None if share is None else exact_text(name, share)
            for name, share in (("starts", starts), ("ends", ends), ("lengths", lengths))
        )
        longest = whole_number("longest_walk", longest_walk, 1)
        asked = _asked(epsilon, max_moves, floor)
        _tell_seed(seed)
        native, last, sizes = fit_chain_privately(listed, persons, graph, asked, shares, longest, seed)
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

        >>> from veilwalk import Chain
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
        return cls._of(cls._graph(edges, largest_component).evened())._starting(initial)

    @classmethod
    def _graph(cls, edges: Chain | Iterable[tuple[object, object]], largest_component: bool) -> NativeChain:
        """The moves of a chain, or those of a list."""
        if isinstance(edges, ChainSources):
            return edges._native
        listed = []
        for place, edge in enumerate(edges):
            try:
                start, end = edge
            except (TypeError, ValueError):
                raise ChainError(f"edge {place} is {edge!r}; it has to be a pair of states") from None
            listed.append((label_text(start), label_text(end), 1.0))
        native = NativeChain.from_transitions(listed, True, False, largest_component)
        return cls._told(native, "uniform")._native

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
        native = osm_chain(path_text("path", path), mode, states, turns, table, every, speed, away)
        return cls._told(native, "uniform")
