"""Releases in blocks: the same from Rust, the command line and Python, in every kind of table."""

from __future__ import annotations

import csv
import io
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import ID, KEY, WALKS

import veilwalk as vw

Json = Callable[..., dict[str, Any]]
PROMISE = ["--chain", "credit", "--epsilon", 2, "--radius", 3.5]
BLOCKS: list[Any] = [1, 3, "all"]


@pytest.fixture(scope="module")
def auto(credit: vw.Chain) -> vw.Mechanism:
    return vw.Mechanism("auto", credit, epsilon=2, radius=3.5)


@pytest.mark.parametrize("name", ["auto", "sharp", "exponential", "cell"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.filterwarnings("ignore:block. cells")
def test_the_command_line_releases_the_same(
    name: str, block: Any, credit: vw.Chain, command: Callable[..., str], tmp_path: Path
) -> None:
    m = vw.Mechanism(name, credit, epsilon=2, radius=3.5)
    released = m.privatize(WALKS, key=KEY, release_id=ID, block=block)
    walks, key = tmp_path / "walks.csv", tmp_path / "key"
    rows = ["trajectory,state"] + [f"{t},{s}" for t, walk in WALKS.items() for s in walk]
    walks.write_text("\n".join(rows) + "\n")
    key.write_bytes(KEY)
    words = ["--mechanism", name, "--block", block, "--key-file", key, "--release-id", ID]
    by_command: dict[str, list[str]] = {}
    for row in csv.DictReader(io.StringIO(command("privatize", walks, *PROMISE, *words))):
        by_command.setdefault(row["trajectory"], []).append(row["state"])
    assert by_command == released


@pytest.mark.parametrize("block", [1, 2, 5, "all"])
def test_sessions_release_the_same(block: Any, auto: vw.Mechanism) -> None:
    released = auto.privatize(WALKS, key=KEY, release_id=ID, block=block)
    for name, walk in WALKS.items():
        s = auto.session(name=name, key=KEY, release_id=ID, block=block)
        parts = [s.push(state) for state in walk]
        at_once = 1 if block == 1 else 0
        assert parts[0] == released[name][:at_once], "the first state belongs to the first block"
        assert s.released + s.waiting == len(walk)
        online = [*itertools.chain.from_iterable(parts), *s.finish()]
        assert online == released[name]
        assert s.closed


def test_a_session_is_saved_between_blocks_only(auto: vw.Mechanism) -> None:
    walk = WALKS["12"]
    whole = auto.privatize({"12": walk}, key=KEY, release_id=ID, block=3)["12"]
    s = auto.session(name="12", key=KEY, release_id=ID, block=3)
    before = [x for state in walk[:3] for x in s.push(state)]
    assert s.waiting == 0
    again = vw.Session.from_bytes(s.to_bytes(), auto, name="12", key=KEY, release_id=ID, block=3)
    rest = [x for state in walk[3:] for x in again.push(state)]
    assert before + rest + again.finish() == whole
    s.push("B")
    with pytest.raises(vw.SessionError, match="real states are not saved"):
        s.to_bytes()
    with pytest.raises(vw.SessionError):
        vw.Session.from_bytes(b"nonsense", auto, name="12", key=KEY, release_id=ID, block=3)
    with pytest.raises(vw.WalkError, match="not a state"):
        s.push("Zzz")
    assert s.waiting == 1, "a state that is refused changes nothing"
    s.close()
    for call in (s.finish, s.to_bytes, lambda: s.push("B"), lambda: s.waiting, lambda: s.last):
        with pytest.raises(vw.SessionError, match="closed"):
            call()


@pytest.mark.parametrize("block", [2, "all"])
def test_every_kind_of_table(block: Any, auto: vw.Mechanism) -> None:
    expected = auto.privatize(WALKS, key=KEY, release_id=ID, block=block)
    rows = [(name, step, s) for name, walk in WALKS.items() for step, s in enumerate(walk)]
    # Rows of different walks alternate; they stay where they are.
    rows.sort(key=lambda row: (row[1], row[0]))
    long = {"trajectory": [r[0] for r in rows], "step": [r[1] for r in rows], "state": [r[2] for r in rows]}
    wanted = [expected[name][step] for name, step, _ in rows]
    for table in (pl.DataFrame(long), pd.DataFrame(long), pa.table(long)):
        released = auto.privatize(table, key=KEY, release_id=ID, block=block)
        assert list(map(str, released["state"])) == wanted
    lists = pl.DataFrame({"trajectory": list(WALKS), "state": list(WALKS.values())})
    assert auto.privatize(lists, key=KEY, release_id=ID, block=block)["state"].to_list() == list(
        expected.values()
    )
    places = np.array([[auto.chain.states.index(s) for s in WALKS["12"]]])
    released = auto.privatize(places, key=KEY, release_id=ID, block=block, states="numbers", names=["12"])
    assert [auto.chain.states[n] for n in released[0]] == expected["12"]


@pytest.mark.parametrize("block", BLOCKS)
def test_guarantees(block: Any, auto: vw.Mechanism, command_json: Json) -> None:
    g = auto.guarantee(block=block)
    assert g.to_dict() == command_json("guarantee", *PROMISE, "--block", block)
    assert "blocks of" in repr(g) or "whole walks" in repr(g)
    assert "Loss of replacing one state" in g._repr_html_()
    assert (g.rounding_cost == 0) == (block == 1)
    assert g.substitution_loss > 0


def test_analyses(auto: vw.Mechanism, command_json: Json, tmp_path: Path) -> None:
    found = auto.analyze(steps=20, simulate=50, seed=3, block=5)
    words = ["--steps", 20, "--simulate", 50, "--seed", 3, "--by-step", "--block", 5]
    assert found.to_dict() == command_json("analyze", *PROMISE, *words)
    assert not found.exact
    assert "simulated" in repr(found)
    assert 0 < found.wrong_states < 1
    assert found._repr_html_()
    with pytest.raises(vw.ParameterError, match="give real walks"):
        _ = found.distance_by_step
    walks = list(WALKS.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vw.PrivacyWarning)
        exact = auto.analyze(real=walks, block="all")
    assert exact.exact
    file = tmp_path / "walks.csv"
    rows = ["trajectory,state"] + [f"{t},{s}" for t, walk in WALKS.items() for s in walk]
    file.write_text("\n".join(rows) + "\n")
    printed = command_json("analyze", *PROMISE, "--real", file, "--block", "all", "--by-step")
    figures = exact.to_dict()
    assert figures.pop("real_walks").startswith("given")
    printed.pop("real_walks")
    assert figures == printed


def test_what_cannot_be_is_refused(credit: vw.Chain, auto: vw.Mechanism, tmp_path: Path) -> None:
    paper = vw.Mechanism("paper", credit, epsilon=2, radius=3.5)
    exact = vw.Mechanism("sharp", credit, epsilon=2, radius=3.5, calibrate="exact")
    flips = vw.Mechanism("sharp", credit, epsilon=2, radius=3.5, rule="permute-and-flip")
    auto.save(tmp_path / "m.json")
    tuned = vw.Mechanism.read(tmp_path / "m.json", credit)
    bad: list[tuple[vw.Mechanism, dict[str, Any], str]] = [
        (paper, {"block": 5}, "permute-and-flip rule"),
        (exact, {"block": 5}, "one state at a time"),
        (flips, {"block": 5}, "exponential rule"),
        (tuned, {"block": 5}, "tuned for one state at a time"),
        (auto, {"block": 0}, "from 1 up"),
        (auto, {"block": "ALL"}, "from 1 up"),
        (auto, {"block": 2.5}, "from 1 up"),
        (auto, {"block": True}, "from 1 up"),
        (auto, {"longest_walk": 5}, "goes with block"),
        (auto, {"block": 3, "longest_walk": 5}, "goes with block"),
        (auto, {"block": "all", "longest_walk": 0}, "longest_walk"),
        (auto, {"block": "all", "longest_walk": 5}, 'walk "north": more than 5 steps'),
    ]
    for m, how, message in bad:
        with pytest.raises(vw.VeilwalkError, match=message):
            m.privatize(WALKS, key=KEY, release_id=ID, **how)
    # Before anything is charged; the first state counts where it belongs to the block.
    ledger = vw.Ledger(tmp_path / "ledger")
    with pytest.raises(vw.WalkError, match="more than 2 steps"):
        auto.privatize({"a": ["B"], "b": ["B"] * 3}, block="all", longest_walk=2, ledger=ledger)
    assert not (tmp_path / "ledger").exists()
    auto.privatize({"b": ["B"] * 3}, block="all", longest_walk=2, ledger=ledger, start="initial")
    s = auto.session(block="all", longest_walk=2)
    for _ in range(2):
        s.push("B")
    with pytest.raises(vw.SessionError, match="more than 2 steps"):
        s.push("B")
    assert len(s.finish()) == 2
    # A first state that is not looked at, or shown, is no part of the block.
    blind = auto.session(block="all", longest_walk=2, start="initial")
    assert [len(blind.push("B")) for _ in range(3)] == [1, 0, 0]
    assert len(blind.finish()) == 2
    with pytest.warns(UserWarning, match="scale of the theorem"):
        vw.Mechanism("cell", credit, epsilon=2, radius=3.5).privatize(WALKS, block=2)
