"""How good releases are: one mechanism, several side by side, the best of the family."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from veilwalk import _native, html
from veilwalk._native import ParameterError
from veilwalk.chain import Chain
from veilwalk.exact import Exact, exact_text, several, whole_number
from veilwalk.figures import read
from veilwalk.labels import State
from veilwalk.walks import collect
from veilwalk.warning import warn

if TYPE_CHECKING:
    from veilwalk.mechanism import Mechanism


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _checked_steps(steps: int) -> int:
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= 10_000_000:
        raise ParameterError(f"steps: {steps!r}; give a whole number from 1 to ten million")
    return steps


def _checked_chain(chain: Chain) -> Chain:
    if not isinstance(chain, Chain):
        raise ParameterError(f"chain: a value of type {type(chain).__name__}; give a veilwalk.Chain")
    return chain


def _unit_of(figures: dict[str, Any]) -> str:
    """What distances are counted in."""
    for key in figures:
        if key.endswith("_metres"):
            return "m"
        if key.endswith("_units"):
            return "units"
    return "nats"


def _nats(name: str, values: Iterable[float]) -> list[float]:
    numbers = [float(value) for value in values]
    if not all(0 <= number < float("inf") for number in numbers):
        raise ParameterError(f"{name}: give numbers of nats from 0 up")
    return numbers


def _mean(figure: Any) -> float:
    """A figure, or the mean of an estimate."""
    return float(figure["mean"] if isinstance(figure, dict) else figure)


def _walks_in_words(start: State | None, steps: int) -> str:
    where = "a state of the initial distribution" if start is None else start
    return f"{_counted(steps, 'step')} from {where}, averaged over the chain's own walks"


def _start_word(start: State | None, released_start: State | None) -> str:
    if released_start is not None:
        return str(released_start)
    return "private" if start is None else "first"


def _in_columns(header: list[str], rows: list[list[str]]) -> str:
    """A table for terminals."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = (
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in [header, *rows]
    )
    return "\n".join(lines)


class Figures:
    """What was found, figure by figure."""

    __slots__ = ("_figures",)

    def __init__(self, figures: dict[str, Any]) -> None:
        self._figures = figures

    def to_dict(self) -> dict[str, Any]:
        """All figures."""
        return json.loads(json.dumps(self._figures))  # type: ignore[no-any-return]

    @property
    def _unit(self) -> str:
        """What distances are counted in."""
        return _unit_of(self._figures)


class Analysis(Figures):
    """How good the releases of a mechanism are.

    The main figures are properties; `to_dict()` has all of them, as `veilwalk analyze --format json
    --by-step` prints them. Where nothing is exact (`exact` is false: releases of the chain's own walks in
    blocks, and walks that are made of observations), the properties are estimates, and
    `to_dict()["simulated"]` has their standard errors.
    """

    __slots__ = ()

    @property
    def exact(self) -> bool:
        """Whether the main figures are exact, not simulated."""
        return "mean_distance_nats" in self._figures

    def _figure(self, name: str) -> Any:
        return self._figures[name] if self.exact else self._figures["simulated"][name]

    @property
    def mean_distance(self) -> float:
        """From the released to the real state, in nats or metres, over all steps."""
        return _mean(self._figure("mean_distance_nats"))

    @property
    def wrong_states(self) -> float:
        """The share of steps at which another state than the real one is released."""
        return _mean(self._figure("wrong_state_share"))

    @property
    def entropy(self) -> dict[str, float | None]:
        """Nats per transition: of the `released` walk, of the `real` one, and the chain's `rate`."""
        entropy = {name: None if e is None else _mean(e) for name, e in self._figure("entropy_nats").items()}
        return {"rate": None} | entropy

    @property
    def exceedance(self) -> dict[float, float]:
        """The share of steps at which the released state is farther than so many nats."""
        return {level["nats"]: _mean(level["per_step"]) for level in self._figure("exceedance")}

    @property
    def distance_by_step(self) -> list[float]:
        """The expected distance at each step, from the start."""
        if not self.exact:
            raise ParameterError("simulated releases have no figures for each step; give real walks")
        return list(self._figures["by_step"]["distance_nats"])

    @property
    def left_out(self) -> list[dict[str, str]]:
        """What was not computed, and why."""
        return list(self._figures["left_out"])

    def __repr__(self) -> str:
        simulated = "" if self.exact else ", simulated"
        return (
            f"Analysis({self._figures['mechanism']}{simulated}, "
            f"{100 * self.wrong_states:.1f} % wrong states, {self.mean_distance:.3f} {self._unit} away "
            "on average)"
        )

    def _facts(self) -> list[tuple[str, str]]:
        def nats(value: float | None) -> str:
            return "not known" if value is None else f"{value:.4f} nats"

        return [
            ("wrong states", f"{100 * self.wrong_states:.2f} % of steps"),
            ("mean distance", nats(self.mean_distance).replace("nats", self._unit)),
            ("entropy of the released walk", f"{nats(self.entropy['released'])} per transition"),
            ("entropy of the real walk", f"{nats(self.entropy['real'])} per transition"),
        ]

    def _exceedance(self) -> tuple[list[str], list[list[str]]]:
        return ["farther than", "share of steps", "ever in a walk"], [
            [
                html.in_nats(level["nats"], self._unit),
                *(f"{_mean(level[k]):.3g}" for k in ("per_step", "ever")),
            ]
            for level in self._figure("exceedance")
        ]

    def _remarks(self) -> list[str]:
        real = f"Real walks: {self._figures['real_walks']}"
        return [real] if self.exact else [real, "Figures are simulated."]

    def __str__(self) -> str:
        title = f"{self._figures['mechanism']}, {self._figures['promise']}"
        facts = [f"{name:<30}{fact}" for name, fact in self._facts()]
        return "\n".join([title, *self._remarks(), "", *facts, "", _in_columns(*self._exceedance())])

    def _repr_html_(self) -> str:
        return html.page(
            html.title(f"{self._figures['mechanism']}, {self._figures['promise']}"),
            *(html.paragraph(remark, "faint") for remark in self._remarks()),
            html.facts(self._facts()),
            html.table(*self._exceedance()),
        )


def analyze(
    mechanism: Mechanism,
    *,
    start: State | None,
    steps: int,
    real: object,
    unknown_state: object,
    released_start: State | None,
    levels: Iterable[float] | None,
    eta: Iterable[float],
    simulate: int | None,
    seed: int,
    thorough: bool,
    block: str | None,
    longest_walk: int | None,
) -> Analysis:
    """See `Mechanism.analyze`."""
    listed = None if real is None else collect(real, "trajectory", "step", "state")
    if listed is not None and start is not None:
        raise ParameterError("start is about the chain's own walks; real walks bring their own")
    if simulate is not None and simulate < 2:
        raise ParameterError("simulate: give two walks or more")
    found, impossible = _native.analyze(
        mechanism.chain._native,
        mechanism._native,
        start,
        released_start,
        _checked_steps(steps),
        listed,
        None if levels is None else _nats("levels", levels),
        _nats("eta", eta),
        simulate,
        seed,
        thorough,
        block,
        longest_walk,
        unknown_state,
    )
    if listed is not None:
        warn(
            "figures computed from real walks depend on them and are NOT protected; do not publish "
            "them with the release"
        )
    figures: dict[str, Any] = read(found)
    if "distance_by_step" in figures:
        figures["by_step"] = {
            "distance_nats": figures.pop("distance_by_step"),
            "wrong_state": figures.pop("wrong_by_step"),
        }
    native = mechanism._native
    if native.radius is not None:
        unit = f"radius {html.in_nats(native.radius, native.unit)}"
    else:
        unit = _counted(native.substitutions or 0, "substitution")
    if listed is None:
        words = _walks_in_words(start, steps)
    else:
        moves = sum(max(len(walk) - 1, 0) for walk in listed)
        words = f"given ({_counted(len(listed), 'walk')}, {_counted(moves, 'step')})"
    figures.update(
        mechanism=mechanism.name if block is None else native.block_name(block, longest_walk),
        block=int(block) if block is not None and block != "all" else block,
        promise=f"epsilon {native.epsilon}, {unit}",
        real_walks=words,
        start=_start_word(start, released_start),
        impossible_moves=impossible,
        states=len(mechanism.chain),
        transitions=mechanism.chain.transitions,
    )
    return Analysis(figures)


class Comparison(Figures):
    """Mechanisms side by side, at equal epsilon and radius and at equal exact loss.

    `to_dict()` has all figures, as `veilwalk compare --format json` prints them.
    """

    __slots__ = ()

    def winner(
        self,
        purpose: Literal["closeness", "wrong_states", "typicality"] = "closeness",
        *,
        basis: Literal["radius", "loss"] | None = None,
    ) -> str:
        """The mechanism that is best for a purpose, on the first basis unless one is named."""
        names = {"radius": "equal_epsilon_and_radius", "loss": "equal_substitution_loss", None: None}
        if basis not in names:
            raise ParameterError(f'basis={basis!r}: give "radius" or "loss"')
        for comparison in self._figures["comparisons"]:
            if basis is None or comparison["basis"] == names[basis]:
                winner = comparison["winners"].get(purpose.replace("-", "_"))
                if winner is None:
                    purposes = ", ".join(comparison["winners"])
                    raise ParameterError(f"{purpose!r} is none of the purposes {purposes}")
                return str(winner["mechanism"])
        raise ParameterError(f"there is no comparison on the basis {basis!r}; give a radius")

    def _tables(self) -> list[tuple[str, list[str], list[list[str]], list[tuple[int, int]]]]:
        tables = []
        for comparison in self._figures["comparisons"]:
            epsilon = f"{comparison['epsilon']:g}"
            if comparison["radius_nats"] is not None:
                radius = html.in_nats(comparison["radius_nats"], _unit_of(comparison))
                title = f"At equal epsilon {epsilon} and radius {radius}"
            else:
                title = f"At equal exact loss {epsilon} for any one replaced state"
            header = ["mechanism", "wrong states", "mean distance", "entropy", "loss"]
            rows: list[list[str]] = []
            places: dict[str, int] = {}
            for row in comparison["rows"]:
                if row["refused"] is not None:
                    continue
                loss, errors = row["substitution_loss"], (row["simulated"] or {}).get("standard_errors")
                wrong, distance = ("", "")
                if errors:
                    wrong = f" ±{100 * errors['wrong_state_share']:.2f}"
                    distance = f" ±{errors['mean_distance_nats']:.4f}"
                sign = "" if loss["figures"] == "exact" else "≤ "
                places[row["mechanism"]] = len(rows)
                rows.append(
                    [
                        row["mechanism"],
                        f"{100 * row['wrong_state_share']:.2f} %{wrong}",
                        f"{row['mean_distance_nats']:.4f}{distance}",
                        f"{row['entropy_nats']['released']:.4f}",
                        sign + html.rounded_up(loss["max"]),
                    ]
                )
                real = row["entropy_nats"]["real"]
                if real is not None:
                    header[3] = f"entropy (real {real:.4f})"
            columns = {"wrong_states": 1, "closeness": 2, "typicality": 3}
            best = [
                (places[winner["mechanism"]], columns[purpose])
                for purpose, winner in comparison["winners"].items()
            ]
            tables.append((title, header, rows, best))
        return tables

    def __str__(self) -> str:
        parts = [f"Real walks: {self._figures['real_walks']}"]
        for title, header, rows, _ in self._tables():
            parts.append(f"{title}\n{_in_columns(header, rows)}")
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        winners = self._figures["comparisons"][0]["winners"]
        best = ", ".join(f"{purpose}: {w['mechanism']}" for purpose, w in winners.items())
        return f"Comparison(best for {best})"

    def _repr_html_(self) -> str:
        parts = [html.paragraph(f"Real walks: {self._figures['real_walks']}", "faint")]
        for title, header, rows, best in self._tables():
            parts += [html.title(title), html.table(header, rows, best)]
        remarks = {
            row["remark"]
            for comparison in self._figures["comparisons"]
            for row in comparison["rows"]
            if row["remark"]
        }
        parts += [html.paragraph(remark, "faint") for remark in sorted(remarks)]
        parts.append(
            html.paragraph(
                "Best in each column in bold. Losses are rounded up. ±: simulated, with the standard error.",
                "faint",
            )
        )
        return html.page(*parts)


def compare(
    chain: Chain,
    *,
    epsilon: Exact | Iterable[Exact],
    radius: Exact | None = None,
    mechanisms: Iterable[str] = ("paper", "exponential", "chen", "sharp", "cell", "tight", "believed"),
    start: State | None = None,
    steps: int = 100,
    released_start: State | Literal["private", "initial", "first"] | None = None,
    level: float | None = None,
    all_pairs: bool = False,
) -> Comparison:
    """Compares mechanisms on a chain: at equal epsilon and radius, if one is given, and at equal exact
    loss. Figures are averages over the chain's own walks: exact ones, or marked ± with their standard error
    where walks are made of observations (`tight`, `believed`) and simulated. Without `level` the distance
    whose exceedance is computed is a fifth of the chain's diameter in a round number: 5 nats on the credit
    chain.

    >>> import veilwalk as vw
    >>> c = vw.compare(vw.Chain.credit(), epsilon=3.5, radius=3.5, start="Baa")
    >>> c
    Comparison(best for closeness: tight, typicality: believed, wrong_states: tight)
    >>> c.winner("wrong_states", basis="loss")
    'tight'
    """
    values = [epsilon] if isinstance(epsilon, str) or not isinstance(epsilon, Iterable) else epsilon
    texts = [exact_text("epsilon", value) for value in values]
    if not texts:
        raise ParameterError("epsilon: give at least one")
    members = several("mechanisms", mechanisms)
    if not members:
        raise ParameterError("mechanisms: give at least one")
    radius_text = None if radius is None else exact_text("the radius", radius)
    chain = _for_radius(chain, radius_text)
    found = _native.compare(
        chain._native,
        texts,
        radius_text,
        members,
        start,
        released_start,
        _checked_steps(steps),
        None if level is None else _nats("level", [level])[0],
        all_pairs,
    )
    return Comparison(
        {
            "states": len(chain),
            "transitions": chain.transitions,
            "real_walks": _walks_in_words(start, steps),
            "start": _start_word(start, released_start),
            "steps": steps,
            "comparisons": read(found),
        }
    )


def _for_radius(chain: Chain, radius: str | None) -> Chain:
    """The chain with distances in what a radius is in."""
    checked = _checked_chain(chain)
    return checked if radius is None else checked._measured_for(radius)


def _member_in_words(member: dict[str, Any]) -> str:
    if member["mechanism"]:
        return str(member["mechanism"])
    if member["candidates"] == "believed":
        return f"believed from {member['believed_from']}"
    return f"{member['distance']}, {member['rule']}"


class Tuning(Figures):
    """Members of the family, best first. `best()` makes the winner."""

    __slots__ = ("_chain",)

    def __init__(self, figures: dict[str, Any], chain: Chain) -> None:
        super().__init__(figures)
        self._chain = chain

    def _header(self) -> list[str]:
        off = {"m": "metres off"}.get(self._unit, f"{self._unit} off")
        return ["mechanism", "chain weight", off, "wrong states", "entropy off"]

    def best(self) -> Mechanism:
        """The winner, ready to release walks."""
        from veilwalk.mechanism import mechanism_of

        promise = {"epsilon": self._figures["epsilon"]}
        for name, key in [("radius", "radius_nats"), ("substitutions", "substitutions")]:
            if self._figures[key] is not None:
                promise[name] = self._figures[key]
        return mechanism_of(self._figures["ranking"][0], self._chain, promise)

    def _rows(self) -> list[list[str]]:
        return [
            [
                _member_in_words(member),
                member["chain_weight"] if member["candidates"] == "moves" else "-",
                f"{member['mean_distance_nats']:.4f}",
                f"{100 * member['wrong_state_share']:.2f} %",
                f"{member['entropy_gap_nats']:.4f}",
            ]
            for place, member in enumerate(self._figures["ranking"])
            if place < 5 or member["mechanism"]
        ]

    def __repr__(self) -> str:
        first = self._figures["ranking"][0]
        return f"Tuning(best for {self._figures['aim']}: {_member_in_words(first)})"

    def __str__(self) -> str:
        return f"Best for {self._figures['aim']}\n{_in_columns(self._header(), self._rows())}"

    def _repr_html_(self) -> str:
        return html.page(
            html.title(f"Best for {self._figures['aim']}"),
            html.table(self._header(), self._rows(), [(0, 0)]),
            html.paragraph(
                "Only the public chain was used, so this choice costs no privacy. Choosing by the "
                "real walks would.",
                "faint",
            ),
        )


def tune(
    chain: Chain,
    *,
    epsilon: Exact,
    radius: Exact | None = None,
    substitutions: int | None = None,
    aim: str = "closeness",
    start: State = "initial",
    released_start: State | Literal["private", "initial", "first"] = "private",
    steps: int = 100,
) -> Tuning:
    """Finds the member of the family that serves an aim best: `closeness`, `wrong-states`, `typicality`
    or three weights such as "1,1,0.5". No real walk is needed, so tuning costs no privacy.

    >>> import veilwalk as vw
    >>> t = vw.tune(vw.Chain.credit(), epsilon=1, radius=3.5, steps=20)
    >>> best = t.best()
    >>> best.epsilon == 1
    True
    """
    if substitutions is not None:
        substitutions = whole_number("substitutions", substitutions, 1)
    radius_text = None if radius is None else exact_text("the radius", radius)
    chain = _for_radius(chain, radius_text)
    found = _native.tune(
        chain._native,
        exact_text("epsilon", epsilon),
        radius_text,
        substitutions,
        aim,
        start,
        released_start,
        _checked_steps(steps),
    )
    figures: dict[str, Any] = read(found)
    figures.update({"from": str(start), "start": str(released_start)})
    return Tuning(figures, chain)
