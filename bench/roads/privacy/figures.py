"""How good released walks are, with standard errors over walks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from network import Network

RESAMPLED = 200
"""How often walks are drawn with replacement for the error of a quantile."""


@dataclass
class Row:
    """A way to release walks, at one promise and one delay."""

    name: str
    delay: str
    walks: np.ndarray
    guessed: tuple[float, float] | None = None
    """The share of states that somebody who knows the chain and the mechanism guesses right, with its error. None where
    it cannot be computed."""


def metres(network: Network, row: Row) -> np.ndarray:
    """How far each released state is from the real one, along the streets."""
    return network.distances[row.walks, network.walks].astype(float)


def mean(values: np.ndarray) -> tuple[float, float]:
    """Of one number for each walk, with its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def ratio(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """Of the means of two lists about the same walks, with its standard error."""
    of = ours.mean() / theirs.mean()
    rest = ours - of * theirs
    return float(of), float(rest.std(ddof=1) / np.sqrt(len(rest)) / theirs.mean())


def measure(network: Network, row: Row) -> dict[str, object]:
    apart = metres(network, row)
    random = np.random.default_rng(1)
    again = random.integers(len(apart), size=(RESAMPLED, len(apart)))
    quantiles = [np.quantile(apart[drawn], 0.95) for drawn in again]
    impossible = np.array([network.impossible(walk).mean() for walk in row.walks])
    right = (row.walks == network.walks).mean(axis=1)
    return {
        "mechanism": row.name,
        "delay": row.delay,
        "metres": mean(apart.mean(axis=1)),
        "metres_95": (float(np.quantile(apart, 0.95)), float(np.std(quantiles))),
        "impossible": mean(impossible),
        "right": mean(right),
        "guessed": row.guessed,
    }
