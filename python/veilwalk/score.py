"""Whether a release is worth anything: its figures against the real walks, beside those of the chain
alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from veilwalk import _native, html, tables
from veilwalk._native import ParameterError, WalkError
from veilwalk.analysis import Figures, _checked_chain, _counted, _in_columns
from veilwalk.exact import whole_number
from veilwalk.how import name_text
from veilwalk.walks import collect
from veilwalk.warning import warn

if TYPE_CHECKING:
    from veilwalk.chain import Chain
    from veilwalk.labels import State
    from veilwalk.mechanism import Mechanism

MEASURES = {
    "visits_jsd": "visits, divergence",
    "visits_tv": "visits, total variation",
    "visits_kendall": "visits, Kendall's tau",
    "hotspots_ndcg": "hotspots, NDCG",
    "query_error": "range queries, error",
    "moves_jsd": "moves, divergence",
    "moves_tv": "moves, total variation",
    "od_jsd": "trips, divergence",
    "od_tv": "trips, total variation",
    "starts_jsd": "starts, divergence",
    "starts_tv": "starts, total variation",
    "patterns_f1": "patterns, F1",
    "lengths_jsd": "lengths, divergence",
}
"""The figures, by their keys in `to_dict()`."""

_MORE_IS_BETTER = {"visits_kendall", "hotspots_ndcg", "patterns_f1"}
_MARKS = {"better": "+", "worse": "-", "equal": " "}
_CANDIDATES = {
    "release": "release",
    "refined": "refined",
    "estimate": "estimate",
    "laplace_counts": "Laplace counts",
}


class Score(Figures):
    """The figures of a release against the real walks, and those of the chain alone.

    `print` shows a table; `to_dict()` has all figures, as `veilwalk score --format json` prints them. They
    come from the real walks and are NOT protected.
    """

    __slots__ = ()

    @property
    def verdict(self) -> list[str]:
        """A sentence for each of what was compared: whether it beats the chain alone, by more than chance."""
        return [str(sentence) for sentence in self._figures["verdict"]]

    @property
    def candidates(self) -> list[str]:
        """What was compared: `release`, and as far as they were given `refined`, `estimate`,
        `laplace_counts`."""
        return [key for key in _CANDIDATES if key in self._figures]

    def better(self, candidate: str = "release") -> list[str]:
        """The figures in which it beats the chain alone by more than chance."""
        if candidate not in self.candidates:
            raise ParameterError(f"candidate: {candidate!r}; give one of {', '.join(self.candidates)}")
        figures = self._figures[candidate].items()
        return [key for key, figure in figures if figure["against_chain_alone"] == "better"]

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        header = ["", "best", "chain alone", "± chance", *(_CANDIDATES[key] for key in self.candidates)]
        rows = []
        alone = self._figures["chain_alone"]
        for key, words in MEASURES.items():
            row = [words, "1" if key in _MORE_IS_BETTER else "0"]
            row += (
                [f"{alone[key]['value']:.4f}", f"{alone[key]['deviation']:.4f}"]
                if key in alone
                else ["–", "–"]
            )
            for candidate in self.candidates:
                figure = self._figures[candidate].get(key)
                mark = "–" if figure is None else _MARKS[figure["against_chain_alone"]]
                row.append(mark if figure is None else f"{figure['value']:.4f} {mark}")
            rows.append(row)
        return header, rows

    def _about(self) -> str:
        walks, states = (_counted(self._figures[key], key[:-1]) for key in ("walks", "states"))
        return f"{walks} with {states} in all; + better and - worse than the chain alone, by more than chance"

    def __repr__(self) -> str:
        better = ", ".join(
            f"{_CANDIDATES[key]} better in {len(self.better(key))} of {len(self._figures[key])}"
            for key in self.candidates
        )
        return f"Score({_counted(self._figures['walks'], 'real walk')}; {better}; NOT protected)"

    def __str__(self) -> str:
        return "\n".join([_in_columns(*self._rows()), "", self._about(), *self.verdict])

    def _repr_html_(self) -> str:
        return html.page(
            html.title("Against the real walks: NOT protected"),
            html.paragraph(self._about(), "faint"),
            html.table(*self._rows()),
            *(html.paragraph(sentence) for sentence in self.verdict),
        )


def score(
    real: Any,
    release: Any,
    chain: Chain,
    *,
    refined: Any = None,
    estimate: Any = None,
    mechanism: Mechanism | None = None,
    unknown_state: State = "error",
    repetitions: int = 20,
    seed: int = 1,
    trajectory: str = "trajectory",
    step: str | None = "step",
    state: str = "state",
) -> Score:
    """Compares a release with the real walks by the figures that papers on private trajectories report, and
    with what the chain alone would have told. It reads the real walks, so its figures are NOT protected.

    Takes walks of every kind that `Mechanism.privatize` takes. `refined` are walks that were made of the
    release (as `Mechanism.refine` gives them), `estimate` a table of `Mechanism.estimate`, or several of
    them in a list. With the `mechanism` of the release, plain counts of the real walks with Laplace noise at
    the same price stand there too, where it promises for replaced states. Walks that have the names of the
    real ones are compared walk by walk.

    >>> import veilwalk as vw
    >>> chain = vw.Chain.credit()
    >>> m = vw.Mechanism("chen", chain, epsilon=8, substitutions=1)
    >>> real = chain.sample(300, 12, start="B", seed=1)
    >>> found = vw.score(real, m.privatize(real, seed=3), chain, mechanism=m)
    >>> "moves_tv" in found.better("release")
    True
    >>> found.candidates
    ['release', 'laplace_counts']
    """
    _checked_chain(chain)
    names = _names(real, trajectory)
    listed = collect(real, trajectory, step, state)
    given = []
    for key, walks, column in (("release", release, state), ("refined", refined, "state")):
        if walks is None:
            continue
        made = collect(walks, trajectory, step, column)
        ordered = _in_order(names, _names(walks, trajectory), made, len(listed))
        given.append((key, made if ordered is None else ordered, ordered is not None))
        if made == listed:
            warn(f"{key}: these are the real walks themselves, state by state, so the figures say nothing")
    found = _native.score(
        chain._native,
        listed,
        unknown_state,
        given,
        None if estimate is None else json.dumps(_shares(estimate)),
        _price(mechanism),
        whole_number("repetitions", repetitions, 2),
        whole_number("seed", seed, 0),
    )
    warn("these figures come from the real walks and are NOT protected; do not publish them with the release")
    return Score(json.loads(found))


def _price(mechanism: Mechanism | None) -> tuple[float, int] | None:
    """What a release cost, if counts can be had at that price."""
    if mechanism is None or mechanism.substitutions is None:
        return None
    return float(mechanism.epsilon), mechanism.substitutions


def _names(walks: Any, trajectory: str) -> list[str] | None:
    """The names of walks in the order in which they begin; none of walks without names."""
    library = tables.library_of(walks)
    if library is not None and type(walks).__name__ in tables.FRAMES:
        if trajectory not in library.columns(walks):
            return None
        named = library.values(library.column(walks, trajectory))
        return [name_text(name) for name in dict.fromkeys(named)]
    return [name_text(name) for name in walks] if isinstance(walks, Mapping) else None


def _in_order(
    real: list[str] | None, names: list[str] | None, walks: list[list[Any]], count: int
) -> list[list[Any]] | None:
    """The walks in the order of the real ones, if each stands for one of them."""
    if real is None or names is None:
        # Lists stand for each other place by place.
        return walks if real is None and names is None and len(walks) == count else None
    by_name = dict(zip(names, walks, strict=True))
    if by_name.keys() != set(real):
        return None
    return [by_name[name] for name in real]


_KINDS = {"visits": ("state",), "moves": ("from", "to"), "od": ("origin", "destination")}


def _shares(estimate: Any) -> dict[str, list[dict[str, Any]]]:
    """Estimates as the command writes them."""
    if isinstance(estimate, Mapping):
        return {key: _rows(table) for key, table in estimate.items()}
    several = isinstance(estimate, list | tuple) and not (estimate and isinstance(estimate[0], Mapping))
    shares = {}
    for table in estimate if several else [estimate]:
        rows = _rows(table)
        columns = set(rows[0]) if rows else set()
        kind = next((key for key, states in _KINDS.items() if columns >= {*states, "share"}), None)
        if kind is None:
            raise WalkError(
                "estimate: give what Mechanism.estimate gave: a table with the columns state and share, "
                "from, to and share, or origin, destination and share"
            )
        shares[kind] = rows
    return shares


def _rows(table: Any) -> list[dict[str, Any]]:
    library = tables.library_of(table)
    if library is None:
        rows = [dict(row) for row in table]
    else:
        names = library.columns(table)
        columns = [library.values(library.column(table, name)) for name in names]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    labels = [name for states in _KINDS.values() for name in states]
    return [{name: name_text(cell) if name in labels else cell for name, cell in row.items()} for row in rows]
