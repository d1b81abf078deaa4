"""Inference beside hmmlearn, the usual library for hidden Markov models, on the same releases.

    python python/benchmarks/inference.py [STATES [WALKS [ROUNDS]]]

The chain is a made-up street grid of about so many states. Walks of it are released by `tight`, whose
observations depend on the real state alone, so that hmmlearn can hold them: a hidden chain with a matrix of
moves and a matrix of observations, both dense. Three things are asked of both: how likely each state is at
each step of every walk (`posterior`), the same with the walk that follows from it (veilwalk's feasible walk
nearest in expectation; hmmlearn's likeliest), and the law of moves learned from all walks (`estimate`: both
until a round gains less than 0.01 nats). Every round runs all of them, the middle one is told: seconds by
the clock, and seconds of the processor over all threads. That both say the same is checked first.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from hmmlearn.hmm import CategoricalHMM

import veilwalk as vw


def grid(states: int) -> vw.Chain:
    """Streets between the crossings of a square, with shares at random."""
    side = round(states**0.5)
    random = np.random.default_rng(3)
    moves = []
    for row in range(side):
        for column in range(side):
            ways = [(row, column), (row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
            there = [(r, c) for r, c in ways if 0 <= r < side and 0 <= c < side]
            shares = random.dirichlet(np.ones(len(there)))
            here = f"r{row}c{column}"
            moves += [(here, f"r{r}c{c}", float(p)) for (r, c), p in zip(there, shares, strict=True)]
    return vw.Chain.from_transitions(moves, normalize=True)


def hidden(m: vw.Mechanism) -> CategoricalHMM:
    """The same law of releases, as hmmlearn holds it."""
    states = m.chain.states
    place = {label: number for number, label in enumerate(states)}
    moves, drawn = np.zeros((len(states), len(states))), np.zeros((len(states), len(states)))
    for label in states:
        for to, p in m.chain.row(label).items():
            moves[place[label], place[to]] = p
        for observed, p in m.kernel(previous=states[0], real=label).items():
            drawn[place[label], place[observed]] = p
    model = CategoricalHMM(n_components=len(states), n_features=len(states), init_params="", params="st")
    model.startprob_ = np.full(len(states), 1 / len(states))
    model.transmat_, model.emissionprob_ = moves, drawn
    return model


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def main(states: int, walks: int, rounds: int) -> None:
    chain = grid(states)
    m = vw.Mechanism("tight", chain, epsilon=6, substitutions=1)
    released, observed = m.privatize(chain.sample(walks, 29, seed=1), observed=True, seed=2)
    place = {label: number for number, label in enumerate(chain.states)}
    flat = np.array([[place[label]] for walk in observed for label in walk])
    lengths = [len(walk) for walk in observed]
    model = hidden(m)

    def ours(posterior: bool) -> Any:
        return m.refine(released, observed=observed, posterior=posterior, above=0.001)

    # Both say the same of the first walk, up to what is left out below a thousandth.
    _, likely = m.refine(released[:1], observed=observed[:1], posterior=True, above=0.0)
    expected = model.predict_proba(flat[: lengths[0]])
    for row in likely:
        assert abs(row["probability"] - expected[row["step"], place[row["state"]]]) < 1e-6, row

    def theirs() -> None:
        learned = hidden(m)
        learned.tol, learned.n_iter = 0.01, 2000
        learned.fit(flat, lengths)

    def estimated() -> None:
        m.estimate(released, observed=observed, what="moves", interval=None, strength=0)

    tasks: dict[str, dict[str, Callable[[], Any]]] = {
        "posterior and walk": {
            "veilwalk": lambda: ours(True),
            "hmmlearn": lambda: (model.predict_proba(flat, lengths), model.decode(flat, lengths)),
        },
        "estimate": {"veilwalk": estimated, "hmmlearn": theirs},
    }
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for task, peers in tasks.items():
            for peer, work in peers.items():
                found.setdefault((task, peer), []).append(timed(work))
    print(f"{len(chain)} states, {chain.transitions} moves, {walks} walks of 30 states, {rounds} rounds")
    for task in tasks:
        of = {
            peer: tuple(median(run[k] for run in found[task, peer]) for k in (0, 1)) for peer in tasks[task]
        }
        for peer, (clock, processor) in of.items():
            print(f"{task:>20}  {peer:<9} {clock:9.3f} s  {processor:9.3f} s of the processor")
        ratios = [of["hmmlearn"][k] / of["veilwalk"][k] for k in (0, 1)]
        print(
            f"{'':>20}  hmmlearn takes {ratios[0]:.1f} times as long, {ratios[1]:.1f} times of the processor"
        )


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [225, 100, 3][len(given) :]))
