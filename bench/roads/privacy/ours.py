"""veilwalk's mechanisms, through its Python package."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from network import Network

import veilwalk as vw

SEED = 1


@dataclass
class Mechanism:
    """One of ours, at one promise."""

    network: Network
    metric: str
    name: str
    epsilon: str
    choices: dict[str, object] = field(default_factory=dict)

    @cached_property
    def made(self) -> vw.Mechanism:
        chain = measured(self.network, self.metric)
        return vw.Mechanism(self.name, chain, epsilon=self.epsilon, radius="100m", **self.choices)

    @cached_property
    def released(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The released walks, and what was observed."""
        how = {"states": "numbers", "seed": SEED, "allow_vacuous": True}
        if not self.made.observes:
            return np.asarray(self.made.privatize(self.network.walks, **how)), None
        released, observed = self.made.privatize(self.network.walks, observed=True, **how)
        return np.asarray(released), np.asarray(observed)

    def in_blocks(self, length: int | str) -> np.ndarray:
        how = {"states": "numbers", "seed": SEED, "allow_vacuous": True, "block": length}
        return np.asarray(self.made.privatize(self.network.walks, **how))

    def refined(self, lag: int | None) -> np.ndarray:
        """The walks that are inferred from the release, whole or with a lag."""
        released, observed = self.released
        labels = self._labels
        drawn = None if observed is None else labels(observed)
        rows = self.made.refine(labels(released), observed=drawn, lag=lag)
        number = {state: place for place, state in enumerate(self.network.chain.states)}
        return np.array([number[row["state"]] for row in rows]).reshape(released.shape)

    def weight_in_blocks(self, length: int | str) -> str:
        """The chain weight that is taken in blocks."""
        said = self.made.guarantee(block=length, attack=False).to_dict()["mechanism"]
        return said.partition("chain weight ")[2] or said

    def attacked(self) -> tuple[float, float]:
        """The share of states that are guessed right, and its standard error."""
        found = self.made.attack(real=self._labels(self.network.walks), seed=SEED)
        guess = found.to_dict()["state"]
        return guess["attacker"], guess["standard_error"]

    def _labels(self, walks: np.ndarray) -> list[list[str]]:
        if walks.dtype.kind == "U":
            return walks.tolist()  # places, which are no states
        states = self.network.chain.states
        return [[states[number] for number in walk] for walk in walks]


_measured: dict[tuple[str, str], vw.Chain] = {}


def measured(network: Network, metric: str) -> vw.Chain:
    """The network's chain with these distances, computed once."""
    key = (network.chain.hash, metric)
    if key not in _measured:
        _measured[key] = network.chain.measured(metric)
    return _measured[key]
