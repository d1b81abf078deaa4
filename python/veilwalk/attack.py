"""What somebody who knows the chain can guess from a release."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from veilwalk import _native, html
from veilwalk._native import ParameterError
from veilwalk.analysis import (
    Figures,
    _checked_steps,
    _counted,
    _in_columns,
    _start_word,
    _walks_in_words,
)
from veilwalk.exact import whole_number
from veilwalk.walks import collect
from veilwalk.warning import warn

if TYPE_CHECKING:
    from veilwalk.chain import Chain
    from veilwalk.labels import State
    from veilwalk.mechanism import Mechanism

_GUESSES = {
    "state": "a state",
    "first": "the first state",
    "last": "the last state",
    "most_visited": "the state visited most",
    "whole_walk": "the whole walk",
}


class Attack(Figures):
    """How often somebody who knows the chain, the mechanism and the release guesses right.

    Beside it stands how often that would be without the release, and how often the release itself is right.
    `to_dict()` has all figures, as `veilwalk attack --format json` prints them.
    """

    __slots__ = ()

    @property
    def state(self) -> float:
        """The share of states that are guessed right."""
        return float(self._figures["state"]["attacker"])

    @property
    def state_without_release(self) -> float:
        """The share of states that are guessed right from the chain alone."""
        return float(self._figures["state"]["chain_alone"])

    @property
    def whole_walk(self) -> float:
        """The share of walks that are guessed right as a whole."""
        return float(self._figures["whole_walk"]["attacker"])

    @property
    def odds(self) -> dict[str, float]:
        """By which factor the odds of the true state moved: `median`, `p90` (nine in ten) and `max`."""
        return dict(self._figures["odds"])

    @property
    def efficiency(self) -> float:
        """Right released states for each right guess: how much of what leaks is of use."""
        return float(self._figures["efficiency"])

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        def share(value: float) -> str:
            return f"{100 * value:.1f} %"

        header = ["right guesses of", "attacker", "±", "chain alone", "release"]
        rows = []
        for key, words in _GUESSES.items():
            guess = self._figures[key]
            error = f"{100 * guess['standard_error']:.1f}"
            others = [share(guess[who]) for who in ("chain_alone", "release")]
            rows.append([words, share(guess["attacker"]), error, *others])
        return header, rows

    def _sentence(self) -> str:
        odds = self._figures["odds"]
        return (
            f"The odds of the true state moved by a factor of {odds['median']:.2f} in half of all "
            f"{_counted(self._figures['states'], 'state')}, and of up to {odds['p90']:.2f} in nine of ten."
        )

    def _title(self) -> str:
        return f"{self._figures['mechanism']}, {self._figures['promise']}"

    def __repr__(self) -> str:
        return (
            f"Attack({self._figures['mechanism']}, {100 * self.state:.1f} % of states guessed right, "
            f"{100 * self.state_without_release:.1f} % without the release)"
        )

    def __str__(self) -> str:
        attacked = f"Real walks: {self._figures['attacked']}"
        return "\n".join([self._title(), attacked, "", _in_columns(*self._rows()), "", self._sentence()])

    def _repr_html_(self) -> str:
        return html.page(
            html.title(self._title()),
            html.paragraph(f"Real walks: {self._figures['attacked']}", "faint"),
            html.table(*self._rows()),
            html.paragraph(self._sentence()),
        )


def attack(
    mechanism: Mechanism,
    *,
    start: State | None,
    steps: int,
    walks: int,
    real: object,
    unknown_state: object,
    released_start: State | None,
    prior: Chain | None,
    seed: int,
) -> Attack:
    """See `Mechanism.attack`."""
    listed = None if real is None else collect(real, "trajectory", "step", "state")
    if listed is not None and start is not None:
        raise ParameterError("start is about the chain's own walks; real walks bring their own")
    found = _native.attack(
        mechanism.chain._native,
        mechanism._native,
        start,
        released_start,
        _checked_steps(steps),
        whole_number("walks", walks, 2),
        listed,
        unknown_state,
        None if prior is None else prior._native,
        seed,
    )
    if listed is not None:
        warn(
            "figures computed from real walks depend on them and are NOT protected; do not publish "
            "them with the release"
        )
    figures: dict[str, Any] = json.loads(found)
    given = f"given ({_counted(len(listed or []), 'walk')})"
    words = _walks_in_words(start, steps) if listed is None else given
    native = mechanism._native
    if native.radius is not None:
        unit = f"radius {html.in_nats(native.radius, native.unit)}"
    else:
        unit = _counted(native.substitutions or 0, "substitution")
    figures.update(
        mechanism=mechanism.name,
        promise=f"epsilon {native.epsilon}, {unit}",
        attacked=words,
        start=_start_word(start, released_start),
        seed=seed,
    )
    return Attack(figures)
