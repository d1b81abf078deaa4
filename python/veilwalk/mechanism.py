"""Mechanisms: what releases walks, and what it promises."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from veilwalk import _native, analysis, inference, persons, walks
from veilwalk import attack as attacks
from veilwalk._native import ParameterError, VeilwalkError
from veilwalk.attack import Attack
from veilwalk.chain import Chain, State
from veilwalk.exact import (
    Exact,
    exact_fraction,
    exact_text,
    fraction,
    path_text,
    several,
    whole_number,
)
from veilwalk.files import Audit, Ledger
from veilwalk.guarantee import Guarantee
from veilwalk.how import How, block_text, name_text
from veilwalk.session import Block, Session
from veilwalk.source import check_guarantee, source, warn_of_first, warn_of_skipped
from veilwalk.warning import warn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Walks = TypeVar("Walks")

MOST_THREADS = 1024
"""Beyond what machines have cores for, threads only take memory and time."""


class Mechanism:
    """A member of the family on a chain, with its promise.

    `name` is `auto`, `tight`, `believed`, `cell`, `sharp`, `paper`, `exponential`, `chen` or
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

    `tight` and `believed` draw *observations*. Every real state is answered by a state that need not be a
    move from the last one. The released walk is made of the observations: it takes only moves that the
    chain allows, and stays near what they say of the real walk. Both are released.

    >>> m = vw.Mechanism("tight", vw.Chain.credit(), epsilon=1, radius=3.5)
    >>> m.candidates, m.weights_found, m.lag
    ('states', 'solved', 0)
    >>> released, observed = m.privatize([["Caa", "Ca/C"]], observed=True)

    `candidates` says which states can be drawn: `"moves"` (of the last released state), `"states"` (all of
    them, with public `weights`: `"tight"` or `"even"`) or `"believed"` (those that are at least
    `believed_from` times as likely as the likeliest, by what was observed before). `track` says what the
    walk made of observations is to be good at: little `"distance"` to the real states, or few wrong
    `"states"`. `typicality` is how much a move's own unlikeliness counts against it there. With a `lag` a
    step is answered when this many more steps were observed: a delay that buys accuracy at the same
    guarantee.
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
        substitutions: int | None = None,
        visit: str | None = None,
        every: str | None = None,
        distance: str | None = None,
        rule: str | None = None,
        chain_weight: Exact | None = None,
        calibrate: Literal["theorem", "exact"] | None = None,
        candidates: Literal["moves", "states", "believed"] | None = None,
        weights: Literal["tight", "even"] | None = None,
        believed_from: Exact | None = None,
        track: Literal["distance", "states"] | None = None,
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
        self.chain = chain
        self._native = _native.Mechanism(
            chain._native,
            exact_text("epsilon", epsilon),
            None if radius is None else exact_text("the radius", radius),
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
        """In nats, exact; none if substitutions are counted."""
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
        """How much a move's own unlikeliness counts against it."""
        return fraction(self._native.chain_weight)

    @property
    def candidates(self) -> str:
        """Which states can be drawn: `moves`, `states` or `believed`."""
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
        """How much a move's own unlikeliness counts against it in a walk made of observations."""
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
    ) -> Guarantee:
        """What the promise means on this chain, exactly. On large chains only the transitions are
        compared, and what follows is marked as bounds, unless `all_pairs` is given; in blocks, that spends
        minutes on exact losses. With `walks_per_person` it says too what it comes to for somebody who has so
        many walks, and under a promise for a `visit` what that is in states.

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
            all_pairs, block_text(block), longest_walk, self._visit, walks_per_person
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
        states, if the real one before was `previous` for sure.

        >>> import veilwalk as vw
        >>> m = vw.Mechanism("paper", vw.Chain.credit(), epsilon=1, radius=1)
        >>> {state: round(p, 6) for state, p in m.kernel(previous="Caa", real="Ca/C").items()}
        {'Baa': 0.002687, 'Ba': 0.008462, 'B': 0.032784, 'Caa': 0.090305, 'Ca/C': 0.861216, 'Def': 0.004546}
        """
        return dict(self._native.kernel(previous, real))

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

    # Releasing

    @overload
    def privatize(
        self,
        walks_: Walks,
        /,
        *,
        trajectory: str = "trajectory",
        step: str | None = "step",
        state: str = "state",
        keep: Iterable[str] = (),
        observed: Literal[False] = False,
        names: Sequence[object] | None = None,
        key: bytes | None = None,
        seed: int | None = None,
        release_id: str | None = None,
        start: State | Literal["private", "initial", "first"] = "private",
        states: Literal["labels", "numbers"] = "labels",
        unknown_state: State | Literal["error", "skip"] = "error",
        threads: int | None = None,
        block: Block | None = None,
        longest_walk: int | None = None,
        ledger: str | os.PathLike[str] | None = None,
        budget: Exact | None = None,
        window: str | None = None,
        person: object = None,
        allow_vacuous: bool = False,
    ) -> Walks: ...

    @overload
    def privatize(
        self,
        walks_: Walks,
        /,
        *,
        trajectory: str = "trajectory",
        step: str | None = "step",
        state: str = "state",
        keep: Iterable[str] = (),
        observed: Literal[True],
        names: Sequence[object] | None = None,
        key: bytes | None = None,
        seed: int | None = None,
        release_id: str | None = None,
        start: State | Literal["private", "initial", "first"] = "private",
        states: Literal["labels", "numbers"] = "labels",
        unknown_state: State | Literal["error", "skip"] = "error",
        threads: int | None = None,
        block: Block | None = None,
        longest_walk: int | None = None,
        ledger: str | os.PathLike[str] | None = None,
        budget: Exact | None = None,
        window: str | None = None,
        person: object = None,
        allow_vacuous: bool = False,
    ) -> tuple[Walks, Walks]: ...

    def privatize(
        self,
        walks_: Walks,
        /,
        *,
        trajectory: str = "trajectory",
        step: str | None = "step",
        state: str = "state",
        keep: Iterable[str] = (),
        observed: bool = False,
        names: Sequence[object] | None = None,
        key: bytes | None = None,
        seed: int | None = None,
        release_id: str | None = None,
        start: State | Literal["private", "initial", "first"] = "private",
        states: Literal["labels", "numbers"] = "labels",
        unknown_state: State | Literal["error", "skip"] = "error",
        threads: int | None = None,
        block: Block | None = None,
        longest_walk: int | None = None,
        ledger: str | os.PathLike[str] | None = None,
        budget: Exact | None = None,
        window: str | None = None,
        person: object = None,
        allow_vacuous: bool = False,
    ) -> Walks | tuple[Walks, Walks]:
        """Releases walks, and gives them back in the kind they came in.

        Takes one walk (a list of states, a column), several (a list of lists, a dict of them by name, a
        2-D array, a column of lists), or a table of pandas, Polars or pyarrow: long, with the columns
        `trajectory` and `state` and one state a row, or with one walk a row in a column of lists. Rows of
        different walks may alternate. If there is a column `step` they are taken in its order, and no
        trajectory may have a step twice; if there is none, or with `step=None`, in the order they stand.

        Of a table only the trajectory, the step and the released state come back. Columns named in `keep`
        are copied as they are, unprotected.

        A mechanism that draws observations releases these too: of a table in a column `observed` after the
        state, of the same type. Walks that are no table come back with what was observed for them if
        `observed=True`: a pair, both in the kind the walks came in. What was observed is as private as the
        walk made of it, and says more about the real one: it is what inference needs.

        Integers are labels (the label "7" for 7), or with `states="numbers"` places in `chain.states`.
        Randomness comes from the operating system; from a secret `key` and the id of the run, so that the run
        can be repeated; or from a `seed`, which is NOT private. Every run with a key draws a new
        `release_id`, unless one is given: draw it yourself (`new_release_id()`) and keep it if you may have
        to repeat the run. Give an id again for the same walks only: two releases of different walks under one
        id would show where the walks differ.

        A released walk starts near the real one: its first state is as private as every other. With
        `start="initial"` it comes from the chain's initial distribution, and with a state it is that state;
        then the real first state is not looked at. With `start="first"` the real first state is released as
        it is.

        A state that the chain does not have ends the release with an error. With a state as `unknown_state`
        that state is taken instead, and the release does not show where. With `unknown_state="skip"` such
        states are left out: then the lengths of walks depend on them, which is not protected, so nothing can
        be kept and the column `step` does not come back. (`"state:skip"` is a state that is called `skip`.)

        With `block` a number of steps is released together, or with `"all"` the whole walk: more accurate
        at the same guarantee. The first state belongs to the first block if the start is private. Blocks
        are drawn by the exponential rule at the scale of the theorem; `auto` and `sharp` then are `sharp`
        with that rule, the most accurate choice as a rule, and `paper` is refused. Rounding is paid for in
        advance, so `"all"` has a limit on the steps of a walk, `longest_walk` (1,048,576 if not given).

        With a `ledger` every walk is charged epsilon there before anything is released (see `Ledger`), and
        nothing is if a person would spend more than the `budget` in all, or in a `window` such as "30d".
        `person` says whose walk each is: a column of a table, a dict by the names of walks, or a list with
        one entry for each walk. Without it every walk is its own person. The promise is for one walk, and
        the losses of a person's walks add up: where somebody has several, a warning says what that comes to.

        >>> import veilwalk as vw
        >>> m = vw.Mechanism("auto", vw.Chain.credit(), epsilon=1, radius=3.5)
        >>> [len(walk) for walk in m.privatize([["Baa", "A", "A"], ["B", "Caa"]], block="all")]
        [3, 2]
        """
        check_guarantee(self._native, allow_vacuous)
        if threads is not None:
            threads = whole_number("threads", threads, 1)
            if threads > MOST_THREADS:
                raise ParameterError(f"threads: {threads}; give at most {MOST_THREADS}")
        named = None if names is None else [name_text(name) for name in several("names", names)]
        owners = None if person is None else persons.persons_by_walk(walks_, person, named, trajectory)
        manner = _native.Manner(
            self._native,
            source(key, seed, release_id),
            start,
            self._checked_block(block),
            longest_walk,
            None if ledger is None else path_text("ledger", ledger),
            None if budget is None else exact_text("budget", budget),
            window,
            owners,
            unknown_state,
        )
        how = How(
            manner=manner,
            labels=self._native.labels,
            states=states,
            threads=threads,
            names=named,
            trajectory=trajectory,
            step=step,
            state=state,
            keep=tuple(several("keep", keep)),
            observed=observed,
        )
        warn_of_first(start)
        warn_of_skipped(manner)
        if owners is not None:
            persons.tell(owners.values(), self.epsilon)
        answer = walks.privatize(walks_, how)
        return cast("tuple[Walks, Walks]", answer) if observed else cast("Walks", answer[0])

    def _checked_block(self, block: Block | None) -> str | None:
        """The length of blocks; says where another choice is likely to be more accurate."""
        length = block_text(block)
        if length is not None and self._native.blocks_have_cells():
            warnings.warn(
                "block: cells have the scale of the theorem here, about half of what they are calibrated to "
                'for one state at a time; "auto" is often more accurate, and analyze(block=...) says what '
                "each gives",
                UserWarning,
                stacklevel=3,
            )
        return length

    def session(
        self,
        *,
        name: str = "",
        key: bytes | None = None,
        seed: int | None = None,
        release_id: str | None = None,
        start: State | Literal["private", "initial", "first"] = "private",
        states: Literal["labels", "numbers"] = "labels",
        unknown_state: State | Literal["error"] = "error",
        block: Block | None = None,
        longest_walk: int | None = None,
        ledger: str | os.PathLike[str] | None = None,
        budget: Exact | None = None,
        window: str | None = None,
        person: object = None,
        allow_vacuous: bool = False,
    ) -> Session:
        """A session for one walk, released while it happens; with `block`, this many steps at a time. With a
        key, every walk needs a name of its own, and the session draws a `release_id` unless one is given (its
        attribute `release_id` tells). With a `ledger` the walk is charged epsilon here, and there is no
        session if its `person` (the walk itself, if not given) would spend more than the `budget`. A
        state as `unknown_state` is taken instead of those that the chain does not have."""
        if ledger is not None and not name_text(name):
            raise ParameterError("name: with a ledger every walk needs a name of its own, to be charged")
        if budget is not None and ledger is None:
            raise ParameterError("budget: it is kept in a ledger; give ledger= too")
        self._checked_block(block)
        made = Session(
            self,
            block=block,
            longest_walk=longest_walk,
            name=name,
            key=key,
            seed=seed,
            release_id=release_id,
            start=start,
            states=states,
            unknown_state=unknown_state,
            allow_vacuous=allow_vacuous,
        )
        if ledger is not None:
            # Nothing is released before the first call of the session.
            Ledger(ledger)._charge(
                self,
                [name],
                None if person is None else {name: person},
                budget,
                window,
                release_id=made.release_id,
                start=start,
                block=self._checked_block(block),
                longest_walk=longest_walk,
            )
        return made

    # What a release says about the real walks

    def refine(
        self,
        release: Any,
        /,
        *,
        observed: Any = None,
        aim: Literal["distance", "states"] = "distance",
        lag: int | None = None,
        prior: Chain | None = None,
        posterior: bool = False,
        above: float = 0.001,
        start: State | Literal["private", "initial", "first"] = "private",
        trajectory: str = "trajectory",
        step: str | None = "step",
        state: str = "state",
        threads: int | None = None,
    ) -> Any:
        """The feasible walks that are expected to be nearest to the real ones, given everything that this
        mechanism released. It looks at the release alone, and so costs nothing; it is never expected to
        be worse.

        Takes a release as `privatize` gives it, with the same `start`: a table (with the column `observed`
        if the mechanism draws observations), or walks that are no table, and then `observed=` has the other
        half of what `privatize(..., observed=True)` gave. Gives a table of the same library, walk by walk,
        with the columns `trajectory`, `step`, `state`, `released` and `confidence`, the probability that
        the state is the real one; of walks that are no table a list of such rows.

        The walks are to have little `"distance"` to the real states, or many right `"states"` (`aim`). With
        a `lag` each state is chosen when so many more steps are known. Real walks are taken to be walks of
        the chain, or of the chain `prior`. With `posterior=True` a pair comes back: the second table has
        the columns `trajectory`, `step`, `state` and `probability`, given the whole release, for states
        that are more probable than `above`.

        >>> import veilwalk as vw
        >>> m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=4, radius=3.5)
        >>> m.refine([["B", "Caa", "Caa"]])[0]
        {'trajectory': 0, 'step': 0, 'state': 'B', 'released': 'B', 'confidence': 0.72...}
        """
        return inference.refine(
            self,
            release,
            observed=observed,
            aim=aim,
            lag=lag,
            prior=prior,
            posterior=posterior,
            above=above,
            start=start,
            trajectory=trajectory,
            step=step,
            state=state,
            threads=threads,
        )

    def estimate(
        self,
        release: Any,
        /,
        *,
        what: Literal["visits", "moves", "od", "chain"] = "visits",
        observed: Any = None,
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
        """What the crowd did, learned from everything that this mechanism released for it: the shares of
        `"visits"`, of `"moves"`, of first and last states together (`"od"`), or the `"chain"` that real
        walks seem to follow, with where they start. It costs nothing.

        Takes a release as `refine` does. Gives a table of the same library with the columns `state` (or
        `from` and `to`, or `origin` and `destination`), `share`, and with intervals `low` and `high`; of
        walks that are no table a list of rows. Intervals cover what they are about with the probability
        `interval`; they are found from `replicates` estimates of walks drawn with replacement, by the
        `seed`. `"auto"` is 0.95 on chains of up to 512 states, where they do not take long, and none
        beyond.

        Every state counts as if it had made `strength` moves by the chain, so that little data says little.

        >>> import veilwalk as vw
        >>> m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=4, radius=3.5)
        >>> rows = m.estimate(m.privatize(m.chain.sample(50, 10, seed=1), seed=1))  # doctest: +SKIP
        >>> max(rows, key=lambda row: row["share"])  # doctest: +SKIP
        {'state': 'Def', 'share': 0.55, 'low': 0.47, 'high': 0.63}
        """
        return inference.estimate(
            self,
            release,
            observed=observed,
            what=what,
            interval=interval,
            replicates=replicates,
            strength=strength,
            seed=seed,
            start=start,
            trajectory=trajectory,
            step=step,
            state=state,
            threads=threads,
        )

    # How good releases are

    def analyze(
        self,
        *,
        start: State | None = None,
        steps: int = 100,
        real: object = None,
        unknown_state: State | Literal["error", "skip"] = "error",
        released_start: State | Literal["private", "initial", "first"] | None = None,
        levels: Iterable[float] | None = None,
        eta: Iterable[float] = (0.1, 0.5),
        simulate: int | None = None,
        seed: int = 1,
        thorough: bool = False,
        block: Block | None = None,
        longest_walk: int | None = None,
    ) -> analysis.Analysis:
        """How good releases are: closeness, entropy, drift, bounds, exact where nothing else is said.

        Figures are averages over the chain's own walks of this many steps, which tells nothing about real
        ones: from `start`, with releases that start there too, or else from the initial distribution. With
        `real`, walks as `privatize` takes them, they are about those, and NOT protected; `unknown_state` is
        that of `privatize`, for them. With `block` they are about releases in blocks: exact for `real` walks,
        simulated for the chain's own.

        Without `levels` the distances whose exceedance is computed are a tenth, two, four and six tenths of
        the chain's diameter in round numbers: 2, 5, 10 and 15 nats on the credit chain.

        >>> import veilwalk as vw
        >>> m = vw.Mechanism("paper", vw.Chain.credit(), epsilon=1, radius=1)
        >>> a = m.analyze(start="Caa", steps=100)
        >>> round(a.exceedance[2], 6)
        0.079301
        """
        return analysis.analyze(
            self,
            start=start,
            steps=steps,
            real=real,
            unknown_state=unknown_state,
            released_start=released_start,
            levels=levels,
            eta=eta,
            simulate=simulate,
            seed=seed,
            thorough=thorough,
            block=self._checked_block(block),
            longest_walk=longest_walk,
        )

    def attack(
        self,
        *,
        start: State | None = None,
        steps: int = 100,
        walks: int = 1000,
        real: object = None,
        unknown_state: State | Literal["error", "skip"] = "error",
        released_start: State | Literal["private", "initial", "first"] | None = None,
        prior: Chain | None = None,
        seed: int = 1,
    ) -> Attack:
        """How often somebody who knows the chain guesses right from a release: a state, the first, the last,
        the one visited most, the whole walk; beside the same without the release.

        The chain's own walks are released and guessed, or `real` ones, whose figures are NOT protected. The
        attacker takes real walks for walks of the chain, or of another one with the same states (`prior`).
        Releases in blocks are refused: what they say about a state cannot be computed.

        >>> import veilwalk as vw
        >>> m = vw.Mechanism("cell", vw.Chain.credit(), epsilon=3.5, radius=3.5)
        >>> found = m.attack(walks=200, steps=30)
        >>> found.state > 2 * found.state_without_release
        True
        """
        return attacks.attack(
            self,
            start=start,
            steps=steps,
            walks=walks,
            real=real,
            unknown_state=unknown_state,
            released_start=released_start,
            prior=prior,
            seed=seed,
        )

    def plot_attack(self, **of: Any) -> Figure:
        """What is released right over what an attacker guesses right, for this mechanism and the others with
        names, at several epsilons. Takes what `attack` takes."""
        from veilwalk import plots

        return plots.attack(self, **of)

    def plot_estimate(self, release: Any, /, *, shown: int = 20, **of: Any) -> Figure:
        """The largest shares of what a release says of the crowd, with intervals. Takes what `estimate`
        takes."""
        from veilwalk import plots

        found = self.estimate(release, **of)
        if isinstance(found, Chain):
            raise ParameterError("what: a chain has no shares to plot; visits, moves and od have")
        for listed in ("to_pylist", "to_dicts"):
            if hasattr(found, listed):
                return plots.estimate(getattr(found, listed)(), shown)
        rows = found.to_dict("records") if hasattr(found, "to_dict") else found
        return plots.estimate(rows, shown)

    def plot_errors(self, **of: Any) -> Figure:
        """How far releases are from the real walk, step by step. Takes what `analyze` takes."""
        from veilwalk import plots

        return plots.errors(self.analyze(**of))

    def plot_entropy(self, **of: Any) -> Figure:
        """How likely a release is as a walk of the chain, beside the real walks and the other
        mechanisms with names at the same promise."""
        from veilwalk import plots

        return plots.entropy(self, **of)

    def plot_walk(
        self,
        walk: Sequence[State] | None = None,
        *,
        releases: int = 20,
        seed: int = 1,
        steps: int = 40,
        start: State | None = None,
    ) -> Figure:
        """A walk with releases of it around it, which start where it does; one of the chain's own walks if
        none is given. Made with a seed: a picture of real walks made so is NOT private."""
        from veilwalk import plots

        if walk is not None:
            warn("a picture of a real walk shows it as it is, and is NOT private")

        return plots.walk(self, walk, releases=releases, seed=seed, steps=steps, start=start)

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
        name = "believed" if winner["candidates"] == "believed" else "tight"
        return Mechanism(name, chain, **promise, believed_from=winner["believed_from"], track=winner["track"])
    return Mechanism(
        winner["mechanism"] or "cell",
        chain,
        **promise,
        distance=None if winner["mechanism"] else winner["distance"],
        rule=None if winner["mechanism"] else winner["rule"],
        chain_weight=None if winner["mechanism"] else winner["chain_weight"],
    )
