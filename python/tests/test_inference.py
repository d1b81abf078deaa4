"""What a release says about the real walks: the figures of the command, in tables of the kind given."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veilwalk as vw

CREDIT = vw.Chain.credit()
CELL = vw.Mechanism("cell", CREDIT, epsilon=2, radius=3.5)
TIGHT = vw.Mechanism("tight", CREDIT, epsilon=2, radius=3.5)
pytestmark = pytest.mark.filterwarnings("ignore::veilwalk.PrivacyWarning")

BOTH = pytest.mark.parametrize("m", [CELL, TIGHT], ids=["cell", "tight"])
WALKS = [list(walk) for walk in CREDIT.sample(60, 8, start="B", seed=1)]
REFINED = ["trajectory", "step", "state", "released", "confidence"]


def released(m: vw.Mechanism) -> pl.DataFrame:
    rows = [(f"w{name}", state) for name, walk in enumerate(WALKS) for state in walk]
    table = pl.DataFrame(rows, schema=["trajectory", "state"], orient="row")
    return m.privatize(table, seed=3)


def as_polars(table: Any) -> pl.DataFrame:
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, pd.DataFrame):
        return pl.DataFrame({name: table[name].tolist() for name in table.columns})
    if isinstance(table, pa.Table):
        return pl.DataFrame(table.to_pydict())
    return pl.DataFrame(table)


def kinds(table: pl.DataFrame) -> list[tuple[Any, type]]:
    pandas = pd.DataFrame({name: table[name].to_list() for name in table.columns})
    arrow = pa.table({name: table[name].to_list() for name in table.columns})
    return [(table, pl.DataFrame), (pandas, pd.DataFrame), (arrow, pa.Table)]


@BOTH
def test_figures_are_those_of_the_command(
    m: vw.Mechanism, tmp_path: Path, command: Callable[..., str]
) -> None:
    table, path = released(m), tmp_path / "released.csv"
    table.write_csv(path)
    m.write_manifest(path, randomness="system")
    out, likely_out = tmp_path / "refined.csv", tmp_path / "likely.csv"
    command("refine", path, "--chain", "credit", "-o", out, "--posterior", likely_out, "--above", 0.1)
    refined, likely = m.refine(table, posterior=True, above=0.1)
    for made, file in ((refined, out), (likely, likely_out)):
        with file.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        assert list(rows[0]) == made.columns
        assert len(rows) == len(made)
        for row, own in zip(rows, made.iter_rows(named=True), strict=True):
            assert {name: type(own[name])(text) for name, text in row.items()} == own
    for what, columns in (
        ("visits", ["state"]),
        ("moves", ["from", "to"]),
        ("od", ["origin", "destination"]),
    ):
        words = [
            "estimate",
            path,
            "--chain",
            "credit",
            "--what",
            what,
            "--replicates",
            20,
            "--format",
            "json",
        ]
        answer = json.loads(command(*words))[what]
        own = m.estimate(table, what=what, replicates=20)  # type: ignore[arg-type]
        assert own.columns == [*columns, "share", "low", "high"]
        assert own.to_dicts() == [{name: entry[name] for name in own.columns} for entry in answer]
    command("estimate", path, "--chain", "credit", "--what", "chain", "-o", tmp_path / "learned.csv")
    learned, read = m.estimate(table, what="chain"), vw.Chain.read(tmp_path / "learned.csv")
    assert learned.states == read.states
    for state in learned.states:
        assert learned.row(state) == pytest.approx(read.row(state), rel=1e-12)
    assert learned.initial == pytest.approx(read.initial, rel=1e-12)


@BOTH
def test_tables_come_back_in_the_kind_they_came_in(m: vw.Mechanism) -> None:
    table = released(m)
    expected, visits = m.refine(table), m.estimate(table, replicates=10)
    assert expected.columns == REFINED
    for given, kind in kinds(table):
        made, likely = m.refine(given, posterior=True)
        assert isinstance(made, kind)
        assert isinstance(likely, kind)
        assert as_polars(made).equals(expected)
        estimated = m.estimate(given, replicates=10)
        assert isinstance(estimated, kind)
        assert as_polars(estimated).equals(visits)


def test_walks_that_are_no_table_give_rows() -> None:
    walks = CELL.privatize(WALKS, seed=3)
    rows = CELL.refine(walks)
    assert list(rows[0]) == REFINED
    assert [row["released"] for row in rows] == [state for walk in walks for state in walk]
    states = [row["state"] for row in rows if row["trajectory"] == 5]
    assert all(to in CREDIT.row(state) for state, to in pairwise(states))
    named = CELL.refine({f"w{place}": walk for place, walk in enumerate(walks)})
    assert [row["trajectory"] for row in named[:9]] == ["w0"] * 9
    assert [row["state"] for row in named] == [row["state"] for row in rows]
    out, observed = TIGHT.privatize(WALKS, observed=True, seed=3)
    rows = TIGHT.refine(out, observed=observed)
    assert len(rows) == sum(map(len, WALKS))
    assert {row["state"] for row in TIGHT.estimate(out, observed=observed, interval=None)} == set(
        CREDIT.states
    )
    assert CELL.refine(["B"])[0]["step"] == 0, "a walk of one state"


def test_a_lag_an_aim_and_another_chain_change_the_walks() -> None:
    table = released(CELL)
    plain = CELL.refine(table)
    for how in ({"lag": 0}, {"aim": "states"}, {"prior": CELL.estimate(table, what="chain")}):
        assert not CELL.refine(table, **how).equals(plain), how
    same = CELL.refine(table, prior=CREDIT, threads=1)
    assert same.drop("confidence").equals(plain.drop("confidence"))


def test_a_better_chain_is_learned() -> None:
    table = released(TIGHT)
    learned = TIGHT.estimate(table, what="chain")
    assert learned.initial["B"] > 0.8, "all real walks start there"
    visits = {row["state"]: row for row in TIGHT.estimate(table).to_dicts()}
    real = [state for walk in WALKS for state in walk]
    share = real.count("B") / len(real)
    assert abs(visits["B"]["share"] - share) < 0.1
    assert visits["B"]["low"] < visits["B"]["share"] < visits["B"]["high"]


@pytest.mark.parametrize(
    ("given", "how", "word"),
    [
        ([["B", "Bee"]], {}, "walk 0, step 1"),
        ([["B", "Caa"], ["Def", "Aaa"]], {}, "walk 1: step 1 is a move that the chain does not have"),
        ([["B"]], {"observed": [["B"]]}, "draws moves"),
        ([["B"]], {"aim": "luck"}, "aim"),
        ([["B"]], {"lag": -1}, "lag"),
        ([["B"]], {"prior": "credit"}, "veilwalk.Chain"),
        ([["B"]], {"prior": vw.Chain.downtown()}, "prior: the other chain has no state"),
        ([["B"]], {"above": 1}, "above"),
        (pl.DataFrame({"trajectory": ["a", "a"], "step": [0, 0], "state": ["B", "B"]}), {}, "a second time"),
        (pl.DataFrame({"trajectory": ["a"], "where": ["B"]}), {}, "no column 'state'"),
    ],
)
def test_what_cannot_be_refined_is_refused(given: Any, how: dict[str, Any], word: str) -> None:
    with pytest.raises(vw.VeilwalkError, match=word):
        CELL.refine(given, **how)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(vw.ParameterError, match="inference needs what was observed"):
        TIGHT.refine([["B"]])
    with pytest.raises(vw.WalkError, match="one observation"):
        TIGHT.refine([["B", "B"]], observed=[["B"]])
    with pytest.raises(vw.WalkError, match="no column 'observed'"):
        TIGHT.refine(pl.DataFrame({"trajectory": ["a"], "state": ["B"]}))
    for how, word in (
        ({"what": "all"}, "what"),
        ({"interval": 95}, "interval"),
        ({"strength": -1}, "strength"),
    ):
        with pytest.raises(vw.ParameterError, match=word):
            CELL.estimate([["B"]], **how)
    with pytest.raises(vw.WalkError, match="no walks"):
        CELL.estimate([])


def test_estimates_are_plotted_with_their_intervals() -> None:
    pytest.importorskip("matplotlib")
    m = vw.Mechanism("cell", vw.Chain.credit(), epsilon=3, radius=3.5)
    released = m.privatize(vw.Chain.credit().sample(30, 10, seed=1), seed=2)
    axes = m.plot_estimate(released, replicates=10, shown=4).axes[0]
    assert len(axes.patches) == 4
    assert len(axes.get_lines()) == 4
    moves = m.plot_estimate(released, what="moves", interval=None, shown=3).axes[0]
    assert len(moves.get_lines()) == 0
    assert "→" in moves.get_yticklabels()[0].get_text()
    with pytest.raises(vw.ParameterError, match="no shares"):
        m.plot_estimate(released, what="chain")


def test_posteriors_are_those_of_hmmlearn() -> None:
    """A hidden Markov model with the same three laws, by a library of others."""
    from hmmlearn.hmm import CategoricalHMM

    states = CREDIT.states
    peer = CategoricalHMM(n_components=len(states))
    peer.n_features = len(states)
    peer.startprob_ = np.array([CREDIT.initial.get(state, 0.0) for state in states])
    peer.transmat_ = np.array([[CREDIT.row(one).get(other, 0.0) for other in states] for one in states])
    laws = [TIGHT.kernel(previous=real, real=real) for real in states]
    peer.emissionprob_ = np.array([[law.get(state, 0.0) for state in states] for law in laws])
    released, observed = TIGHT.privatize(WALKS, observed=True, seed=4)
    _, likely = TIGHT.refine(released, observed=observed, posterior=True, above=0.0)
    found = np.zeros((len(WALKS), len(WALKS[0]), len(states)))
    for row in likely:
        found[row["trajectory"], row["step"], states.index(row["state"])] = row["probability"]
    for number, walk in enumerate(observed):
        expected = peer.predict_proba(np.array([[states.index(state)] for state in walk]))
        assert np.allclose(found[number], expected, rtol=1e-9, atol=1e-12), number


def test_several_releases_are_learned_from_together(credit: vw.Chain) -> None:
    """Two releases by one mechanism are one larger release; by two mechanisms they say more than either."""
    real = credit.sample(300, 15, start="B", seed=3)
    tight = vw.Mechanism("tight", credit, epsilon=2, radius=3.5)
    released, observed = tight.privatize(real, observed=True, seed=4)
    halves = [(tight, released[k::2], observed[k::2]) for k in (0, 1)]
    together = vw.estimate(halves, what="moves", interval=None)
    alone = tight.estimate(
        released[0::2] + released[1::2], observed=observed[0::2] + observed[1::2], what="moves", interval=None
    )
    assert [row["from"] for row in together] == [row["from"] for row in alone]
    for ours, theirs in zip(together, alone, strict=True):
        assert ours["share"] == pytest.approx(theirs["share"], abs=1e-9)
    cell = vw.Mechanism("cell", credit, epsilon=4, radius=3.5)
    frame = pd.DataFrame(
        [(name, state) for name, walk in enumerate(real) for state in walk], columns=["trajectory", "state"]
    )
    both = vw.estimate([(cell, cell.privatize(frame, seed=5)), (tight, tight.privatize(frame, seed=6))])
    assert isinstance(both, pd.DataFrame)
    assert list(both.columns) == ["state", "share", "low", "high"]
    learned = vw.estimate(halves, what="chain")
    assert learned.states == credit.states
    other = vw.Mechanism("cell", vw.Chain.downtown(), epsilon=4, radius=3.5)
    for wrong, word in [
        ([], "there are none"),
        ([(tight,)], "release 0: give a pair"),
        ([("tight", released)], "release 0: give a pair"),
        ([*halves, (other, [["x"]])], "release 2: its mechanism is on another chain"),
    ]:
        with pytest.raises(vw.ParameterError, match=word):
            vw.estimate(wrong)  # type: ignore[arg-type]
    with pytest.raises(vw.WalkError, match="release 1, walk 0"):
        vw.estimate([(cell, cell.privatize(real, seed=1)), (cell, [["Aaa", "Def", "Aaa"]])])
