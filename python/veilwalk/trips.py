"""Trips: a chain with where walks start, where they end, and how long they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from veilwalk._native import sample_trips
from veilwalk.chain import Chain
from veilwalk.exact import whole_number
from veilwalk.warning import warn

_FAR = 0.01
"""What is said if more walks than this end where they should not."""


class Trips(NamedTuple):
    """What `Chain.fit_trips` found of walks, with noise: enough to make up walks like them.

    >>> import veilwalk as vw
    >>> chain = vw.Chain.credit()
    >>> trips = vw.Trips(chain, ends={"Def": 1.0}, lengths=[0, 0, 0.5, 0.5])
    >>> [len(walk) - 1 for walk in trips.sample(4, seed=2)]
    [...]
    """

    chain: Chain
    """Where walks go, and where they start (its initial distribution)."""
    ends: dict[str, float] | None
    """The share of each last state, if that was asked for."""
    lengths: Sequence[float]
    """The share of walks with no move, with one, with two, and so on."""

    def sample(self, walks: int, *, seed: int | None = None) -> list[list[str]]:
        """Draws walks of the chain with such starts, lengths and ends: nobody's, as `veilwalk chain sample
        --lengths --ends` does. Where these exclude each other the ends come as near as they can, and a
        warning says how near."""
        states = self.chain.states
        ends = None if self.ends is None else [float(self.ends.get(state, 0)) for state in states]
        count, lengths = whole_number("walks", walks, 0), [float(share) for share in self.lengths]
        drawn, sizes, off = sample_trips(self.chain._native, count, lengths, ends, seed)
        if off > _FAR:
            warn(
                "walks of this chain with these starts and lengths do not all end where they should; "
                f"{100 * off:.1f} % end elsewhere",
                UserWarning,
            )
        places, listed = iter(drawn.tolist()), []
        for size in sizes.tolist():
            listed.append([states[next(places)] for _ in range(size)])
        return listed
