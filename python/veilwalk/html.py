"""Small pieces of HTML for notebooks: self-contained, and at home in light and dark themes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """<style scoped>
.vw{font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:60em;color:inherit}
.vw h4{margin:.2em 0 .4em;font-size:1.05em;font-weight:600}
.vw p{margin:.3em 0 .6em}
.vw table{border-collapse:collapse;margin:.3em 0 .8em;font-size:inherit;color:inherit;
font-variant-numeric:tabular-nums}
.vw th,.vw td{padding:.15em .8em .15em 0;text-align:left;border:0;background:none;
vertical-align:top;color:inherit}
.vw th{font-weight:600;white-space:nowrap;border-bottom:1px solid rgba(128,128,128,.5)}
.vw td.n,.vw th.n{text-align:right}
.vw .best{font-weight:600;color:#0e8f67}
.vw .alarm{border-left:3px solid #c4461f;padding-left:.7em}
.vw .faint{opacity:.7}
</style>"""


def page(*parts: str) -> str:
    """Everything in one box."""
    return f'{_STYLE}<div class="vw">{"".join(parts)}</div>'


def in_nats(number: float | str, unit: str = "nats") -> str:
    """A number with its unit: `1 nat`, `2.5 nats`, `200 m`."""
    text = number if isinstance(number, str) else f"{number:g}"
    if unit != "nats":
        return f"{text} {unit}"
    return f"{text} {'nat' if text == '1' else 'nats'}"


def title(text: str) -> str:
    return f"<h4>{escape(text)}</h4>"


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>'


def table(header: Sequence[str], rows: Iterable[Sequence[str]], best: Iterable[tuple[int, int]] = ()) -> str:
    """A table whose columns after the first are numbers; cells in `best` stand out."""
    marked = set(best)

    def cell(tag: str, row: int, column: int, text: str) -> str:
        kinds = ["n"] if column > 0 else []
        if (row, column) in marked:
            kinds.append("best")
        return f'<{tag} class="{" ".join(kinds)}">{escape(text)}</{tag}>'

    head = "".join(cell("th", -1, i, text) for i, text in enumerate(header))
    body = "".join(
        "<tr>" + "".join(cell("td", r, c, text) for c, text in enumerate(row)) + "</tr>"
        for r, row in enumerate(rows)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def rounded_up(value: float | None) -> str:
    """Four digits, the last rounded up: a loss that is shown is never below the real one."""
    if value is None or math.isinf(value):
        return "∞"
    return f"{math.ceil(round(value * 1e4, 6)) / 1e4:.4f}"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values."""
    body = "".join(
        f'<tr><td class="faint">{escape(name)}</td><td>{escape(value)}</td></tr>' for name, value in rows
    )
    return f"<table><tbody>{body}</tbody></table>"
