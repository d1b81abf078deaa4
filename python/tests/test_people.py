"""Promises in people's words: stays, and persons with several walks."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import KEY, WALKS

import veilwalk as vw

OWNERS = {"north": "ann", "south": "bob", "east": "ann", "12": "ann"}
TOLD = r"2 persons have up to 3 walks. The promise is for each walk, .* with 3 walks, epsilon 6 in all"


def long_rows(library: Any) -> Any:
    rows = [(name, OWNERS[name], state) for name, walk in WALKS.items() for state in walk]
    columns = dict(zip(("trajectory", "who", "state"), map(list, zip(*rows, strict=True)), strict=True))
    return library(columns)


def listed(library: Any) -> Any:
    names = list(WALKS)
    return library(
        {"trajectory": names, "who": [OWNERS[name] for name in names], "state": list(WALKS.values())}
    )


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("form", [long_rows, listed])
def test_a_column_says_whose_walk_it_is(library: Any, form: Any, sharp: vw.Mechanism, tmp_path: Path) -> None:
    table = form(library)
    with pytest.warns(vw.PrivacyWarning, match=TOLD):
        released = sharp.privatize(table, person="who", ledger=tmp_path / "ledger")
    assert vw.Ledger(tmp_path / "ledger").spent() == {"ann": 6, "bob": 2}
    columns = list(getattr(released, "column_names", None) or released.columns)
    assert "who" not in columns, "whose walk it is is not released"


@pytest.mark.parametrize(
    ("walks", "person"),
    [
        (WALKS, OWNERS),
        (WALKS, list(OWNERS.values())),
        (list(WALKS.values()), list(OWNERS.values())),
        (tuple(WALKS.values()), np.array(list(OWNERS.values()))),
        (long_rows(pl.DataFrame), OWNERS),
        (long_rows(pd.DataFrame), list(OWNERS.values())),
        (listed(pa.table), {**OWNERS, "of another file": "eve"}),
        (listed(pl.DataFrame).drop("trajectory"), "who"),
    ],
)
def test_without_a_ledger_it_is_said_what_persons_lose(
    walks: Any, person: object, sharp: vw.Mechanism
) -> None:
    with pytest.warns(vw.PrivacyWarning, match=TOLD):
        sharp.privatize(walks, person=person)


@pytest.mark.filterwarnings("error:person")
def test_nothing_is_said_where_everybody_has_one_walk(sharp: vw.Mechanism) -> None:
    sharp.privatize(WALKS, person=range(len(WALKS)))
    sharp.privatize([["B", "Caa"]], person=["ann"], names=["x"], key=KEY)


def test_what_is_no_person_is_refused(sharp: vw.Mechanism, tmp_path: Path) -> None:
    long = long_rows(pl.DataFrame)
    for walks, person, error, words in [
        (long, "whom", vw.WalkError, "no column 'whom' for person="),
        (WALKS, "who", vw.ParameterError, "no table"),
        (WALKS, {"north": "ann"}, vw.ParameterError, "whose walk 'south' is"),
        (list(WALKS.values()), OWNERS, vw.ParameterError, "walks that have names"),
        (WALKS, ["ann"], vw.ParameterError, "1 entries for 4 walks"),
        (long, ["ann"], vw.ParameterError, "1 entries for 4 walks"),
        (WALKS, 3, vw.ParameterError, "person: a int"),
        (long.with_columns(who=pl.lit(None)), "who", vw.WalkError, "row 0: a missing value"),
        (
            long.with_columns(who=pl.int_range(long.height)),
            "who",
            vw.WalkError,
            "'north' belongs to 0 and to 1; a walk has one person",
        ),
    ]:
        path = tmp_path / "ledger"
        with pytest.raises(error, match=words):
            sharp.privatize(walks, person=person, ledger=path)
        assert not path.exists(), "nobody was charged"


def test_a_guarantee_for_a_person(sharp: vw.Mechanism, command_json: Callable[..., dict[str, Any]]) -> None:
    said = sharp.guarantee(walks_per_person=5, attack=False)
    assert str(said).endswith("with 5 walks, epsilon 10 in all.")
    promise = ("guarantee", "--chain", "credit", "--mechanism", "sharp", "--epsilon", 2, "--radius", 3.5)
    by_command = command_json(*promise, "--walks-per-person", 5)
    assert said.to_dict()["person"] == by_command["person"]
    assert by_command["person"] | {"in_words": ""} == {"walks": 5, "epsilon": "10", "in_words": ""}
    assert "person" not in sharp.guarantee().to_dict()
    with pytest.raises(vw.ParameterError, match="walks_per_person"):
        sharp.guarantee(walks_per_person=0)


def test_a_manifest_says_that_losses_add_up(sharp: vw.Mechanism, tmp_path: Path) -> None:
    path = tmp_path / "released.csv"
    sharp.privatize(long_rows(pl.DataFrame)).write_csv(path)
    said = sharp.write_manifest(path, randomness="system", walks_per_person=3)
    assert said["persons"] == {"losses_add_up": True, "most_walks": 3}
    said = sharp.write_manifest(path, randomness="system", walks_per_person="withheld")
    assert said["persons"] == {"losses_add_up": True}
    assert vw.verify(path, sharp.chain)["persons"] == said["persons"]
    assert "persons" not in sharp.write_manifest(path, randomness="system")
    with pytest.raises(vw.ParameterError, match="walks_per_person"):
        sharp.write_manifest(path, randomness="system", walks_per_person=0)


def test_a_visit_is_so_many_substitutions(
    credit: vw.Chain, command_json: Callable[..., dict[str, Any]]
) -> None:
    m = vw.Mechanism("chen", credit, epsilon=2, visit="2h", every="5m")
    assert (m.substitutions, m.visit, m.every) == (24, "2h", "5m")
    assert m == vw.Mechanism("chen", credit, epsilon=2, substitutions=24)
    said = m.guarantee()
    assert str(said).startswith("Any one stay of up to 2h can be replaced by anything else")
    promise = ("guarantee", "--chain", "credit", "--mechanism", "chen", "--epsilon", 2)
    by_command = command_json(*promise, "--visit", "2h", "--every", "5m")
    assert said.to_dict()["visit"] == by_command["visit"]
    again = pickle.loads(pickle.dumps(m))
    assert (again.visit, again) == ("2h", m)
    plain = vw.Mechanism("chen", credit, epsilon=2, substitutions=24)
    assert (plain.visit, plain.every) == (None, None)
    assert "visit" not in plain.guarantee().to_dict()
    assert json.loads(json.dumps(said.to_dict())) == said.to_dict()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"visit": "2h"}, "give both visit="),
        ({"every": "5m"}, "give both visit="),
        ({"visit": "2 weeks", "every": "5m"}, "visit: .*not a span of time"),
        ({"visit": "2h", "every": "0m"}, "every: .*not a span of time"),
        ({"visit": 120, "every": "5m"}, "visit: 120 is not a string"),
        ({"visit": "2h", "every": "5m", "radius": 1}, "without radius="),
        ({"visit": "2h", "every": "5m", "substitutions": 1}, "without radius="),
        ({"visit": "99999999999d", "every": "1s"}, "more states than can be counted"),
    ],
)
def test_what_is_no_visit_is_refused(more: dict[str, Any], words: str, credit: vw.Chain) -> None:
    with pytest.raises(vw.ParameterError, match=words):
        vw.Mechanism("chen", credit, epsilon=2, **more)
