"""The figures as tables, and what they say of a few claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Figures = dict[str, object]


def report(found: list[Figures]) -> str:
    parts = []
    for network, metric in unique((row["network"], row["metric"]) for row in found):
        here = [row for row in found if (row["network"], row["metric"]) == (network, metric)]
        parts.append(f"## {network}, {metric}\n\n{full(here)}")
    parts.append(f"## Mean metres, planar Laplace → the nearest of ours: their ratio\n\n{summary(found)}")
    parts.append(f"## What auto takes, over the nearest of ours\n\n{of_auto(found)}")
    return "\n\n".join(parts)


def unique(items: Iterable[object]) -> list:
    return list(dict.fromkeys(items))


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def pair(value: tuple[float, float] | None, digits: int, scale: float = 1) -> str:
    return "" if value is None else f"{scale * value[0]:.{digits}f} ± {scale * value[1]:.{digits}f}"


def full(rows: list[Figures]) -> str:
    """Everything of one network and metric."""
    header = ["ε", "delay", "mechanism", "metres", "95 %", "impossible %", "right %", "guessed %", "ratio"]
    lines = [
        [
            row["epsilon"],
            row["delay"],
            row["mechanism"],
            pair(row["metres"], 1),
            pair(row["metres_95"], 0),
            pair(row["impossible"], 1, 100),
            pair(row["right"], 1, 100),
            pair(row["guessed"], 1, 100),
            pair(row["ratio"], 2),
        ]
        for row in rows
    ]
    return table(header, lines)


def is_ours(row: Figures) -> bool:
    return not row["mechanism"].startswith("planar Laplace")


def is_auto(row: Figures) -> bool:
    return row["mechanism"].startswith("auto")


def summary(found: list[Figures]) -> str:
    """For each setting and delay the peer, the nearest of ours, and their ratio."""
    return by_epsilon(found, beside_the_peer)


def of_auto(found: list[Figures]) -> str:
    """For each setting and delay how much farther off what `auto` takes is than the nearest of ours."""
    return by_epsilon(found, beside_ours)


def by_epsilon(found: list[Figures], cell: Callable[[list[Figures]], str]) -> str:
    epsilons = unique(row["epsilon"] for row in found)
    keys = unique((row["network"], row["metric"], row["delay"]) for row in found)
    lines = []
    for key in sorted(keys, key=lambda key: [key[:2] for key in keys].index(key[:2])):
        here = [row for row in found if (row["network"], row["metric"], row["delay"]) == key]
        cells = [[row for row in here if row["epsilon"] == epsilon] for epsilon in epsilons]
        lines.append([*key, *(cell(rows) if rows else "" for rows in cells)])
    return table(["network", "metric", "delay", *(f"ε = {epsilon}" for epsilon in epsilons)], lines)


def beside_the_peer(rows: list[Figures]) -> str:
    peer = next(row for row in rows if row["mechanism"] == "planar Laplace")
    best = nearest(filter(is_ours, rows))
    name = best["mechanism"].partition(",")[0].partition(" (")[0]
    metres = f"{peer['metres'][0]:.3g} → {best['metres'][0]:.3g} {name}"
    return f"{metres}: {best['ratio'][0]:.2f} ± {best['ratio'][1]:.2f}"


def beside_ours(rows: list[Figures]) -> str:
    auto, best = (nearest(filter(which, rows)) for which in (is_auto, is_ours))
    name = auto["mechanism"].removeprefix("auto ")
    return f"{auto['metres'][0] / best['metres'][0]:.2f} {name}"


def nearest(rows: Iterable[Figures]) -> Figures:
    return min(rows, key=lambda row: row["metres"])
