"""Tight weights beside the best kernel there is: the one that a linear program finds for the same promise.

The program (scipy's HiGHS) has a variable for each probability K(y | x). It minimises the mean distance of an
observation from the real state, among all kernels whose loss is at most λ for each nat. Both kernels are then
followed by the same belief and the same feasible answers, and the walks compared.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

import veilwalk as vw

pytestmark = pytest.mark.slow

Array = NDArray[np.float64]
STEPS, WALKS = 60, 1500


def moves(chain: vw.Chain) -> Array:
    return np.array([[chain.row(a).get(b, 0.0) for b in chain.states] for a in chain.states])


def distances(p: Array) -> Array:
    """The symmetric distance: the longer of the likeliest ways there and back."""
    with np.errstate(divide="ignore"):
        d = -np.log(p)
    np.fill_diagonal(d, 0.0)
    for k in range(len(p)):
        d = np.minimum(d, d[:, [k]] + d[[k], :])
    return np.maximum(d, d.T)


def best_kernel(d: Array, prior: Array, rate: float) -> Array:
    n = len(d)
    pairs = [(x, z) for x in range(n) for z in range(n) if x != z]
    rows = np.arange(len(pairs) * n)
    plus = np.array([x * n + y for x, z in pairs for y in range(n)])
    minus = np.array([z * n + y for x, z in pairs for y in range(n)])
    factor = np.repeat([np.exp(rate * d[x, z]) for x, z in pairs], n)
    # K(y | x) <= exp(rate d) K(y | z), each row scaled so that no coefficient is large.
    scale = 1 / factor
    loss = csr_matrix((scale, (rows, plus)), (len(rows), n * n)) - csr_matrix(
        (np.ones(len(rows)), (rows, minus)), (len(rows), n * n)
    )
    one = csr_matrix((np.ones(n * n), (np.repeat(np.arange(n), n), np.arange(n * n))))
    cost = (prior[:, None] * d).ravel()
    found = linprog(cost, loss, np.zeros(len(rows)), one, np.ones(n), method="highs")
    assert found.status == 0, found.message
    kernel: Array = found.x.reshape(n, n).clip(0)
    shares: Array = kernel / kernel.sum(1, keepdims=True)
    return shares


def tight_kernel(chain: vw.Chain, rate: float) -> Array:
    m = vw.Mechanism("tight", chain, epsilon=rate, radius=1)
    assert m.weights_found == "solved"
    rows = [m.kernel(previous=x, real=x) for x in chain.states]
    return np.array([[row.get(y, 0.0) for y in chain.states] for row in rows])


def drawn(shares: Array, uniform: Array) -> NDArray[np.int64]:
    totals = shares.cumsum(1)
    places: NDArray[np.int64] = (uniform[:, None] * totals[:, -1:] > totals).sum(1)
    return places.clip(max=shares.shape[1] - 1)


def tracked_distance(p: Array, d: Array, kernel: Array, start: Array) -> Array:
    """For each walk, how far the answers to its observations are from it."""
    random = np.random.default_rng(7)
    with np.errstate(divide="ignore"):
        weight = np.where(p > 0, -np.log(np.where(p > 0, p, 1)), np.inf)
    x = drawn(np.tile(start, (WALKS, 1)), random.random(WALKS))
    belief, last, total = np.tile(start, (WALKS, 1)), None, np.zeros(WALKS)
    for step in range(STEPS):
        if step:
            x, belief = drawn(p[x], random.random(WALKS)), belief @ p
        y = drawn(kernel[x], random.random(WALKS))
        belief = belief * kernel[:, y].T
        belief /= belief.sum(1, keepdims=True)
        expected = belief @ d
        if last is not None:
            expected = expected + 0.01 * weight[last]
        last = expected.argmin(1)
        total += d[last, x]
    return total / STEPS


def random_chain(seed: int) -> vw.Chain:
    """Twelve states that can all be followed by any: weights without negative ones exist from small rates."""
    draw = np.random.default_rng(seed)
    p = np.exp(1.5 * draw.standard_normal((12, 12))) + 12 * np.diag(draw.random(12))
    p /= p.sum(1, keepdims=True)
    return vw.Chain.from_matrix(p, normalize=True)


def compared(chain: vw.Chain, rate: float) -> tuple[float, float]:
    p = moves(chain)
    d = distances(p)
    start = np.full(len(p), 1 / len(p))
    # Where real walks are, on average over their steps.
    laws = [start @ np.linalg.matrix_power(p, step) for step in range(STEPS)]
    prior = np.mean(laws, axis=0)
    ours = tracked_distance(p, d, tight_kernel(chain, rate), start)
    best = tracked_distance(p, d, best_kernel(d, prior, rate), start)
    # The same real walks: the difference has an error of its own.
    error = float((ours - best).std() / np.sqrt(WALKS))
    return float(ours.mean() / best.mean()), error / float(best.mean())


@pytest.mark.parametrize("rate", [0.15, 0.29, 0.5, 1.0])
def test_on_credit(rate: float) -> None:
    ratio, error = compared(vw.Chain.credit(), rate)
    assert ratio < 1.03 + 2 * error, f"{ratio:.3f} ± {error:.3f}"


@pytest.mark.parametrize("seed", range(10))
def test_on_chains_without_pattern(seed: int) -> None:
    ratio, error = compared(random_chain(seed), 1.0)
    assert ratio < 1.03 + 2 * error, f"{ratio:.3f} ± {error:.3f}"
