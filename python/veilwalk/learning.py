"""What is known of releases: what they say of the real walks, how good they are, and what can be guessed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from veilwalk import analysis, inference
from veilwalk import attack as attacks
from veilwalk._native import ParameterError
from veilwalk.attack import Attack
from veilwalk.chain import Chain
from veilwalk.labels import State
from veilwalk.session import Block
from veilwalk.warning import warn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veilwalk.mechanism import Mechanism


class Learning:
    """The part of a `Mechanism` that says what releases are good for, and what they give away."""

    __slots__ = ()

    if TYPE_CHECKING:

        def _checked_block(self, block: Block | None) -> str | None: ...

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
            cast("Mechanism", self),
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
            [(cast("Mechanism", self), release, observed)],
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
            cast("Mechanism", self),
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
            cast("Mechanism", self),
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

        return plots.attack(cast("Mechanism", self), **of)

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

        return plots.entropy(cast("Mechanism", self), **of)

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

        return plots.walk(
            cast("Mechanism", self), walk, releases=releases, seed=seed, steps=steps, start=start
        )
