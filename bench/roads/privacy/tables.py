"""The figures as tables, and what they say of a few claims."""

from __future__ import annotations

from collections.abc import Iterable

Figures = dict[str, object]


def report(found: list[Figures]) -> str:
    parts = []
    for network, metric in unique((row["network"], row["metric"]) for row in found):
        here = [row for row in found if (row["network"], row["metric"]) == (network, metric)]
        parts.append(f"## {network}, {metric}\n\n{full(here)}")
    parts.append(f"## Nearest of ours over planar Laplace\n\n{summary(found)}")
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
    """For each setting and delay: the peer, the best of ours, and the best of what `auto` takes."""
    header = ["network", "metric", "ε", "delay", "planar Laplace", "ours", "", "ratio", "auto", "", "auto/ours"]
    lines = []
    keys = unique((row["network"], row["metric"], row["epsilon"], row["delay"]) for row in found)
    for key in keys:
        here = [r for r in found if (r["network"], r["metric"], r["epsilon"], r["delay"]) == key]
        peer = next(row for row in here if row["mechanism"] == "planar Laplace")
        best = min(filter(is_ours, here), key=lambda row: row["metres"])
        auto = min(filter(is_auto, here), key=lambda row: row["metres"])
        lines.append(
            [
                *key,
                pair(peer["metres"], 1),
                pair(best["metres"], 1),
                best["mechanism"],
                pair(best["ratio"], 2),
                pair(auto["metres"], 1),
                auto["mechanism"],
                f"{auto['metres'][0] / best['metres'][0]:.2f}" if best["metres"][0] else "",
            ]
        )
    return table(header, lines)
