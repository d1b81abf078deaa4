"""Chains that may be published."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import veilwalk as vw

WALKS = [["a", "b", "a"], ["b", "c", "a"], ["a", "a", "b"]]
EDGES = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")]
ASKED = {"epsilon": 1, "max_moves": 2, "edges": EDGES}


def fitted(walks: object = WALKS, person: object = ("ann", "ann", "bob"), **more: object) -> vw.Chain:
    return vw.Chain.fit(walks, person=person, **{**ASKED, **more})  # type: ignore[arg-type]


def test_walks_of_every_kind_are_the_same_rows() -> None:
    with pytest.warns(vw.PrivacyWarning, match="NOT private"):
        chain = fitted(seed=3)
    assert chain.states == ["a", "b", "c"]
    assert chain.transitions == 5
    rows = [
        (i, who, s) for i, (w, who) in enumerate(zip(WALKS, ["ann", "ann", "bob"], strict=True)) for s in w
    ]
    columns = {"trajectory": [r[0] for r in rows], "who": [r[1] for r in rows], "state": [r[2] for r in rows]}
    named = dict(enumerate(WALKS))
    for walks, person in [
        (pd.DataFrame(columns), "who"),
        (pl.DataFrame(columns), "who"),
        (named, {0: "ann", 1: "ann", 2: "bob"}),
        ([np.array(w) for w in WALKS], np.array(["ann", "ann", "bob"])),
    ]:
        with pytest.warns(vw.PrivacyWarning):
            found = fitted(walks, person, seed=3)
        assert found == chain
    with pytest.warns(vw.PrivacyWarning):
        other = fitted(seed=4)
    assert other != chain


def test_noise_is_new_every_time_and_starts_have_a_share() -> None:
    # Two fits of so few persons may be alike by chance; forty are not.
    first = fitted()
    assert any(fitted() != first for _ in range(40))
    assert any(fitted(starts=0.5).initial != first.initial for _ in range(40))
    assert fitted(starts=0.5, initial="a").initial["a"] == 1.0
    credit = vw.Chain.credit()
    walks = credit.sample(2000, 20, seed=1)
    near = vw.Chain.fit(walks, epsilon=4, person=range(2000), max_moves=20, edges=credit)
    assert near.states == credit.states
    assert abs(near.row("Def")["Def"] - credit.row("Def")["Def"]) < 0.02


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"max_moves": None}, "max_moves="),
        ({"edges": None}, "edges="),
        ({"person": None}, "person="),
        ({"person": ["ann"]}, "1 entries for 3 walks"),
        ({"person": "who"}, "no table"),
        ({"person": {}}, "a dict of walks"),
        ({"person": 3}, "person: a int"),
        ({"max_moves": 0}, "max_moves"),
        ({"epsilon": "one"}, "not a number"),
        ({"epsilon": 0}, "too little"),
        ({"starts": 1}, "starts: the share of epsilon"),
        ({"floor": 0}, "floor"),
        ({"restart": True}, "restart"),
        ({"edges": [("a", "b", 1)]}, "pair of states"),
        ({"edges": [("a", "b")]}, "no way out"),
    ],
)
def test_what_cannot_be_is_refused(more: dict[str, object], words: str) -> None:
    with pytest.raises(vw.VeilwalkError, match=words):
        fitted(**more)
    with pytest.raises(vw.ParameterError, match="give epsilon="):
        vw.Chain.fit(WALKS, max_moves=3)


def test_a_walk_has_one_person() -> None:
    frame = pd.DataFrame({"trajectory": [1, 1], "who": ["ann", "bob"], "state": ["a", "b"]})
    with pytest.raises(vw.WalkError, match="several persons"):
        fitted(frame, "who")


def test_trips_have_starts_lengths_and_ends() -> None:
    """With next to no noise, what is made up starts, ends and lasts as the walks did."""
    chain = vw.Chain.downtown()
    start, end = chain.states[3], chain.states[10]
    drawn = chain.sample(4000, 12, start=start, seed=1)
    walks = [walk[:9] if number % 2 else walk for number, walk in enumerate(drawn)]
    with pytest.warns(vw.PrivacyWarning, match="NOT private"):
        trips = vw.Chain.fit_trips(
            walks, epsilon=4000, person=range(4000), max_moves=12, edges=chain, longest_walk=20, seed=1
        )
    assert trips.ends is not None
    assert abs(trips.lengths[8] - 0.5) < 0.01
    assert abs(trips.lengths[12] - 0.5) < 0.01
    last = sum(walk[-1] == end for walk in walks) / len(walks)
    assert abs(trips.ends[end] - last) < 0.01
    made = trips.sample(2000, seed=2)
    assert made == trips.sample(2000, seed=2)
    assert sum(walk[0] == start for walk in made) > 1900
    assert {len(walk) - 1 for walk in made} >= {8, 12}
    assert abs(sum(walk[-1] == end for walk in made) / 2000 - last) < 0.05
    no_ends = vw.Chain.fit_trips(
        walks, epsilon=4, person=range(4000), max_moves=12, edges=chain, longest_walk=20, ends=None
    )
    assert no_ends.ends is None
    assert all(walk for walk in no_ends.sample(10, seed=1))


def test_trips_that_cannot_be_fitted_are_refused() -> None:
    chain = vw.Chain.credit()
    walks = chain.sample(10, 5, seed=1)
    of: dict[str, Any] = {
        "epsilon": 1,
        "person": range(10),
        "max_moves": 5,
        "edges": chain,
        "longest_walk": 9,
    }
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({"longest_walk": 0}, "longest_walk"),
        ({"ends": "0.9"}, "ends|share"),
        ({"lengths": 2}, "lengths"),
        ({"max_moves": 0}, "max_moves"),
        ({"epsilon": -1}, "negative"),
    ]
    for wrong, word in wrongs:
        with pytest.raises((vw.ParameterError, vw.VeilwalkError), match=word):
            vw.Chain.fit_trips(walks, **(of | wrong))
    with pytest.raises(vw.ParameterError, match="lengths"):
        vw.Trips(chain, None, [0.5, 0.2]).sample(3)


def test_even_chains() -> None:
    even = vw.Chain.even(vw.Chain.credit())
    assert even.states == vw.Chain.credit().states
    for state in even.states:
        row = even.row(state)
        assert len(set(row.values())) == 1
        assert row.keys() == vw.Chain.credit().row(state).keys()
    assert vw.Chain.even(states=["a", "b"]).row("a") == {"a": 0.5, "b": 0.5}
    for wrong in ({}, {"edges": [("a", "a")], "states": ["a"]}):
        with pytest.raises(vw.ParameterError, match="one of them"):
            vw.Chain.even(**wrong)  # type: ignore[arg-type]
    said = vw.Mechanism("tight", even, epsilon=4, substitutions=1).guarantee()
    assert said.attacker is not None
    assert "learn from many releases" in said.attacker["in_words"]
