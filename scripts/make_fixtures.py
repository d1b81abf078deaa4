"""Makes crates/veilwalk/tests/fixtures/distances.json with scipy, or checks that it still would.

Usage: python scripts/make_fixtures.py [--check]
"""

import json
import sys
from pathlib import Path

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


def fixtures() -> list[dict]:
    rng = np.random.default_rng(2026)
    credit = np.array([[float(p) for p in row.split()] for row in CREDIT.split("\n") if row])
    sizes = [(2, 1), (7, 3), (15, 2), (25, 4), (40, 3)]
    return [fixture(credit)] + [fixture(random_chain(rng, n, degree)) for n, degree in sizes]


def check(path: Path) -> None:
    """The chains are taken from the file: numpy's streams may change between versions."""
    for number, stored in enumerate(json.loads(path.read_text())):
        matrix = np.zeros((stored["states"], stored["states"]))
        for i, j, p in stored["edges"]:
            matrix[i, j] = p
        again = np.array(fixture(matrix)["distances"])
        if not np.allclose(again, stored["distances"], rtol=0, atol=1e-9):
            sys.exit(f"{path}: scipy finds other distances for chain {number}")
    print(f"{path.name}: scipy agrees")


if __name__ == "__main__":
    path = Path(__file__).parent.parent / "crates/veilwalk/tests/fixtures/distances.json"
    if sys.argv[1:] == ["--check"]:
        check(path)
    else:
        lines = ",\n".join(json.dumps(each) for each in fixtures())
        path.write_text(f"[\n{lines}\n]\n")
