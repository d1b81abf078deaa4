"""Mechanisms: what releases walks, and what it promises."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Literal

from veilwalk import _native
from veilwalk._native import ParameterError, VeilwalkError
from veilwalk.chain import Chain
from veilwalk.exact import (
    Exact,
    exact_fraction,
    exact_text,
    fraction,
    path_text,
    several,
    whole_number,
)
from veilwalk.files import Audit
from veilwalk.guarantee import Guarantee
from veilwalk.how import block_text
from veilwalk.labels import State
from veilwalk.learning import Learning
from veilwalk.releasing import Releasing
from veilwalk.session import Block


class Mechanism(Releasing, Learning):
    """A member of the family on a chain, with its promise.

    `name` is `auto`, `tight`, `believed`, `plane`, `cell`, `sharp`, `paper`, `exponential`, `chen` or
    `exponential-hamming`. `auto` takes the best of a few, found on short walks of the chain's own that are
    released with a private start; `name` then says which one that is. The promise is epsilon for walks
    whose states differ by at most `radius` nats in all, or in at most `substitutions` states. Numbers are
    exact: 0.1 is one tenth.

    >>> import veilwalk as vw
    >>> m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=1, radius=3.5)
    >>> m
    Mechanism('sharp', epsilon=1, radius=3.5, on 9 states)
    >>> m.kernel(previous="Caa", real="Ca/C")["Caa"]
    0.610...
    >>> m.privatize([["Caa", "Ca/C"]], seed=1)  # doctest: +SKIP
    [['Baa', 'Ba']]

    `distance`, `rule` and `chain_weight` override the choices that the name stands for;
    `calibrate="exact"` looks for the largest scale whose exact loss keeps the promise.

    With `visit` and `every` the promise is for a stay, in people's words: on walks with a state every 5
    minutes, any one stay of up to two hours is 24 states, so 24 substitutions.

    >>> m = vw.Mechanism("chen", vw.Chain.credit(), epsilon=12, visit="2h", every="5m")
    >>> m.substitutions, m.visit
    (24, '2h')

    A radius may be in metres, such as `"200m"` or `"0.2km"`. Distances are then taken along the lengths of
    the chain's moves, or straight where it has coordinates only; `metric` says which, as `Chain.measured`
    does, and the mechanism's `chain` has these distances.

    `tight` and `believed` draw *observations*. Every real state is answered by a state that need not be a
    move from the last one. The released walk is made of the observations: it takes only moves that the
    chain allows, and stays near what they say of the real walk. Both are released.

    >>> m = vw.Mechanism("tight", vw.Chain.credit(), epsilon=1, radius=3.5)
    >>> m.candidates, m.weights_found, m.lag
    ('states', 'solved', 0)
    >>> released, observed = m.privatize([["Caa", "Ca/C"]], observed=True)

    `plane` observes a *place*: latitude and longitude near the real state's, by planar Laplace noise that is
    drawn exactly. It is for chains whose states have coordinates, and promises in straight-line metres
    (`metric="line"`). What it observes are texts, whatever the states are.

    `candidates` says which states can be drawn: `"moves"` (of the last released state), `"states"` (all of
    them, with public `weights`: `"tight"` or `"even"`) or `"believed"` (those that are at least
    `believed_from` times as likely as the likeliest, by what was observed before). `track` says what the
    walk made of observations is to be good at: little `"distance"` to the real states, or few wrong
    `"states"`, each by itself or with a look ahead at the steps to come (`"distance-ahead"`,
    `"states-ahead"`), which keeps it away from places from where the real walk could not be followed.
    `typicality` is how strongly unlikely moves are avoided there. With a `lag` a step is
    answered when this many more steps were observed: a delay that buys accuracy at the same guarantee.
    """

    __slots__ = ("_native", "_visit", "chain")
    chain: Chain
    """The chain it works on."""

    def __init__(
        self,
        name: str,
        chain: Chain,
        *,
        epsilon: Exact,
        radius: Exact | None = None,
        metric: str | os.PathLike[str] | None = None,
        substitutions: int | None = None,
        visit: str | None = None,
        every: str | None = None,
        distance: str | None = None,
        rule: str | None = None,
        chain_weight: Exact | None = None,
        calibrate: Literal["theorem", "exact"] | None = None,
        candidates: Literal["moves", "states", "believed", "plane"] | None = None,
        weights: Literal["tight", "even"] | None = None,
        believed_from: Exact | None = None,
        track: Literal["distance", "states", "distance-ahead", "states-ahead"] | None = None,
        typicality: Exact | None = None,
        lag: int | None = None,
    ) -> None:
        if not isinstance(chain, Chain):
            raise ParameterError(f"chain: a value of type {type(chain).__name__}; give a veilwalk.Chain")
        for parameter, value in (
            ("name", name),
            ("distance", distance),
            ("rule", rule),
            ("calibrate", calibrate),
            ("candidates", candidates),
            ("weights", weights),
            ("track", track),
        ):
            if not isinstance(value, str) and (parameter == "name" or value is not None):
                raise ParameterError(f"{parameter}: {value!r} is not a string")
        if substitutions is not None:
            substitutions = whole_number("substitutions", substitutions, 1)
        self._visit = _stay(visit, every)
        if self._visit is not None:
            if radius is not None or substitutions is not None:
                raise ParameterError("visit: it is the promise; give it without radius= and substitutions=")
            substitutions = _native.visit_substitutions(*self._visit)
        if lag is not None:
            lag = whole_number("lag", lag, 0)
        distance_text = None if radius is None else exact_text("the radius", radius)
        if metric is not None:
            chain = chain.measured(metric)
        elif distance_text is not None:
            chain = chain._measured_for(distance_text)
        self.chain = chain
        self._native = _native.Mechanism(
            chain._native,
            exact_text("epsilon", epsilon),
            distance_text,
            substitutions,
            {
                "name": name,
                "distance": distance,
                "rule": rule,
                "chain_weight": None
                if chain_weight is None
                else exact_text("the chain weight", chain_weight),
                "calibrate": calibrate,
                "candidates": candidates,
                "weights": weights,
                "believed_from": None
                if believed_from is None
                else exact_text("believed_from", believed_from),
                "track": track,
                "typicality": None if typicality is None else exact_text("typicality", typicality),
                "lag": None if lag is None else str(lag),
            },
        )

    @classmethod
    def _of(cls, chain: Chain, native: _native.Mechanism) -> Mechanism:
        mechanism = object.__new__(cls)
        mechanism.chain = chain
        mechanism._native = native
        mechanism._visit = None
        return mechanism

    @property
    def name(self) -> str:
        """Its name, or its choices if it has none."""
        return self._native.name

    @property
    def epsilon(self) -> Fraction:
        """Exact."""
        return fraction(self._native.epsilon)

    @property
    def radius(self) -> Fraction | None:
        """In the `unit` of the chain's distances, exact; none if substitutions are counted."""
        radius = self._native.radius
        return None if radius is None else fraction(radius)

    @property
    def substitutions(self) -> int | None:
        """None if there is a radius."""
        return self._native.substitutions

    @property
    def visit(self) -> str | None:
        """The stay that is protected, if that is how the promise was said."""
        return None if self._visit is None else self._visit[0]

    @property
    def every(self) -> str | None:
        """How long it is from one state of a walk to the next, if the promise is about a stay."""
        return None if self._visit is None else self._visit[1]

    @property
    def distance(self) -> str:
        """How far a candidate is from the real state."""
        return self._native.distance

    @property
    def rule(self) -> str:
        """How a candidate is picked by its cost."""
        return self._native.rule

    @property
    def chain_weight(self) -> Fraction:
        """How strongly unlikely moves are avoided."""
        return fraction(self._native.chain_weight)

    @property
    def candidates(self) -> str:
        """Which states can be drawn: `moves`, `states` or `believed`; `plane` for places on the earth."""
        return self._native.candidates

    @property
    def observes(self) -> bool:
        """Whether what is drawn is an observation, which is released beside the walk that is made of it."""
        return self._native.observes

    @property
    def weights(self) -> str | None:
        """The public weights of all states that were asked for, where all can be drawn."""
        return self._native.weights

    @property
    def weights_found(self) -> str | None:
        """How these were found: `solved` (the best there can be), by a linear `program`, or `even`, all the
        same."""
        return self._native.weights_found

    @property
    def believed_from(self) -> Fraction | None:
        """From which share of the likeliest on a state is believed possible; none where others are drawn."""
        share = self._native.believed_from
        return None if share is None else fraction(share)

    @property
    def track(self) -> str | None:
        """What a walk made of observations is to be good at; none if the mechanism draws moves."""
        return self._native.track

    @property
    def typicality(self) -> Fraction | None:
        """How strongly unlikely moves are avoided in a walk made of observations."""
        typicality = self._native.typicality
        return None if typicality is None else fraction(typicality)

    @property
    def lag(self) -> int | None:
        """How many more steps are observed before a step is answered; none if the mechanism draws moves."""
        return self._native.lag

    @property
    def scales(self) -> dict[str, Fraction]:
        """The scale in force after each last released state."""
        scales = (fraction(scale) for scale in self._native.scales)
        return dict(zip(self.chain.states, scales, strict=True))

    @property
    def fingerprint(self) -> str:
        """Names the mechanism with its parameters and its chain: equal ones release alike."""
        return self._native.fingerprint

    def __repr__(self) -> str:
        unit = (
            f"radius={self._native.radius}"
            if self._native.radius is not None
            else f"substitutions={self.substitutions}"
        )
        lag = f", lag={self.lag}" if self.lag else ""
        promise = f"epsilon={self._native.epsilon}, {unit}"
        return f"Mechanism({self.name!r}, {promise}{lag}, on {len(self.chain)} states)"

    # What it promises

    def guarantee(
        self,
        *,
        all_pairs: bool = False,
        block: Block | None = None,
        longest_walk: int | None = None,
        walks_per_person: int | None = None,
        attack: bool | None = None,
    ) -> Guarantee:
        """What the promise means on this chain, exactly. On large chains only the transitions are compared,
        and what follows is marked as bounds, unless `all_pairs` is given; in blocks, that spends minutes on
        exact losses. With `walks_per_person` it says too what it comes to for somebody who has so many
        walks, and under a promise for a `visit` what that is in states. It says how often somebody who knows
        the chain guesses a state right, from a small simulation: where that takes about a second, or with
        `attack=True` in any case (`attack()` has more of it), and not with `attack=False`.

        >>> import veilwalk as vw
        >>> m = vw.Mechanism("auto", vw.Chain.credit(), epsilon=1, radius=3.5)
        >>> m.guarantee(walks_per_person=5).to_dict()["person"]["epsilon"]
        '5'
        >>> m.guarantee(block=2)
        Guarantee(sharp with ..., epsilon=1, radius=3.5, blocks of 2 steps, covers 67 % of states)
        """
        if walks_per_person is not None:
            walks_per_person = whole_number("walks_per_person", walks_per_person, 1)
        said = self._native.guarantee(
            all_pairs, block_text(block), longest_walk, self._visit, walks_per_person, attack
        )
        return Guarantee(*said)

    def audit(self, *, pairs: int = 12, draws: int = 1_000_000, seed: int | None = None) -> Audit:
        """Draws many steps and holds them against the exact kernel and the promise, with the sampler as a
        black box, for so many pairs of real states.

        >>> import veilwalk as vw
        >>> vw.Mechanism("sharp", vw.Chain.credit(), epsilon=1, radius=3.5).audit(draws=10_000)
        Audit(passed)
        """
        for name, number in (("pairs", pairs), ("draws", draws)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ParameterError(f"{name}: {number!r}; give a whole number from 1 up")
        return Audit(*self._native.audit(pairs, draws, seed))

    def kernel(self, *, previous: State, real: State) -> dict[str, float]:
        """The exact distribution of the next released state, or of what is observed next: among believed
        states, if the real one before was `previous` for sure. Places have no end, so under `plane` there is
        `beyond` instead.

        >>> import veilwalk as vw
        >>> m = vw.Mechanism("paper", vw.Chain.credit(), epsilon=1, radius=1)
        >>> {state: round(p, 6) for state, p in m.kernel(previous="Caa", real="Ca/C").items()}
        {'Baa': 0.002687, 'Ba': 0.008462, 'B': 0.032784, 'Caa': 0.090305, 'Ca/C': 0.861216, 'Def': 0.004546}
        """
        return dict(self._native.kernel(previous, real))

    def beyond(self, metres: float) -> float:
        """The probability that `plane` observes a place farther than this from the real one."""
        return self._native.beyond(metres)

    def loss(self, real: State, other: State) -> float:
        """The exact loss of replacing one real state by another, rounded up: the odds between the two
        change by at most a factor exp(loss)."""
        return self._native.loss(real, other)

    def privacy_map(self, d_in: Exact) -> float:
        """The smallest epsilon that is proven for walks at a distance of `d_in`: in nats if the promise
        has a radius, in replaced states if it counts substitutions. Never below the truth.

        This is the field's convention: a mechanism maps a distance between inputs to one between
        outputs. It is infinite where nothing is promised: beyond the radius of a scale that was
        calibrated exactly, other than by cells.

        >>> import veilwalk as vw
        >>> m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=1, radius=3.5)
        >>> m.privacy_map(2.7), m.privacy_map(3.5), m.privacy_map(7)
        (0.0, 1.0, 2.0)

        At 2.7 nats it is zero, because no two different walks on this chain are that close.
        """
        bound = self._privacy_map(d_in)
        if bound is None:
            return math.inf
        rounded = float(bound)
        return rounded if Fraction(rounded) >= bound else math.nextafter(rounded, math.inf)

    def check(self, d_in: Exact, d_out: Exact) -> bool:
        """Whether walks at a distance of `d_in` have a loss of at most `d_out`, proven.

        >>> import veilwalk as vw
        >>> m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=1, radius=3.5)
        >>> m.check(d_in=3.5, d_out=1), m.check(d_in=3.6, d_out=1)
        (True, False)
        """
        bound = self._privacy_map(d_in)
        return bound is not None and bound <= exact_fraction("d_out", d_out)

    def _privacy_map(self, d_in: Exact) -> Fraction | None:
        distance = exact_fraction("d_in", d_in)
        if distance < 0:
            raise ParameterError("d_in: a distance is not negative")
        if self.substitutions is not None:
            if distance.denominator != 1:
                raise ParameterError("d_in: a number of replaced states is a whole number")
            return self.epsilon * distance / self.substitutions
        radius = self.radius
        assert radius is not None, "a promise has a unit"
        closest = self.chain.closest_pair()
        if closest is None or distance < Fraction(closest[2]):
            return Fraction(0)
        by_steps = self._native.calibrate == "theorem" or self.distance.startswith("cell")
        per_nat_is_kept = by_steps or self.observes
        if not per_nat_is_kept:
            return self.epsilon if distance <= radius else None
        if self.distance == "hamming":
            # The scale allows for as many replaced states as fit into the radius.
            smallest = Fraction(closest[2])
            allowed = max(radius // smallest, 1)
            return self.epsilon * (distance // smallest) / allowed
        return self.epsilon * distance / radius

    # To files and other processes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the mechanism as a file that `read` and `veilwalk --mechanism FILE` take: its choices, its
        promise, and the scales it has, which whoever reads it computes again and compares."""
        _native.save_mechanism(self._native, path_text("path", path))

    @classmethod
    def read(cls, path: str | os.PathLike[str], chain: Chain) -> Mechanism:
        """The mechanism that `save` or `veilwalk tune -o` wrote, on its chain. A file that was changed is
        refused.

        >>> import pathlib, tempfile
        >>> import veilwalk as vw
        >>> m = vw.Mechanism("cell", vw.Chain.credit(), epsilon=1, radius=3.5)
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name) / "mechanism.json"
        >>> m.save(path)
        >>> vw.Mechanism.read(path, vw.Chain.credit()).fingerprint == m.fingerprint
        True
        >>> folder.cleanup()
        """
        return cls._of(chain, _native.read_mechanism(path_text("path", path), chain._native))

    def compile(self, path: str | os.PathLike[str]) -> None:
        """Writes the chain with its distances and, if the mechanism goes by cells, those and their
        calibrated scales, as a model. A mechanism of the same choices and promise on
        `Chain.read(path)` is made at once. Like a program, a model is trusted."""
        _native.compile_mechanism(self._native, path_text("path", path))

    def write_manifest(
        self,
        release: str | os.PathLike[str],
        *,
        randomness: Literal["system", "key", "seed"],
        release_id: str | None = None,
        start: State | Literal["private", "initial", "first"] = "private",
        keep: Iterable[str] = (),
        unknown_state: State | Literal["error", "skip"] = "error",
        block: Block | None = None,
        longest_walk: int | None = None,
        walks_per_person: int | Literal["withheld"] | None = None,
    ) -> dict[str, Any]:
        """Writes the manifest of a release that was written to a file (CSV, NDJSON, Parquet or Arrow, with
        the columns `trajectory` and `state`), beside it, and gives it: what was promised and how, as
        `veilwalk privatize -o` writes it, for `verify`.

        How the release was made is for you to say: where its randomness came from, with a key or a seed
        under which `release_id`, how walks start, which columns were kept, what became of unknown states,
        and whether it was in blocks. Where persons have several walks, `walks_per_person="withheld"` lets
        the manifest say that their losses add up, and a number says too how many walks one person has at
        most: a number that may depend on who is who, which is not protected. The file is gone through, and
        refused if it has a state or a move that the chain has not.

        >>> import pathlib, tempfile
        >>> import polars as pl
        >>> import veilwalk as vw
        >>> m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=1, radius=3.5)
        >>> walks = pl.DataFrame({"trajectory": ["a", "a"], "state": ["B", "Caa"]})
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name) / "released.csv"
        >>> m.privatize(walks).write_csv(path)
        >>> m.write_manifest(path, randomness="system")["promise"]["epsilon"]
        '1'
        >>> vw.verify(path, m.chain)["counts"]["steps"]
        2
        >>> folder.cleanup()
        """
        written = _native.write_manifest(
            self._native,
            path_text("release", release),
            randomness,
            release_id,
            str(start),
            several("keep", keep),
            block_text(block),
            longest_walk,
            unknown_state,
            _most_walks(walks_per_person),
        )
        manifest: dict[str, Any] = json.loads(written)
        return manifest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        made = (self.chain, self._native.arguments, self.fingerprint, _native.__version__)
        return (remade, made if self._visit is None else (*made, self._visit))


def _most_walks(walks_per_person: object) -> tuple[int | None] | None:
    """What a manifest says of persons, in brackets; nothing if it says nothing."""
    if walks_per_person is None:
        return None
    if walks_per_person == "withheld":
        return (None,)
    return (whole_number("walks_per_person", walks_per_person, 1),)


def _stay(visit: object, every: object) -> tuple[str, str] | None:
    """A stay and the clock that it is counted on."""
    if visit is None and every is None:
        return None
    if visit is None or every is None:
        raise ParameterError(
            'visit: a stay is counted on a clock; give both visit= (such as "2h") and every= (how long it is '
            'from one state of a walk to the next, such as "5m")'
        )
    for name, span in (("visit", visit), ("every", every)):
        if not isinstance(span, str):
            raise ParameterError(f'{name}: {span!r} is not a string; give a span of time such as "2h"')
    return str(visit), str(every)


def remade(
    chain: Chain,
    arguments: tuple[Any, ...],
    fingerprint: str,
    version: str,
    visit: tuple[str, str] | None = None,
) -> Mechanism:
    """A mechanism of another process, made anew from its chain and its choices, and compared."""
    if version != _native.__version__:
        raise VeilwalkError(
            f"the mechanism comes from veilwalk {version}, and this is {_native.__version__}; install the "
            "same version everywhere, so that all release alike"
        )
    mechanism = Mechanism._of(chain, _native.Mechanism(chain._native, *arguments))
    if mechanism.fingerprint != fingerprint:
        raise VeilwalkError(
            "the mechanism is not the one that its choices give here; its chain or its model is another, or "
            "the machines compute differently"
        )
    mechanism._visit = visit
    return mechanism


def mechanism_of(winner: Mapping[str, Any], chain: Chain, promise: Mapping[str, Any]) -> Mechanism:
    """A member of a ranking, made."""
    if winner["candidates"] != "moves":
        name = "tight" if winner["candidates"] == "states" else winner["candidates"]
        return Mechanism(name, chain, **promise, believed_from=winner["believed_from"], track=winner["track"])
    return Mechanism(
        winner["mechanism"] or "cell",
        chain,
        **promise,
        distance=None if winner["mechanism"] else winner["distance"],
        rule=None if winner["mechanism"] else winner["rule"],
        chain_weight=None if winner["mechanism"] else winner["chain_weight"],
    )
