"""Plots, as figures of matplotlib that a notebook shows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from veilwalk._native import ParameterError
from veilwalk.html import in_nats
from veilwalk.labels import State, label_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from veilwalk.analysis import Analysis
    from veilwalk.mechanism import Mechanism

_BLUE, _ORANGE, _GREY = "#2a6fbb", "#d1662c", "#808080"
_SHADES = ["#8fbce6", "#5796d0", "#2a6fbb", "#174a80", "#0b2c50"]


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "plots need matplotlib: pip install 'veilwalk[plot]', or pip install matplotlib"
        ) from None
    # Without pyplot nothing is kept open, and no window is needed.
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def errors(analysis: Analysis) -> Figure:
    """The expected distance at each step, and how likely it is above each level."""
    if not analysis.exact:
        raise ParameterError(
            "the plot is of exact figures. In blocks they are for real walks: give real=. Where walks are "
            "made of observations, all figures are simulated"
        )
    figures = analysis.to_dict()
    figure, axes = _figure(8, 4.2)
    steps = range(len(figures["by_step"]["distance_nats"]))
    axes.plot(steps, figures["by_step"]["distance_nats"], color=_ORANGE, linewidth=2)
    axes.set_xlabel("step")
    axes.set_ylabel("expected distance (nats)", color=_ORANGE)
    axes.set_ylim(bottom=0)
    levels = [level for level in figures["exceedance"] if max(level["at_step"]) > 0]
    if levels:
        beside = axes.twinx()
        beside.spines["top"].set_visible(False)
        shades = _SHADES[-len(levels) :] if len(levels) <= len(_SHADES) else [_BLUE] * len(levels)
        for level, shade in zip(levels, shades, strict=True):
            label = f"over {in_nats(level['nats'])}"
            shown = [p if p > 0 else float("nan") for p in level["at_step"]]
            beside.plot(steps, shown, color=shade, linewidth=1.2, label=label)
        beside.set_yscale("log")
        beside.set_ylabel("probability (exact)", color=_BLUE)
        figure.legend(loc="outside lower center", frameon=False, fontsize=9, ncols=len(levels))
    axes.set_title(
        f"{figures['mechanism']}, {figures['promise']}\n{figures['real_walks']}",
        loc="left",
        fontsize=10,
    )
    return figure


def entropy(mechanism: Mechanism, **of: Any) -> Figure:
    """Entropy per transition of releases, of this mechanism and the others with names that can make the
    same promise, beside that of the real walks."""
    from veilwalk._native import VeilwalkError
    from veilwalk.mechanism import Mechanism as Made

    promise: dict[str, Any] = {"epsilon": mechanism.epsilon}
    if mechanism.radius is not None:
        promise["radius"] = mechanism.radius
    else:
        promise["substitutions"] = mechanism.substitutions
    analyses = {mechanism.name: mechanism.analyze(**of)}
    for name in ("paper", "exponential", "chen", "exponential-hamming", "sharp", "cell"):
        if name in analyses:
            continue
        try:
            analyses[name] = Made(name, mechanism.chain, **promise).analyze(**of)
        except VeilwalkError:
            # Not every mechanism can make every promise.
            continue
    figure, axes = _figure(7, 0.9 + 0.42 * len(analyses))
    names = sorted(analyses, key=lambda name: analyses[name].entropy["released"] or 0.0)
    for place, name in enumerate(names):
        released = analyses[name].entropy["released"] or 0.0
        own = name == mechanism.name
        axes.barh(place, released, color=_BLUE if own else "#a9c6e4", height=0.62)
        axes.text(released, place, f" {released:.3f}", va="center", fontsize=9)
    axes.set_yticks(range(len(names)), names)
    for tick, name in zip(axes.get_yticklabels(), names, strict=True):
        tick.set_fontweight("bold" if name == mechanism.name else "normal")
    real = analyses[mechanism.name].entropy["real"]
    if real is not None:
        axes.axvline(real, color=_ORANGE, linewidth=1.8, label=f"real walks, {real:.3f}")
        figure.legend(loc="outside lower right", frameon=False, fontsize=9)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("entropy of releases (nats per transition); nearer to the real walks is better")
    axes.margins(x=0.12)
    axes.set_title(analyses[mechanism.name].to_dict()["promise"], loc="left", fontsize=10)
    return figure


def attack(mechanism: Mechanism, **of: Any) -> Figure:
    """The share of right released states over the share of right guesses, at epsilons from an eighth of the
    mechanism's own to eight times it: the higher, the more of what leaks is of use."""
    from veilwalk._native import VeilwalkError
    from veilwalk.mechanism import Mechanism as Made

    unit: dict[str, Any] = (
        {"radius": mechanism.radius}
        if mechanism.radius is not None
        else {"substitutions": mechanism.substitutions}
    )
    of = {"walks": 200, "steps": 50} | of
    names = ["sharp", "cell", "tight"]
    names = [mechanism.name, *(name for name in names if name != mechanism.name)]
    figure, axes = _figure(6.4, 5)
    colours = [_ORANGE, _BLUE, *_SHADES]
    alone = None
    for name, colour in zip(names, colours, strict=False):
        points = []
        for power in range(-3, 4):
            epsilon = mechanism.epsilon * Fraction(2) ** power
            try:
                found = Made(name, mechanism.chain, epsilon=epsilon, **unit).attack(**of).to_dict()["state"]
            except VeilwalkError:
                # Not every mechanism has a name of its own, or can make every promise.
                continue
            points.append((found["attacker"], found["release"]))
            alone = found["chain_alone"]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", color=colour, linewidth=1.6, label=name)
    axes.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=0.8)
    if alone is not None:
        axes.axvline(alone, color="#888888", linestyle=":", label="the chain alone")
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("share of states that an attacker guesses right")
    axes.set_ylabel("share of released states that are right")
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    return figure


def estimate(rows: Sequence[dict[str, Any]], shown: int = 20) -> Figure:
    """The largest shares of an estimate, with their intervals where it has them."""
    largest = sorted(rows, key=lambda row: -float(row["share"]))[:shown]
    names = [
        " → ".join(str(row[key]) for key in row if key not in ("share", "low", "high")) for row in largest
    ]
    figure, axes = _figure(7, 0.9 + 0.32 * len(largest))
    for place, row in enumerate(largest):
        axes.barh(place, row["share"], color="#a9c6e4", height=0.62)
        low, high = row.get("low"), row.get("high")
        if low is not None and high is not None:
            axes.plot([low, high], [place, place], color=_BLUE, linewidth=2)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel("share, estimated from the release")
    return figure


def walk(
    mechanism: Mechanism,
    real: Sequence[State] | None,
    *,
    releases: int,
    seed: int,
    steps: int,
    start: State | None,
) -> Figure:
    """A walk with releases of it."""
    import random

    chain = mechanism.chain
    if real is None:
        generator = random.Random(seed)
        initial = chain.initial
        first = label_text(start) if start is not None else generator.choices(*_choices(initial))[0]
        walked = [first]
        for _ in range(steps):
            walked.append(generator.choices(*_choices(chain.row(walked[-1])))[0])
    else:
        walked = [label_text(state) for state in real]
    if len(walked) < 2:
        raise ParameterError("walk: give two states or more")
    with warnings.catch_warnings():
        # The docstring says it: a picture made with a seed is not private.
        warnings.simplefilter("ignore")
        copies, observed = [], []
        for number in range(releases):
            how: dict[str, Any] = {"seed": seed + number, "allow_vacuous": True, "start": "first"}
            if mechanism.observes:
                released, answers = mechanism.privatize([walked], observed=True, **how)
                observed += [(step, state) for step, state in enumerate(answers[0]) if step > 0]
            else:
                released = mechanism.privatize([walked], **how)
            copies.append(released[0])
    # Only the states that occur, in the order of the chain.
    seen = {state for copy in [walked, *copies] for state in copy} | {state for _, state in observed}
    states = [state for state in chain.states if state in seen]
    places = {state: place for place, state in enumerate(states)}
    figure, axes = _figure(9, min(1.6 + 0.28 * len(states), 9))
    for number, copy in enumerate(copies):
        heights = [places[state] for state in copy]
        label = f"{releases} releases" if number == 0 else None
        axes.step(
            range(len(copy)),
            heights,
            where="mid",
            color=_BLUE,
            alpha=0.16,
            linewidth=3,
            label=label,
        )
    if observed:
        axes.scatter(
            [step for step, _ in observed],
            [places[state] for _, state in observed],
            color=_GREY,
            alpha=0.16,
            s=12,
            linewidths=0,
            label="observed",
        )
    heights = [places[state] for state in walked]
    axes.step(range(len(walked)), heights, where="mid", color=_ORANGE, linewidth=1.8, label="real walk")
    every = max(1, len(states) // 30)
    axes.set_yticks(range(0, len(states), every), states[::every])
    axes.set_xlabel("step")
    axes.set_title(f"{mechanism!r}", loc="left", fontsize=10)
    figure.legend(loc="outside lower right", frameon=False, fontsize=9, ncols=3)
    return figure


def _choices(law: dict[str, float]) -> tuple[list[str], list[float]]:
    return list(law), list(law.values())
