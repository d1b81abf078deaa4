"""A street network: its chain, how far its states are apart, and the real walks on it."""

from __future__ import annotations

import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

import veilwalk as vw

EARTH = 6_371_008.8
"""The mean radius of the earth, in metres."""
TICK = 10
"""Seconds from one state of a walk to the next."""
SPEED = 8.0
"""Metres a second of walks along shortest ways on maps."""
SPACING = 100
"""Metres from one crossing of the grid to the next."""


@dataclass
class Network:
    """Everything that is public, and the walks that are to be released."""

    name: str
    chain: vw.Chain
    moves: sparse.csr_matrix
    """The probabilities of moves."""
    places: np.ndarray
    """Where each state lies, in metres on a plane that touches the earth in the middle of the network."""
    distances: np.ndarray
    """Between every two states along the streets, whatever their direction."""
    walks: np.ndarray
    """The real walks: a row of states each."""

    @property
    def initial(self) -> np.ndarray:
        return np.array(list(self.chain.initial.values()))

    def successors(self, state: int) -> np.ndarray:
        return self.moves.indices[self.moves.indptr[state] : self.moves.indptr[state + 1]]

    def impossible(self, walk: np.ndarray) -> np.ndarray:
        """Which moves of a walk the chain does not allow."""
        allowed = [to in self.successors(at) for at, to in zip(walk, walk[1:], strict=False)]
        return ~np.array(allowed)


def of_map(name: str, path: Path, walks: int, steps: int, shortest: bool) -> Network:
    """The streets of a map by car, on a clock."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what was dropped of the map
        chain = vw.Chain.osm(path, every=f"{TICK}s")
        real = _shortest_ways(vw.Chain.osm(path), walks, steps, SPEED) if shortest else None
    return _network(name, chain, walks, steps, real)


def of_grid(veilwalk: str, side: int, folder: Path, walks: int, steps: int, shortest: bool) -> Network:
    """A made-up town with streets of 100 m. Everybody passes one in a tick."""
    file, places = folder / "grid.csv", folder / "places.csv"
    size = ["--width", str(side), "--height", str(side), "--spacing", f"{SPACING}m"]
    command = [veilwalk, "chain", "generate", "grid", *size, "--places", places, "-o", file]
    subprocess.run(command, check=True, capture_output=True)
    chain = vw.Chain.read(file, places=places)
    real = _shortest_ways(chain, walks, steps, SPACING / TICK) if shortest else None
    return _network("grid", chain, walks, steps, real)


def _network(name: str, chain: vw.Chain, walks: int, steps: int, real: list[list[str]] | None) -> Network:
    moves, lengths = _matrices(chain)
    places = _on_a_plane(np.array(chain.coordinates))
    distances = _along_streets(lengths, np.array(chain.coordinates))
    number = {state: place for place, state in enumerate(chain.states)}
    if real is None:
        numbers = chain.sample(walks, steps, seed=1, states="numbers")
    else:
        numbers = [[number[state] for state in walk] for walk in real]
    return Network(name, chain, moves, places, distances, np.asarray(numbers))


def _matrices(chain: vw.Chain) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """The probabilities of moves, and their lengths."""
    number = {state: place for place, state in enumerate(chain.states)}
    rows, columns, shares = [], [], []
    for state in chain.states:
        for to, share in chain.row(state).items():
            rows.append(number[state])
            columns.append(number[to])
            shares.append(share)
    shape = (len(chain), len(chain))

    def matrix(values: list[float]) -> sparse.csr_matrix:
        return sparse.csr_matrix((values, (rows, columns)), shape=shape)

    return matrix(shares), matrix(chain.lengths or [])


def _on_a_plane(coordinates: np.ndarray) -> np.ndarray:
    radians = np.radians(coordinates)
    middle = radians.mean(axis=0)
    north = EARTH * (radians[:, 0] - middle[0])
    east = EARTH * np.cos(middle[0]) * (radians[:, 1] - middle[1])
    return np.stack([east, north], axis=1)


def _along_streets(lengths: sparse.csr_matrix, coordinates: np.ndarray) -> np.ndarray:
    """The shortest ways between places; the two directions of a street are at one place."""
    _, place = np.unique(coordinates, axis=0, return_inverse=True)
    place = place.ravel()
    moves = lengths.tocoo()
    ends = np.sort(np.stack([place[moves.row], place[moves.col]]), axis=0)
    order = np.lexsort((moves.data, ends[1], ends[0]))
    ends, data = ends[:, order], moves.data[order]
    # The first of each pair is the shortest one.
    first = np.concatenate([[True], (np.diff(ends, axis=1) != 0).any(axis=0)]) & (ends[0] != ends[1])
    count = place.max() + 1
    graph = sparse.csr_matrix((data[first], (ends[0][first], ends[1][first])), shape=(count, count))
    ways = csgraph.dijkstra(graph, directed=False).astype(np.float32)
    return ways[np.ix_(place, place)]


def _shortest_ways(chain: vw.Chain, walks: int, steps: int, speed: float) -> list[list[str]]:
    """Drives along shortest ways at an even speed: from one state, drawn evenly, to another, and on to a third, until the time
    is over. What is released is the street at every tick."""
    random = np.random.default_rng(1)
    _, lengths = _matrices(chain)
    states = np.array(chain.states)
    return [states[_drive(lengths, steps, speed * TICK, random)].tolist() for _ in range(walks)]


def _drive(lengths: sparse.csr_matrix, steps: int, metres: float, random: np.random.Generator) -> np.ndarray:
    way, middles = [int(random.integers(lengths.shape[0]))], [0.0]
    while middles[-1] < (steps + 1) * metres:
        end = int(random.integers(lengths.shape[0]))
        _, before = csgraph.dijkstra(lengths, indices=way[-1], return_predecessors=True)
        back = [end]
        while back[-1] != way[-1]:
            back.append(int(before[back[-1]]))
        for state in reversed(back[:-1]):
            middles.append(middles[-1] + lengths[way[-1], state])
            way.append(state)
    # A street ends half way between its own middle and the next one.
    ends = (np.array(middles[1:]) + np.array(middles[:-1])) / 2
    return np.array(way)[np.searchsorted(ends, metres * np.arange(steps + 1), side="right")]
