"""The peer: planar Laplace noise (Andrés et al., CCS 2013) on every position, and what can be inferred from it.

Every position is moved by noise with a density in proportion to exp(-rate · metres), drawn with doubles. The density of what comes out is
known for every state, so the position's state is a hidden Markov chain whose messages, forward and backward, are exact but for
rounding. Independent of veilwalk: numpy, and scipy's sparse matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from network import Network


@dataclass
class Observed:
    """What was released of each walk, and what follows from it. Arrays have a column for each walk."""

    network: Network
    positions: np.ndarray
    """Steps by walks by 2."""
    rate: float
    """What a metre may lose."""

    def snapped(self) -> np.ndarray:
        """The nearest state to each position."""
        return np.stack([self._metres(step).argmin(axis=0) for step in range(len(self.positions))], axis=1)

    def _metres(self, step: int) -> np.ndarray:
        """From every state to what was observed."""
        off = self.network.places[:, None, :] - self.positions[step][None]
        return np.hypot(off[..., 0], off[..., 1])

    def factors(self) -> np.ndarray:
        """How likely what was observed is from every state, the likeliest being one."""

        def one(step: int) -> np.ndarray:
            metres = self._metres(step)
            return np.exp(-self.rate * (metres - metres.min(axis=0)))

        return np.stack([one(step) for step in range(len(self.positions))])


def observe(network: Network, rate: float, seed: int) -> Observed:
    random = np.random.default_rng(seed)
    real = network.places[network.walks.T]
    # The distance of planar Laplace noise has a gamma law of shape two.
    metres = random.gamma(2, 1 / rate, real.shape[:2])
    angle = random.uniform(0, 2 * np.pi, real.shape[:2])
    noise = np.stack([metres * np.cos(angle), metres * np.sin(angle)], axis=-1)
    return Observed(network, real + noise, rate)


class Messages:
    """What is known of each step from the steps before and after it."""

    def __init__(self, network: Network, factors: np.ndarray) -> None:
        self.network, self.factors = network, factors
        self.back = network.moves
        self.ahead = network.moves.T.tocsr()
        self.filtered = self._filter()

    def _filter(self) -> np.ndarray:
        beliefs = np.empty_like(self.factors)
        predicted = np.repeat(self.network.initial[:, None], self.factors.shape[2], axis=1)
        for step, factors in enumerate(self.factors):
            if step:
                predicted = self.ahead @ beliefs[step - 1]
            belief = predicted * factors
            beliefs[step] = belief / belief.sum(axis=0)
        return beliefs

    def posterior(self, step: int, lag: int) -> np.ndarray:
        """Of a step, given everything up to `lag` steps after it."""
        later = np.ones_like(self.factors[0])
        for at in range(min(step + lag, len(self.factors) - 1), step, -1):
            later = self.back @ (self.factors[at] * later)
            later /= later.max(axis=0)
        return _shares(self.filtered[step] * later)

    def smoothed(self) -> np.ndarray:
        """The posterior of every step, given everything."""
        out = np.empty_like(self.filtered)
        later = np.ones_like(self.factors[0])
        for step in range(len(self.factors) - 1, -1, -1):
            out[step] = _shares(self.filtered[step] * later)
            later = self.back @ (self.factors[step] * later)
            later /= later.max(axis=0)
        return out


def _shares(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum(axis=0)


AHEAD, DISCOUNT = 40, 0.9
"""How many moves are looked ahead, and what a move later counts for."""


def costs_ahead(network: Network) -> np.ndarray:
    """For every answer and every real state, the distance between them and what is expected to be lost over the next moves, if
    the real walk were known from the next step on (QMDP; Littman, Cassandra and Kaelbling, 1995)."""
    into, starts = network.moves.indices, network.moves.indptr[:-1]
    costs = network.distances
    moves = network.moves.astype(np.float32)
    for _ in range(AHEAD):
        best = np.empty_like(costs)
        # Some columns at a time, for memory.
        for first in range(0, costs.shape[1], 256):
            part = np.ascontiguousarray(costs[:, first : first + 256])
            best[:, first : first + 256] = np.minimum.reduceat(part[into], starts, axis=0)
        costs = network.distances + DISCOUNT * (moves @ best.T).T
    return costs


def tracked(messages: Messages, lag: int, costs: np.ndarray) -> np.ndarray:
    """The feasible walks that answer each step, `lag` steps later, with the move of the least expected cost."""
    network = messages.network
    steps, _, count = messages.factors.shape
    walks = np.empty((count, steps), dtype=int)
    for step in range(steps):
        posterior = messages.posterior(step, lag)
        for walk in range(count):
            # What has next to no mass does not change what is nearest, and takes most of the time.
            likely = np.flatnonzero(posterior[:, walk] > 1e-9)
            mass = posterior[likely, walk]
            can = network.successors(walks[walk, step - 1]) if step else np.arange(len(posterior))
            walks[walk, step] = can[(costs[np.ix_(can, likely)] @ mass).argmin()]
    return walks


def nearest_whole(network: Network, posteriors: np.ndarray) -> np.ndarray:
    """The feasible walks with the least expected distance in all, given everything."""
    steps, states, count = posteriors.shape
    moves = network.moves.tocsc()
    into, starts = moves.indices, moves.indptr[:-1]
    costs = np.zeros((states, count))
    before = np.empty((steps, states, count), dtype=np.int32)
    for step in range(steps):
        if step:
            reached = costs[into]
            best = np.minimum.reduceat(reached, starts, axis=0)
            before[step] = _first_best(reached, best, into, starts)
            costs = best
        costs = costs + network.distances @ posteriors[step].astype(np.float32)
    walks = np.empty((count, steps), dtype=int)
    walks[:, -1] = costs.argmin(axis=0)
    for step in range(steps - 1, 0, -1):
        walks[:, step - 1] = before[step][walks[:, step], np.arange(count)]
    return walks


def _first_best(reached: np.ndarray, best: np.ndarray, into: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """For each state and walk, from which state the best way comes."""
    sizes = np.diff(np.append(starts, len(into)))
    is_best = reached == np.repeat(best, sizes, axis=0)
    numbers = np.where(is_best, into[:, None], len(sizes))
    return np.minimum.reduceat(numbers, starts, axis=0)
