"""What a release says about the real walks: refined walks, and what the crowd did.

Everything here looks at what was released and at public things alone, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from veilwalk import _native, tables
from veilwalk._native import ParameterError, WalkError
from veilwalk.chain import Chain
from veilwalk.exact import whole_number
from veilwalk.how import OBSERVED
from veilwalk.labels import State
from veilwalk.walks import collect
from veilwalk.warning import warn

if TYPE_CHECKING:
    from veilwalk.mechanism import Mechanism

MANY_STATES = 512
"""On larger chains intervals are made only if they are asked for."""


class Released:
    """A release as it was given: its walks, their names, and the kind of table that answers come in."""

    def __init__(
        self,
        mechanism: Mechanism,
        release: Any,
        observed: Any,
        trajectory: str,
        step: str | None,
        state: str,
    ) -> None:
        self.library = tables.library_of(release)
        self.frame = self.library is not None and type(release).__name__ in tables.FRAMES
        if observed is not None and not mechanism.observes:
            raise ParameterError("observed: this mechanism draws moves, so nothing was observed beside them")
        if observed is not None and self.frame:
            raise ParameterError(
                f"observed: of a table, what was observed is in the column {OBSERVED!r}; leave observed= out"
            )
        if self.frame:
            self._refuse_steps_twice(release, trajectory, step, state)
        self.walks = collect(release, trajectory, step, state)
        self.observed = self._observed(mechanism, release, observed, trajectory, step)
        if self.observed is not None:
            lengths = [len(walk) for walk in self.observed]
            if lengths != [len(walk) for walk in self.walks]:
                raise WalkError("observed: every released state needs one observation")
        self.names = self._names(release, trajectory)
        first = next((label for walk in self.walks for label in walk), None)
        labels = mechanism._native.labels
        whole = isinstance(first, int) and not isinstance(first, bool)
        self.labels: list[Any] = [int(label) for label in labels] if whole else labels

    def _observed(
        self, mechanism: Mechanism, release: Any, observed: Any, trajectory: str, step: str | None
    ) -> list[list[Any]] | None:
        if not mechanism.observes:
            return None
        if self.frame:
            return collect(release, trajectory, step, OBSERVED)
        if observed is None:
            raise ParameterError(
                "observed: inference needs what was observed; privatize(walks, observed=True) gives it "
                "beside the walks"
            )
        return collect(observed, trajectory, step, OBSERVED)

    def _refuse_steps_twice(self, release: Any, trajectory: str, step: str | None, state: str) -> None:
        assert self.library is not None
        present = self.library.columns(release)
        lists = state in present and self.library.is_lists(self.library.column(release, state))
        if step is None or step not in present or trajectory not in present or lists:
            return
        for name, steps in zip(
            self._names(release, trajectory), collect(release, trajectory, step, step), strict=True
        ):
            twice = next((a for a, b in pairwise(steps) if a == b), None)
            if twice is not None:
                raise WalkError(f"column {step!r}: trajectory {name!r} has step {twice!r} a second time")

    def _names(self, release: Any, trajectory: str) -> list[Any]:
        """The names of the walks in the order in which they begin."""
        if self.frame and self.library is not None and trajectory in self.library.columns(release):
            return list(dict.fromkeys(self.library.values(self.library.column(release, trajectory))))
        if isinstance(release, Mapping):
            return list(release)
        return list(range(len(self.walks)))

    def table(self, columns: dict[str, list[Any]]) -> Any:
        """A table of the library that the release is of; a list of rows if it is of none."""
        if self.library is None:
            return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return self.library.made(columns)


def tell(dropped: float, surprises: int) -> None:
    """Says what makes figures less sure."""
    if surprises:
        warn(
            f"{surprises} steps of the release contradicted everything that the steps before made possible: "
            "real walks made moves that the chain does not have, or it takes likely moves for impossible",
            UserWarning,
        )
    if dropped > 0.01:
        warn(
            f"states of little mass were dropped, with {dropped:.1%} of a walk's on average: figures may be "
            "that far off",
            UserWarning,
        )


def _number(name: str, value: object, least: float, below: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < below:
        raise ParameterError(f"{name}: {value!r}; give a number from {least:g} up and below {below:g}")
    return float(value)


def refine(
    mechanism: Mechanism,
    release: Any,
    *,
    observed: Any,
    aim: str,
    lag: int | None,
    prior: Chain | None,
    posterior: bool,
    above: float,
    start: State | Literal["private", "initial", "first"],
    trajectory: str,
    step: str | None,
    state: str,
    threads: int | None,
) -> Any:
    """See `Mechanism.refine`."""
    if prior is not None and not isinstance(prior, Chain):
        raise ParameterError(f"prior: a value of type {type(prior).__name__}; give a veilwalk.Chain")
    above = _number("above", above, 0, 1)
    given = Released(mechanism, release, observed, trajectory, step, state)
    states, confidence, likely, dropped, surprises = _native.refine(
        mechanism.chain._native,
        mechanism._native,
        start,
        given.walks,
        given.observed,
        aim,
        None if lag is None else whole_number("lag", lag, 0),
        None if prior is None else prior._native,
        above if posterior else None,
        None if threads is None else whole_number("threads", threads, 1),
    )
    tell(dropped, surprises)
    rows = [
        (name, step) for name, walk in zip(given.names, given.walks, strict=True) for step in range(len(walk))
    ]
    refined = given.table(
        {
            "trajectory": [name for name, _ in rows],
            "step": [step for _, step in rows],
            "state": [given.labels[place] for place in states.tolist()],
            "released": [label for walk in given.walks for label in walk],
            "confidence": confidence.tolist(),
        }
    )
    if likely is None:
        return refined
    walks, steps, places, probabilities = (column.tolist() for column in likely)
    return refined, given.table(
        {
            "trajectory": [given.names[walk] for walk in walks],
            "step": steps,
            "state": [given.labels[place] for place in places],
            "probability": probabilities,
        }
    )


NAMES = {"visits": ("state",), "moves": ("from", "to"), "od": ("origin", "destination"), "chain": ()}
"""What can be estimated, and the columns of states it has."""


def tell_unsettled(converged: bool) -> None:
    """Says that an estimate stopped before it settled."""
    if not converged:
        warn(
            "the figures still changed when it stopped; a larger strength settles what the release says "
            "too little about",
            UserWarning,
        )


def columns_of(
    what: str, labels: list[Any], places: tuple[list[int], list[int]], share: list[float]
) -> dict[str, list[Any]]:
    """An estimate in columns: the states by their labels, and their share."""
    columns: dict[str, list[Any]] = {
        name: [labels[place] for place in of] for name, of in zip(NAMES[what], places, strict=False)
    }
    return columns | {"share": share}


def estimate(
    releases: Iterable[tuple[Any, ...]],
    *,
    what: Literal["visits", "moves", "od", "chain"] = "visits",
    interval: float | Literal["auto"] | None = "auto",
    replicates: int = 100,
    strength: float = 1,
    seed: int = 1,
    start: State | Literal["private", "initial", "first"] = "private",
    trajectory: str = "trajectory",
    step: str | None = "step",
    state: str = "state",
    threads: int | None = None,
) -> Any:
    """What the crowd did, learned from several releases together, also by several mechanisms, all on one
    chain.

    `releases` are pairs of a mechanism and what it released; of walks that are no table and a mechanism that
    draws observations, triples with what was observed. Everything else is as in `Mechanism.estimate`, and the
    answer comes in the kind of table of the first release.

    >>> import veilwalk as vw
    >>> chain = vw.Chain.credit()
    >>> mechanisms = [vw.Mechanism("cell", chain, epsilon=epsilon, radius=3.5) for epsilon in (1, 4)]
    >>> real = chain.sample(60, 10, seed=1)
    >>> releases = [(m, m.privatize(real[k::2], seed=1)) for k, m in enumerate(mechanisms)]
    >>> rows = vw.estimate(releases, interval=None)
    >>> round(sum(row["share"] for row in rows), 6)
    1.0
    """
    if what not in NAMES:
        raise ParameterError(f"what: {what!r}; give one of {', '.join(map(repr, NAMES))}")
    listed = [_mechanism_and_release(number, release) for number, release in enumerate(releases)]
    if not listed:
        raise ParameterError("releases: there are none; give pairs of a mechanism and what it released")
    chain = listed[0][0].chain
    for number, (mechanism, _, _) in enumerate(listed):
        if mechanism.chain.hash != chain.hash:
            raise ParameterError(
                f"release {number}: its mechanism is on another chain than that of release 0; learn from "
                "those of one chain at a time"
            )
    level: float | None
    if interval == "auto":
        level = 0.95 if len(chain) <= MANY_STATES else None
    else:
        level = None if interval is None else _number("interval", interval, 0, 1)
    if level == 0:
        raise ParameterError("interval: give a number between zero and one, or None")
    strength = _number("strength", strength, 0, float("inf"))
    given = [
        (mechanism, Released(mechanism, release, observed, trajectory, step, state))
        for mechanism, release, observed in listed
    ]
    learned, (first, second, share, intervals), converged, dropped, surprises = _native.estimate(
        chain._native,
        [
            (mechanism._native, start, one.walks if one.observed is None else one.observed)
            for mechanism, one in given
        ],
        what,
        None if what == "chain" else level,
        whole_number("replicates", replicates, 10),
        whole_number("seed", seed, 0),
        strength,
        None if threads is None else whole_number("threads", threads, 1),
    )
    tell(dropped, surprises)
    tell_unsettled(converged)
    if learned is not None:
        return Chain._of(learned)
    answer = given[0][1]
    columns = columns_of(what, answer.labels, (first, second), share)
    if intervals is not None:
        columns["low"], columns["high"] = intervals
    return answer.table(columns)


def _mechanism_and_release(number: int, release: Any) -> tuple[Mechanism, Any, Any]:
    from veilwalk.mechanism import Mechanism

    if not isinstance(release, tuple) or len(release) not in (2, 3) or not isinstance(release[0], Mechanism):
        raise ParameterError(
            f"release {number}: give a pair of a mechanism and what it released, or a triple with what was "
            "observed"
        )
    mechanism, released, *observed = release
    return mechanism, released, observed[0] if observed else None
