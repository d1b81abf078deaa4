"""Walks on a map: a page for a browser or a notebook, GeoJSON, GPX."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from veilwalk import _native, tables
from veilwalk._native import ParameterError
from veilwalk.chain import Chain
from veilwalk.how import name_text
from veilwalk.labels import State
from veilwalk.walks import collect


class Map:
    """Walks that can be drawn; in a notebook they are. `real` says whether real walks are among them: then
    nothing that this writes is protected."""

    def __init__(
        self,
        chain: Chain,
        layers: list[tuple[str, list[tuple[str, list[Any]]]]],
        visits: list[tuple[State, float]],
        times: tuple[str, str, str | None] | None,
        title: str,
        attribution: str | None,
    ) -> None:
        self._chain = chain
        self._drawn = (layers, visits, times, title, attribution)
        self.real = any(layer == "real" for layer, _ in layers)

    def _text(self, kind: str) -> str:
        return _native.draw_map(self._chain._native, kind, *self._drawn)

    def html(self) -> str:
        """A page that needs nothing else and no network: streets, and walks to zoom and to play."""
        return self._text("page")

    def geojson(self) -> str:
        """GeoJSON (RFC 7946): a line for each walk, a point for each observation. `geopandas.read_file` and
        every web map take it."""
        return self._text("geojson")

    def gpx(self) -> str:
        """GPX 1.1: a track for each walk."""
        return self._text("gpx")

    def save(self, path: str | Path) -> None:
        """Writes a file: what, its name tells (`.html`, `.geojson` or `.gpx`)."""
        kinds = {".html": self.html, ".geojson": self.geojson, ".json": self.geojson, ".gpx": self.gpx}
        make = kinds.get(Path(path).suffix.lower())
        if make is None:
            raise ParameterError(
                f"{path}: the name does not tell what to write; let it end in .html, .geojson or .gpx"
            )
        Path(path).write_text(make(), encoding="utf-8")

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html())}" title="{escape(self._drawn[3])}" '
            'sandbox="allow-scripts" style="width:100%;height:560px;border:1px solid rgba(128,128,128,.4);'
            'border-radius:6px"></iframe>'
        )


def map_walks(
    chain: Chain,
    released: Any = None,
    *,
    refined: Any = None,
    observed: Any = None,
    real: Any = None,
    visits: Mapping[State, float] | None = None,
    every: str | None = None,
    start: str | None = None,
    timezone: str | None = None,
    title: str = "Walks",
    attribution: str | None = None,
    trajectory: str = "trajectory",
    step: str | None = None,
    state: str = "state",
) -> Map:
    """Draws walks on a chain that says where its states lie.

    Walks are lists of states, a dict of them by name, or a table with the columns `trajectory` and `state`.
    Those of different kinds belong together if they have the same name. `real` draws the real walks too: what
    comes of it is not protected. `visits` are shares of states, as an estimate has them.

    With `every="1m"` and `start="2026-05-01T06:00"` (of `timezone`, or of UTC) states have times.
    """
    if (every is None) != (start is None):
        raise ParameterError(
            "every and start belong together: how far apart states are, and when walks begin"
        )
    kinds = {"released": released, "refined": refined, "observed": observed, "real": real}
    layers = [
        (layer, _named(walks, trajectory, step, state)) for layer, walks in kinds.items() if walks is not None
    ]
    if not layers and visits is None:
        raise ParameterError("nothing to draw; give released, refined, observed, real or visits")
    times = None if every is None or start is None else (every, start, timezone)
    shares = [(place, float(share)) for place, share in (visits or {}).items()]
    return Map(chain, layers, shares, times, title, attribution)


def _named(walks: Any, trajectory: str, step: str | None, state: str) -> list[tuple[str, list[Any]]]:
    """Walks with their names; numbers from zero where they have none."""
    states = collect(walks, trajectory, step, state)
    library = tables.library_of(walks)
    if isinstance(walks, Mapping):
        names = [name_text(name) for name in walks]
    elif (
        library is not None and type(walks).__name__ in tables.FRAMES and trajectory in library.columns(walks)
    ):
        names = [str(name) for name in dict.fromkeys(library.values(library.column(walks, trajectory)))]
    else:
        names = [str(number) for number in range(len(states))]
    return list(zip(names, states, strict=True))
