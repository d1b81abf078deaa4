"""The figures by which LDPTrace (Du et al., VLDB 2023) compares synthetic trips with real ones, and the error
of moves of RetraSyn (Hu et al., ICDE 2024), written from their formulas.

A trip is a list of points. For most figures it becomes a walk on a grid of 6 by 6 cells over the map: one
cell for each point, repeats left out, and cells in between where two that follow each other do not touch. JS
is the Jensen-Shannon divergence in nats; it is best at 0.

- density: JS of cells.
- query: the error of counts of points in 200 squares of a ninth of the map, the mean of
  abs(p - q)/max(p, 1 % of all real points). Best at 0.
- ndcg: of the five densest cells, the sum of g(i)/log2(i + 1) over the made-up order, over the best such
sum; g is
  one over the real rank. Best at 1.
- kendall: of the order of cells by how many trips pass through, (C - D)/(all pairs of cells). A pair that is
tied
  among real trips counts for neither, so the best is below 1 where there are such.
- moves: JS of pairs of cells that follow each other.
- F1: of the 100 most frequent runs of 2 to 8 cells, 2PR/(P + R). Best at 1.
- trips: JS of first and last cells together.
- lengths: JS of lengths of trips, in 20 classes.
- diameter: JS of the largest distance between two points of a trip, in 20 classes.

Classes are as wide as a twentieth of the real range and start at zero. What is beyond the last is left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

CELLS = 6
QUERIES = 200
CLASSES = 20
DENSEST = 5
PATTERNS = 100
HIGHER_IS_BETTER = {"ndcg", "kendall", "F1"}


class Grid:
    """A map of CELLS by CELLS cells over all of these points."""

    def __init__(self, points: np.ndarray) -> None:
        self.low = points.min(axis=0) - 1e-6
        self.high = points.max(axis=0) + 1e-6
        self.step = (self.high - self.low) / CELLS

    def walk(self, trip: np.ndarray) -> list[int]:
        """The cells of a trip, one after another."""
        places = np.clip(((trip - self.low) / self.step).astype(int), 0, CELLS - 1)
        walk = [tuple(int(c) for c in places[0])]
        for place in places[1:]:
            while any(place != walk[-1]):
                east, north = walk[-1]
                walk.append((east + int(np.sign(place[0] - east)), north + int(np.sign(place[1] - north))))
        return [east * CELLS + north for east, north in walk]

    def points(self, walks: list[list[int]], random: np.random.Generator) -> np.ndarray:
        """A point somewhere in each cell of each walk; two where there is only one cell."""
        cells = np.array([cell for walk in walks for cell in (walk if len(walk) > 1 else walk * 2)])
        corners = np.stack([cells // CELLS, cells % CELLS], axis=1)
        return self.low + (corners + random.random(corners.shape)) * self.step


@dataclass
class Summary:
    """What the figures need of many trips."""

    density: np.ndarray
    points: np.ndarray
    coverage: np.ndarray
    moves: np.ndarray
    patterns: set[tuple[int, ...]]
    trips: np.ndarray
    lengths: np.ndarray
    diameters: np.ndarray

    @classmethod
    def of(cls, trips: list[np.ndarray], grid: Grid, random: np.random.Generator) -> Summary:
        walks = [grid.walk(trip) for trip in trips]
        all_cells = CELLS * CELLS
        density, coverage = np.zeros(all_cells), np.zeros(all_cells)
        moves, ends = np.zeros((all_cells, all_cells)), np.zeros((all_cells, all_cells))
        patterns: Counter[tuple[int, ...]] = Counter()
        for walk in walks:
            np.add.at(density, walk, 1)
            coverage[list(set(walk))] += 1
            np.add.at(moves, (walk[:-1], walk[1:]), 1)
            ends[walk[0], walk[-1]] += 1
            for size in range(2, 9):
                patterns.update(tuple(walk[i : i + size]) for i in range(len(walk) - size + 1))
        return cls(
            density=density,
            points=grid.points(walks, random),
            coverage=coverage,
            moves=moves.ravel(),
            patterns={pattern for pattern, _ in patterns.most_common(PATTERNS)},
            trips=ends.ravel(),
            lengths=np.array([np.hypot(*np.diff(trip, axis=0).T).sum() for trip in trips]),
            diameters=np.array([diameter(trip) for trip in trips]),
        )


def diameter(trip: np.ndarray) -> float:
    return float(np.hypot(*(trip[:, None] - trip[None]).transpose(2, 0, 1)).max())


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    """Jensen-Shannon, of counts."""
    p, q = p / p.sum(), q / q.sum()
    middle = (p + q) / 2

    def towards(shares: np.ndarray) -> float:
        there = shares > 0
        return float((shares[there] * np.log(shares[there] / middle[there])).sum())

    return (towards(p) + towards(q)) / 2


def in_classes(real: np.ndarray, made: np.ndarray) -> float:
    edges = np.arange(CLASSES + 1) * (real.max() - real.min()) / CLASSES
    return divergence(*(np.histogram(numbers, edges)[0].astype(float) for numbers in (real, made)))


def query_error(real: np.ndarray, made: np.ndarray, grid: Grid, random: np.random.Generator) -> float:
    side = np.sqrt((grid.high - grid.low).prod() / 9)
    errors = []
    for _ in range(QUERIES):
        middle = grid.low + random.random(2) * (grid.high - grid.low)
        p, q = (int((np.abs(points - middle) <= side / 2).all(axis=1).sum()) for points in (real, made))
        errors.append(abs(p - q) / max(p, 0.01 * len(real)))
    return float(np.mean(errors))


def ndcg(real: np.ndarray, made: np.ndarray) -> float:
    wanted, found = ([int(c) for c in np.argsort(-d, kind="stable")[:DENSEST]] for d in (real, made))
    discount = 1 / np.log2(np.arange(2, DENSEST + 2))
    gains = np.array([1 / (wanted.index(cell) + 1) if cell in wanted else 0.0 for cell in found])
    return float((gains * discount).sum() / (discount / np.arange(1, DENSEST + 1)).sum())


def kendall(real: np.ndarray, made: np.ndarray) -> float:
    first, second = np.triu_indices(len(real), 1)
    wanted, found = (np.sign(counts[first] - counts[second]) for counts in (real, made))
    agree = np.where(wanted == 0, 0, np.where(wanted == found, 1, -1))
    return float(agree.sum() / len(first))


def compare(real: Summary, made: Summary, grid: Grid, random: np.random.Generator) -> dict[str, float]:
    """All figures of made-up trips against real ones."""
    return {
        "density": divergence(real.density, made.density),
        "query": query_error(real.points, made.points, grid, random),
        "ndcg": ndcg(real.density, made.density),
        "kendall": kendall(real.coverage, made.coverage),
        "moves": divergence(real.moves, made.moves),
        # As many runs on both sides, so precision, recall and F1 are one number.
        "F1": len(real.patterns & made.patterns) / PATTERNS,
        "trips": divergence(real.trips, made.trips),
        "lengths": in_classes(real.lengths, made.lengths),
        "diameter": in_classes(real.diameters, made.diameters),
    }
