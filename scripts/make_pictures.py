"""Draws the pictures of docs/concepts.md into docs/pictures. Needs Python alone."""

from __future__ import annotations

from pathlib import Path

INTO = Path(__file__).resolve().parent.parent / "docs" / "pictures"
REAL, OTHER, SEEN, BELIEF, QUIET, INK = "#1f6feb", "#8250df", "#bf5b04", "#2f9e6e", "#8b949e", "#24292f"


class Picture:
    """A picture on a white card, so that it can be read on light and dark pages."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="14" fill="{INK}">',
            f"<title>{title}</title>",
            f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="10" fill="#ffffff" stroke="#d0d7de"/>',
        ]

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        colour: str = INK,
        anchor: str = "start",
        size: int = 14,
        bold: bool = False,
    ) -> None:
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}" font-size="{size}"{weight}>{words}</text>'
        )

    def line(
        self, points: list[tuple[float, float]], colour: str, *, width: float = 3, dashed: bool = False
    ) -> None:
        dash = ' stroke-dasharray="5 5"' if dashed else ""
        path = " ".join(f"{x},{y}" for x, y in points)
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"{dash}/>'
        )

    def dot(self, x: float, y: float, colour: str, *, radius: float = 6, hollow: bool = False) -> None:
        inside = "#ffffff" if hollow else colour
        self.parts.append(
            f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{inside}" stroke="{colour}" stroke-width="2"/>'
        )

    def box(
        self, x: float, y: float, width: float, height: float, colour: str, *, faint: bool = False
    ) -> None:
        opacity = ' fill-opacity="0.25"' if faint else ""
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" fill="{colour}"{opacity}/>'
        )

    def save(self, name: str) -> None:
        INTO.mkdir(exist_ok=True)
        (INTO / name).write_text("\n".join([*self.parts, "</svg>"]) + "\n")


def radius() -> None:
    picture = Picture(
        720, 300, "Two walks are adjacent if the distances between their states add up to at most the radius"
    )
    at = [80 + 95 * step for step in range(7)]
    real = [200, 170, 150, 150, 120, 110, 130]
    other = [200, 170, 120, 105, 120, 110, 130]
    for x, a, b in zip(at, real, other, strict=True):
        if a != b:
            picture.line([(x, a), (x, b)], QUIET, width=2, dashed=True)
            picture.text(x + 10, (a + b) / 2 + 5, "1.2" if a - b == 30 else "1.8", colour=QUIET)
    picture.line(list(zip(at, other, strict=True)), OTHER)
    picture.line(list(zip(at, real, strict=True)), REAL)
    for x, a, b in zip(at, real, other, strict=True):
        picture.dot(x, b, OTHER)
        picture.dot(x, a, REAL)
    picture.text(at[2] - 20, 92, "another walk", colour=OTHER, anchor="end", bold=True)
    picture.text(at[1] - 10, 215, "the real walk", colour=REAL, bold=True)
    picture.text(40, 40, "A radius adds up distances over all steps", size=17, bold=True)
    picture.text(
        40, 262, "1.2 + 1.8 = 3: with a radius of 3 or more, a release hardly tells these two walks apart;"
    )
    picture.text(40, 282, "with a radius of 2 nothing is promised about them.")
    picture.save("radius.svg")


def observing() -> None:
    picture = Picture(720, 400, "Observe, believe, track")
    at = [190 + 95 * step for step in range(5)]
    rows = {"real": 90, "observed": 170, "believed": 265, "released": 355}
    labels = {
        "real": ("the real walk", "nobody sees it", REAL),
        "observed": ("observed", "noise on each state", SEEN),
        "believed": ("believed", "what anybody infers", BELIEF),
        "released": ("released", "possible, near, typical", INK),
    }
    for name, (title, below, colour) in labels.items():
        picture.text(30, rows[name], title, colour=colour, bold=True)
        picture.text(30, rows[name] + 18, below, colour=QUIET, size=12)
    names = {"real": "AABBC", "observed": "ADBAC", "released": "AABBC"}
    shares = [(9, 3, 1, 2), (7, 5, 1, 3), (2, 9, 3, 1), (4, 8, 2, 0), (1, 3, 9, 1)]
    for name, states in names.items():
        colour = labels[name][2]
        picture.line([(x, rows[name]) for x in at], colour, width=2) if name != "observed" else None
        for x, state in zip(at, states, strict=True):
            picture.dot(x, rows[name], colour, radius=15, hollow=True)
            picture.text(x, rows[name] + 5, state, anchor="middle", colour=colour, bold=True)
    for x, bars in zip(at, shares, strict=True):
        for place, (state, share) in enumerate(zip("ABCD", bars, strict=True)):
            left = x - 28 + 15 * place
            picture.box(left, rows["believed"] + 5 - 5 * share, 11, 5 * share or 1, BELIEF)
            picture.text(left + 5.5, rows["believed"] + 20, state, size=10, anchor="middle", colour=QUIET)
    for x in at:
        for top, bottom in ((90, 170), (170, 218), (285, 355)):
            picture.line([(x, top + 17), (x, bottom - 17)], QUIET, width=1.5, dashed=top == 90)
    picture.text(
        30,
        40,
        "Only the first arrow looks at the real walk. All below it is public inference.",
        size=16,
        bold=True,
    )
    picture.save("observe.svg")


def stay() -> None:
    picture = Picture(720, 230, "A stay of two hours on a clock of five minutes is 24 states")
    picture.text(30, 38, "A stay counts at every tick of the clock", size=17, bold=True)
    names = [("home", 12, REAL), ("clinic", 24, SEEN), ("home", 20, REAL)]
    for row, title in (
        (90, "one day"),
        (140, "another"),
    ):
        picture.text(30, row + 15, title, bold=True)
        left = 110.0
        for name, ticks, colour in names:
            shown = (name, colour) if (row == 90 or name == "home") else ("park", BELIEF)
            for tick in range(ticks):
                picture.box(left + tick * 10.4, row, 8.8, 22, shown[1], faint=shown[0] == "home")
            picture.text(left + ticks * 5.2, row - 6, shown[0], anchor="middle", size=12, colour=shown[1])
            left += ticks * 10.4
    picture.text(
        30,
        192,
        "The two days differ in one stay, and in 24 states. A promise for one replaced state does not cover that;",
    )
    picture.text(
        30,
        212,
        "<tspan font-family='monospace'>--visit 2h --every 5m</tspan> asks for 24 replaced states, and does.",
    )
    picture.save("stay.svg")


def guessing() -> None:
    picture = Picture(
        720, 250, "What somebody who knows the chain guesses right, with the release and without"
    )
    picture.text(30, 38, "What somebody who knows the chain guesses right", size=17, bold=True)
    rows = [("a state", 0.74, 0.38), ("the first state", 0.51, 0.10), ("the whole walk", 0.17, 0.12)]
    for place, (name, released, alone) in enumerate(rows):
        y = 66 + 48 * place
        picture.text(160, y + 21, name, anchor="end")
        picture.box(175, y, 480 * released, 15, SEEN)
        picture.box(175, y + 17, 480 * alone, 15, QUIET)
        picture.text(
            182 + 480 * released,
            y + 12,
            f"{released:.0%} with the release".replace("%", " %"),
            size=12,
            colour=SEEN,
        )
        picture.text(
            182 + 480 * alone,
            y + 29,
            f"{alone:.0%} from the chain alone".replace("%", " %"),
            size=12,
            colour=QUIET,
        )
    picture.text(
        30,
        228,
        "Credit ratings, <tspan font-family='monospace'>cell</tspan>, epsilon 1 within a radius of 4, walks of 30 steps.",
    )
    picture.save("guess.svg")


if __name__ == "__main__":
    for draw in (radius, observing, stay, guessing):
        draw()
