"""Makes crates/veilwalk/tests/fixtures/distances.json with scipy.

Usage: python scripts/make_fixtures.py > crates/veilwalk/tests/fixtures/distances.json
"""

import json

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

CREDIT = """
0.919 0.069 0.011 0 0.001 0 0 0 0
0.012 0.893 0.088 0.005 0.002 0 0 0 0
0.001 0.023 0.920 0.049 0.006 0.002 0 0 0
0 0.002 0.055 0.889 0.045 0.006 0.001 0 0.001
0 0.001 0.005 0.054 0.855 0.069 0.003 0 0.014
0 0.001 0.002 0.007 0.065 0.829 0.019 0.005 0.072
0 0 0 0.010 0.025 0.076 0.673 0.035 0.181
0 0 0 0 0.010 0.057 0.143 0.581 0.210
0 0 0 0 0 0 0 0.0001 0.9999
"""


def random_chain(rng: np.random.Generator, n: int, degree: float) -> np.ndarray:
    matrix = np.zeros((n, n))
    order = rng.permutation(n)
    matrix[order, np.roll(order, -1)] = rng.uniform(0.01, 1, n)
    extra = rng.random((n, n)) < degree / n
    # log-uniform entries, so that some moves are very unlikely
    matrix[extra] = np.exp(rng.uniform(-14, 0, extra.sum()))
    return matrix


def fixture(matrix: np.ndarray) -> dict:
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    weights = csr_matrix(matrix)
    # scipy takes a stored zero for a missing edge: a certain move gets the smallest weight there is
    weights.data = np.maximum(-np.log(weights.data), 1e-300)
    rows, columns = matrix.nonzero()
    return {
        "states": len(matrix),
        "edges": [[int(i), int(j), float(matrix[i, j])] for i, j in zip(rows, columns)],
        "distances": [[round(d, 12) for d in row] for row in dijkstra(weights).tolist()],
    }


if __name__ == "__main__":
    rng = np.random.default_rng(2026)
    credit = np.array([[float(p) for p in row.split()] for row in CREDIT.split("\n") if row])
    chains = [credit] + [random_chain(rng, n, d) for n, d in [(2, 1), (7, 3), (15, 2), (25, 4), (40, 3)]]
    print("[\n" + ",\n".join(json.dumps(fixture(chain)) for chain in chains) + "\n]")
