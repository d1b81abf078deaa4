"""What a promise means on a chain."""

from __future__ import annotations

import json
import textwrap
from itertools import takewhile
from typing import Any

from veilwalk import html
from veilwalk.figures import read

_ATTACKER = "What somebody who knows the chain can guess"


class Guarantee:
    """The guarantee of a mechanism on its chain, exact and from public things only.

    `print` says it in words; `to_dict()` has every figure, as `veilwalk guarantee --format json`
    prints them, with `--block` if it is one of blocks.

    >>> import veilwalk as vw
    >>> g = vw.Mechanism("paper", vw.Chain.credit(), epsilon=1, radius=1).guarantee()
    >>> g.vacuous, g.smallest_radius
    (True, 2.733...)
    """

    __slots__ = ("_figures", "_words")

    def __init__(self, figures: str, words: str) -> None:
        self._figures: dict[str, Any] = read(figures)
        self._words = words.strip()
        if "attacker" in self._figures:
            said = textwrap.fill(
                self._figures["attacker"]["in_words"], 96, initial_indent="  ", subsequent_indent="  "
            )
            self._words += f"\n\n{_ATTACKER}\n{said}"

    def to_dict(self) -> dict[str, Any]:
        """All figures."""
        return json.loads(json.dumps(self._figures))  # type: ignore[no-any-return]

    @property
    def mechanism(self) -> str:
        """The mechanism's name."""
        return str(self._figures["mechanism"])

    @property
    def epsilon(self) -> float:
        """The largest log-ratio between two protected walks."""
        return float(self._figures["epsilon"])

    def _unit(self) -> str:
        """What distances are counted in."""
        if dict.__contains__(self._figures, "smallest_radius_nats"):
            return "nats"
        return "m" if dict.__contains__(self._figures, "smallest_radius_metres") else "units"

    @property
    def radius(self) -> float | None:
        """In nats, metres or the units of a table, if that is the unit."""
        radius = self._figures["radius_nats"]
        return None if radius is None else float(radius)

    @property
    def substitutions(self) -> int | None:
        """How many states, if that is the unit."""
        count = self._figures["substitutions"]
        return None if count is None else int(count)

    @property
    def vacuous(self) -> bool:
        """Whether nothing is protected."""
        return bool(self._figures["vacuous"])

    @property
    def smallest_radius(self) -> float | None:
        """The smallest radius that protects anything; none on a chain of one state."""
        smallest = self._figures["smallest_radius_nats"]
        return None if smallest is None else float(smallest)

    @property
    def covered_states(self) -> float:
        """The share of states that are hard to tell from at least one other."""
        return float(self._figures["covered_states"])

    @property
    def in_blocks(self) -> bool:
        """Whether several steps are released together."""
        return "rounding_cost" in self._figures

    @property
    def block(self) -> int | None:
        """How many steps are released together; none for whole walks. One step at a time it is 1."""
        block = self._figures.get("block", 1)
        return None if block is None else int(block)

    @property
    def rounding_cost(self) -> float:
        """What was taken off epsilon for rounding in blocks before the scale was computed."""
        return float(self._figures.get("rounding_cost", 0))

    @property
    def attacker(self) -> dict[str, Any] | None:
        """How often somebody who knows the chain guesses right, as `Mechanism.attack` has it, with a sentence
        `in_words`; none where that was not simulated."""
        attacker = self.to_dict().get("attacker")
        return None if attacker is None else dict(attacker)

    @property
    def substitution_loss(self) -> float:
        """The exact loss of replacing one state by the worst other, rounded up; infinite where nothing is
        known, as in blocks that are too many to go through."""
        if self.in_blocks:
            loss = (self._figures["replacement_loss"] or {}).get("max")
        else:
            loss = self._figures["substitution_loss"]["max"]
        return float("inf") if loss is None else float(loss)

    def __str__(self) -> str:
        return self._words

    def __repr__(self) -> str:
        unit = f"radius={self.radius:g}" if self.radius is not None else f"substitutions={self.substitutions}"
        empty = ", EMPTY" if self.vacuous else ""
        covered = f"covers {100 * self.covered_states:.0f} % of states"
        blocks = ""
        if self.in_blocks:
            blocks = ", whole walks" if self.block is None else f", blocks of {self.block} steps"
        return f"Guarantee({self.mechanism}, epsilon={self.epsilon:g}, {unit}{blocks}, {covered}{empty})"

    def _repr_html_(self) -> str:
        paragraphs = [" ".join(part.split()) for part in self._words.split("\n\n")]
        prose = list(takewhile(lambda text: not text.startswith("Who is covered"), paragraphs))
        promise, meaning, limits = prose[0], prose[1], prose[2:]
        figures = self._figures
        smallest = self.smallest_radius

        return html.page(
            html.title(promise),
            html.paragraph(meaning, "alarm" if self.vacuous else ""),
            *(html.paragraph(text) for text in limits),
            html.facts(
                [
                    (
                        "states with an alternative",
                        f"{round(self.covered_states * figures['states'])} of {figures['states']}",
                    ),
                    ("pairs of states covered", f"{figures['covered_pairs']:,}"),
                    (
                        "smallest radius that protects anything",
                        "none" if smallest is None else f"{html.rounded_up(smallest)} {self._unit()}",
                    ),
                ]
            ),
            self._loss_table(),
            *([html.paragraph(self._figures["attacker"]["in_words"])] if "attacker" in self._figures else []),
            html.paragraph(
                "Losses are rounded up. Each further release, and each further walk of the same person, adds "
                "epsilon again.",
                "faint",
            ),
        )

    def _loss_table(self) -> str:
        figures = self._figures
        if self.in_blocks:
            return self._block_loss_table()
        losses = [
            ("by a neighbour", "neighbour_loss"),
            ("by one that keeps the walk possible", "feasible_loss"),
            ("by any other", "substitution_loss"),
        ]

        def shown(name: str, figure: str) -> str:
            loss = figures[name]
            if loss[figure] is None:
                return "not covered" if loss["figures"] == "exact" else "not computed"
            return ("" if loss["figures"] == "exact" else "≤ ") + html.rounded_up(loss[figure])

        return html.table(
            ["Loss of replacing one state", "worst", "mean"],
            [[name, shown(key, "max"), shown(key, "mean")] for name, key in losses],
        )

    def _block_loss_table(self) -> str:
        losses = [
            ("by one within the radius", self._figures["covered_replacement_loss"]),
            ("by any other", self._figures["replacement_loss"]),
        ]
        return html.table(
            ["Loss of replacing one state", "worst", "per nat", "in blocks of"],
            [
                [name, html.rounded_up(loss["max"]), html.rounded_up(loss["per_nat"]), str(loss["steps"])]
                for name, loss in losses
                if loss is not None
            ],
        )
