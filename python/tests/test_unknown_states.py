"""States that the chain does not have: refused, left out, or taken as a state of the chain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veilwalk as vw

WALKS = {"a": ["Baa", "Zzz", "Ba", "Yyy", "B"], "b": ["Zzz"], "c": ["Caa", "B"]}
KNOWN = {name: [state for state in walk if state not in ("Zzz", "Yyy")] for name, walk in WALKS.items()}


def instead(state: str) -> dict[str, list[str]]:
    """The same walks with a state of the chain in the place of unknown ones."""
    return {name: [s if s not in ("Zzz", "Yyy") else state for s in walk] for name, walk in WALKS.items()}


def long(walks: dict[str, list[str]]) -> dict[str, list[str]]:
    return {
        "trajectory": [name for name, walk in walks.items() for _ in walk],
        "state": [state for walk in walks.values() for state in walk],
    }


def categories(walks: dict[str, list[str]]) -> pd.DataFrame:
    return pd.DataFrame(long(walks)).astype({"state": "category"})


def listed(walks: dict[str, list[str]]) -> dict[str, list[Any]]:
    return {"trajectory": list(walks), "state": list(walks.values())}


def rows(table: Any) -> list[tuple[Any, ...]]:
    """The rows of a released table of any library."""
    if isinstance(table, pd.DataFrame):
        return list(table.itertuples(index=False, name=None))
    if isinstance(table, pl.DataFrame):
        return table.rows()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


MAKERS: list[Callable[[dict[str, list[str]]], Any]] = [
    lambda walks: pd.DataFrame(long(walks)),
    categories,
    lambda walks: pl.DataFrame(long(walks)),
    lambda walks: pl.DataFrame(long(walks)).with_columns(pl.col("state").cast(pl.Categorical)),
    lambda walks: pa.table(long(walks)),
]
LISTS: list[Callable[[dict[str, list[str]]], Any]] = [
    lambda walks: pl.DataFrame(listed(walks)),
    lambda walks: pa.table(listed(walks)),
    lambda walks: pd.DataFrame(listed(walks)),
]

pytestmark = pytest.mark.filterwarnings("ignore::veilwalk.PrivacyWarning")


@pytest.mark.parametrize("make", [*MAKERS, *LISTS])
def test_a_state_is_taken_instead_in_tables(make: Any, sharp: vw.Mechanism) -> None:
    with pytest.raises(vw.WalkError, match="Zzz"):
        sharp.privatize(make(WALKS))
    expected = sharp.privatize(make(instead("Def")), seed=3)
    found = sharp.privatize(make(WALKS), seed=3, unknown_state="Def")
    assert list(map(repr, rows(found))) == list(map(repr, rows(expected)))


@pytest.mark.parametrize("make", MAKERS)
def test_rows_are_left_out_of_tables(make: Any, sharp: vw.Mechanism) -> None:
    expected = sharp.privatize(make(KNOWN), seed=3)
    found = sharp.privatize(make(WALKS), seed=3, unknown_state="skip")
    assert rows(found) == rows(expected)
    if isinstance(found, pd.DataFrame):
        assert list(found.index) == list(range(5)), "an index with gaps would show what is missing"
    nothing = sharp.privatize(make({"b": ["Zzz", "Yyy"]}), unknown_state="skip")
    assert len(rows(nothing)) == 0


@pytest.mark.parametrize("make", LISTS)
def test_states_are_left_out_of_lists_in_tables(make: Any, sharp: vw.Mechanism) -> None:
    expected = sharp.privatize(make(KNOWN), seed=3)
    found = sharp.privatize(make(WALKS), seed=3, unknown_state="skip")
    assert list(map(repr, rows(found))) == list(map(repr, rows(expected)))
    assert [len(states) for _, states in rows(found)] == [3, 0, 2]


def test_lists_arrays_and_columns(sharp: vw.Mechanism) -> None:
    def release(walks: Any, **how: Any) -> Any:
        return sharp.privatize(walks, seed=3, **how)

    assert release(WALKS, unknown_state="Def") == release(instead("Def"))
    assert release(WALKS, unknown_state="skip") == release(KNOWN)
    assert release(WALKS["a"], unknown_state="skip") == release(KNOWN["a"])
    texts, known = np.array(WALKS["a"]), np.array(KNOWN["a"])
    assert list(release(texts, unknown_state="skip")) == list(release(known))
    for series in (pd.Series, pl.Series, pa.array):
        found, expected = release(series(WALKS["a"]), unknown_state="skip"), release(series(KNOWN["a"]))
        assert list(found) == list(expected)
        assert len(release(series(["Zzz"]), unknown_state="skip")) == 0
    numbers = np.array([3, 99, 4, -1])
    by_number: dict[str, Any] = {"states": "numbers", "unknown_state": "Def"}
    place = vw.Chain.credit().states.index("Def")
    expected = release(np.array([3, place, 4, place]), states="numbers")
    assert list(release(numbers, **by_number)) == list(expected)
    skipped = release(numbers, states="numbers", unknown_state="skip")
    assert list(skipped) == list(release(np.array([3, 4]), states="numbers"))
    square = np.array([[3, 99], [4, 4]])
    assert release(square, **by_number).shape == (2, 2)
    with pytest.raises(vw.ParameterError, match="one length"):
        release(square, states="numbers", unknown_state="skip")
    fixed = pa.array([["Baa", "Zzz"]], pa.list_(pa.string(), 2))
    with pytest.raises(vw.WalkError, match="fixed length"):
        release(fixed, unknown_state="skip")
    assert len(release(fixed, unknown_state="B")) == 1


def test_what_would_show_the_gaps_is_refused(sharp: vw.Mechanism) -> None:
    table = pl.DataFrame(long(WALKS)).with_columns(day=pl.lit("Monday"), step=pl.int_range(8))
    with pytest.raises(vw.ParameterError, match="day that are missing would show"):
        sharp.privatize(table.drop("step"), keep=["day"], unknown_state="skip")
    with pytest.raises(vw.ParameterError, match="give step=None"):
        sharp.privatize(table, unknown_state="skip")
    assert sharp.privatize(table, unknown_state="skip", step=None)["step"].to_list() == [0, 1, 2, 0, 1]
    assert len(sharp.privatize(table, keep=["day"], unknown_state="B")) == 8
    # What is no state at all is refused in any case.
    for how in ("skip", "B"):
        with pytest.raises(vw.WalkError, match="missing value"):
            sharp.privatize(
                pl.DataFrame({"trajectory": ["a"], "state": pl.Series([None], dtype=pl.String)}),
                unknown_state=how,
            )
        with pytest.raises(vw.WalkError, match="a value of type float"):
            sharp.privatize([["Baa", 1.5]], unknown_state=how)
    with pytest.raises(vw.ParameterError, match=r"unknown_state.*not a state"):
        sharp.privatize(WALKS, unknown_state="Zzz")


@pytest.mark.filterwarnings("default::veilwalk.PrivacyWarning")
def test_warnings_say_what_shows_and_what_is_not_covered(credit: vw.Chain, sharp: vw.Mechanism) -> None:
    every = vw.Mechanism("chen", credit, epsilon=1, substitutions=1)
    with pytest.warns(vw.PrivacyWarning, match="depends on what was left out") as told:
        every.privatize(WALKS, unknown_state="skip")
    assert len(told) == 1
    for release in (lambda: sharp.privatize(KNOWN), lambda: sharp.session(), lambda: sharp.session(block=2)):
        with pytest.warns(vw.PrivacyWarning, match=r"only 6 of 9 states \(66.6 %\)"):
            release()


def test_words_that_are_states(tmp_path: Path) -> None:
    chain = vw.Chain.from_transitions([("skip", "error", 1), ("error", "skip", 0.5), ("error", "error", 0.5)])
    m = vw.Mechanism("chen", chain, epsilon=1, substitutions=1)
    assert len(m.privatize(["skip", "Zzz"], unknown_state="skip")) == 1
    assert len(m.privatize(["skip", "Zzz"], unknown_state="state:skip")) == 2
    with pytest.raises(vw.WalkError):
        m.privatize(["skip", "Zzz"], unknown_state="error")


def test_sessions_take_a_state_instead(sharp: vw.Mechanism) -> None:
    def follow(walk: list[str], **how: Any) -> list[Any]:
        session = sharp.session(seed=3, **how)
        return [session.start(walk[0]), *(session.step(state) for state in walk[1:])]

    assert follow(WALKS["a"], unknown_state="Def") == follow(instead("Def")["a"])
    blocks = sharp.session(block=2, unknown_state="Def")
    pushed = [len(blocks.push(state)) for state in WALKS["a"]]
    assert sum(pushed) + len(blocks.finish()) == len(WALKS["a"]) == 5
    with pytest.raises(vw.WalkError, match="Zzz"):
        follow(WALKS["a"])
    with pytest.raises(vw.ParameterError, match="answers every state"):
        sharp.session(unknown_state="skip")
    with pytest.raises(vw.ParameterError, match="answers every state"):
        sharp.session(unknown_state="skip", block=2)


def test_analyses_and_manifests(sharp: vw.Mechanism, tmp_path: Path) -> None:
    found = sharp.analyze(real=WALKS, unknown_state="Def")
    assert found.mean_distance == sharp.analyze(real=instead("Def")).mean_distance
    skipped = sharp.analyze(real=WALKS, unknown_state="skip")
    assert skipped.mean_distance == sharp.analyze(real=KNOWN).mean_distance
    path = tmp_path / "released.csv"
    sharp.privatize(pl.DataFrame(long(WALKS)), unknown_state="skip").write_csv(path)
    assert sharp.write_manifest(path, randomness="system", unknown_state="skip")["unknown_states"] == "skip"
    with pytest.warns(vw.PrivacyWarning, match="lengths of walks depend"):
        vw.verify(path, sharp.chain)
    with pytest.raises(vw.ParameterError, match="does not go with keep"):
        sharp.write_manifest(path, randomness="system", unknown_state="skip", keep=["day"])


def test_a_walk_that_vanishes_is_not_charged(sharp: vw.Mechanism, tmp_path: Path) -> None:
    ledger = tmp_path / "spent"
    sharp.privatize(WALKS, unknown_state="skip", ledger=ledger)
    sharp.privatize(pl.DataFrame(long(WALKS)), unknown_state="skip", ledger=ledger)
    sharp.privatize(pl.DataFrame(listed(WALKS)), unknown_state="skip", ledger=ledger)
    assert vw.Ledger(ledger).spent() == {"a": 6, "c": 6}
