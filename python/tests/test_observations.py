"""Mechanisms that draw observations: what was observed comes back beside the walk that is made of it."""

# mypy: disable-error-code="arg-type, call-overload"

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import ID, KEY, WALKS

import veilwalk as vw
from veilwalk.mechanism import remade

CREDIT = vw.Chain.credit()
TIGHT = vw.Mechanism("tight", CREDIT, epsilon=2, radius=3.5)
BELIEVED = vw.Mechanism("believed", CREDIT, epsilon=2, radius=3.5)
LAGGED = vw.Mechanism("tight", CREDIT, epsilon=2, radius=3.5, lag=2)
COUNTED = vw.Mechanism("believed", CREDIT, epsilon=2, substitutions=1, believed_from="1/50", track="states")
OBSERVING = [TIGHT, BELIEVED, LAGGED, COUNTED]

observing = pytest.mark.parametrize("m", OBSERVING, ids=["tight", "believed", "lag", "counted"])


def rows(walks: dict[str, list[Any]]) -> list[tuple[str, int, Any]]:
    return [(name, step, state) for name, walk in walks.items() for step, state in enumerate(walk)]


LONG = dict(zip(("trajectory", "step", "state"), map(list, zip(*rows(WALKS), strict=True)), strict=True))
RUN: dict[str, Any] = {"key": KEY, "release_id": ID}


def as_walks(rows: Any) -> dict[str, list[Any]]:
    walks: dict[str, list[Any]] = {}
    for name, state in rows:
        walks.setdefault(name, []).append(state)
    return walks


# What is in force


@pytest.mark.parametrize("how", [{}, {"weights": "even"}, {"lag": 1}, {"lag": 2}])
def test_guarantees_say_what_the_command_says(how: dict[str, Any], command: Callable[..., str]) -> None:
    promise: list[object] = ["--chain", "credit", "--epsilon", 2, "--radius", 3.5]
    flags = [word for name, value in how.items() for word in (f"--{name}", value)]
    for name in ("tight", "believed"):
        if name == "believed" and "weights" in how:
            continue
        words = str(vw.Mechanism(name, CREDIT, epsilon=2, radius=3.5, **how).guarantee(attack=False))
        assert "What is released are observations\n" in words
        printed = command("guarantee", "--mechanism", name, *promise, *flags)
        # What an attacker guesses is left out.
        printed = re.sub(r"What somebody who knows the chain can guess\n(  .*\n)+\n?", "", printed)
        assert words.split() == printed.split()
    cell = str(vw.Mechanism("cell", CREDIT, epsilon=2, radius=3.5).guarantee())
    assert "observations" not in cell


def test_what_is_in_force() -> None:
    assert (TIGHT.candidates, TIGHT.weights, TIGHT.weights_found) == ("states", "tight", "solved")
    assert (TIGHT.track, TIGHT.typicality, TIGHT.lag) == ("distance", Fraction("0.01"), 0)
    assert TIGHT.believed_from is None
    assert (COUNTED.candidates, COUNTED.weights, COUNTED.weights_found) == ("believed", None, None)
    assert (COUNTED.track, COUNTED.believed_from) == ("states", Fraction("0.02"))
    even = vw.Mechanism("tight", CREDIT, epsilon=2, radius=3.5, weights="even")
    assert (even.weights, even.weights_found) == ("even", "even")
    assert even.name == "tight with all states, even weights"
    assert repr(LAGGED) == "Mechanism('tight', epsilon=2, radius=3.5, lag=2, on 9 states)"
    sharp = vw.Mechanism("sharp", CREDIT, epsilon=2, radius=3.5)
    assert (sharp.candidates, sharp.observes, sharp.lag, sharp.track) == ("moves", False, None, None)
    assert sharp.typicality is None
    # What only observations have makes `auto` choose them.
    for how, name in (({"lag": 3}, "tight"), ({"believed_from": 0.1}, "believed")):
        assert vw.Mechanism("auto", CREDIT, epsilon=2, radius=3.5, **how).name == name
    assert len({m.fingerprint for m in OBSERVING}) == 4


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"candidates": "all"}, r'candidates: "all" is not a kind of candidates'),
        ({"candidates": 1}, "candidates: 1 is not a string"),
        ({"weights": "even", "candidates": "believed"}, "weights= are for all states.*candidates="),
        ({"believed_from": 0.1, "candidates": "states"}, "believed_from= is for believed candidates"),
        ({"believed_from": 1.5}, "believed_from: "),
        ({"believed_from": -1}, "believed_from: "),
        ({"typicality": "much"}, "typicality: "),
        ({"track": "time"}, 'track: "time" is not a track aim'),
        ({"lag": -1}, "lag: -1"),
        ({"lag": 10_001}, "from 0 to 10000"),
        ({"lag": 10**30}, "from 0 to 10000"),
        ({"lag": 1, "candidates": "moves"}, "lag=: a mechanism that draws moves"),
        ({"candidates": "states", "distance": "hamming"}, "leave out distance="),
        ({"candidates": "states", "rule": "permute-and-flip"}, "leave out rule="),
        ({"candidates": "believed", "chain_weight": 1}, "leave out chain_weight="),
    ],
)
def test_errors_name_the_arguments(how: dict[str, Any], message: str) -> None:
    with pytest.raises(vw.ParameterError, match=message):
        vw.Mechanism("auto", CREDIT, epsilon=2, radius=3.5, **how)


@observing
def test_another_process_makes_the_same(m: vw.Mechanism) -> None:
    assert pickle.loads(pickle.dumps(m)).fingerprint == m.fingerprint
    # As it does of a mechanism that was read from a file, which has no name.
    epsilon, radius, substitutions, words = m._native.arguments
    words |= {"name": None, "distance": m.distance, "rule": m.rule, "chain_weight": "0"}
    words |= {"candidates": m.candidates, "weights": m.weights}
    nameless = (epsilon, radius, substitutions, words)
    again = remade(CREDIT, nameless, m.fingerprint, vw.__version__)
    assert pickle.loads(pickle.dumps(again)).fingerprint == m.fingerprint
    assert again.lag == m.lag


@observing
def test_promises(m: vw.Mechanism) -> None:
    assert m.guarantee().epsilon == 2
    assert m.audit(draws=20_000, seed=1).passed
    kernel = m.kernel(previous="Caa", real="Ca/C")
    assert sum(kernel.values()) == pytest.approx(1)
    if m.candidates == "states":
        assert set(kernel) == set(CREDIT.states), "not the moves from Caa alone"
    if m.radius is not None:
        assert m.privacy_map(7) == 4, "for every nat, beyond the radius too"
        assert m.loss("B", "Caa") <= 2 / 3.5 * CREDIT.distance("B", "Caa", symmetric=True) + 1e-12
    else:
        assert m.privacy_map(2) == 4
    with pytest.raises(vw.ParameterError, match="observations are not released in blocks; lag= waits"):
        m.privatize(WALKS, block=3)


# Walks in, walks out


@observing
def test_walks_come_back_with_what_was_observed(m: vw.Mechanism) -> None:
    released, observed = m.privatize(WALKS, observed=True, **RUN)
    assert released == m.privatize(WALKS, **RUN)
    assert list(observed) == list(WALKS)
    for name, walk in WALKS.items():
        assert len(observed[name]) == len(released[name]) == len(walk)
        assert set(observed[name]) <= set(CREDIT.states)
        assert all(b in CREDIT.row(a) for a, b in zip(released[name], released[name][1:], strict=False))
    states = {state for walk in observed.values() for state in walk}
    assert states != {"Aaa"}
    one, seen = m.privatize(WALKS["12"], observed=True, names=["12"], **RUN)
    assert (one, seen) == (released["12"], observed["12"])
    kinds: Any = (tuple(WALKS["12"]), WALKS["east"])
    both: Any = m.privatize(kinds, observed=True, names=["12", "east"], **RUN)
    for found, walks in zip(both, (released, observed), strict=True):
        assert found == (tuple(walks["12"]), walks["east"])
    for threads in (1, 2):
        assert m.privatize(WALKS, observed=True, threads=threads, **RUN) == (released, observed)


@observing
def test_arrays(m: vw.Mechanism) -> None:
    walk = WALKS["12"]
    expected = m.privatize(walk, observed=True, names=["12"], **RUN)
    for array in (np.array(walk), np.array([walk]), np.array(walk, dtype=object)):
        released = m.privatize(array, observed=True, names=["12"], **RUN)
        assert tuple(part.reshape(-1).tolist() for part in released) == expected
        assert [part.shape for part in released] == [array.shape] * 2
        assert len({part.dtype for part in released}) == 1
    numbers = np.array([CREDIT.states.index(state) for state in walk], dtype="int16")
    both = m.privatize(numbers, observed=True, names=["12"], states="numbers", **RUN)
    assert tuple([CREDIT.states[number] for number in part] for part in both) == expected
    assert [part.dtype for part in both] == [np.dtype("int16")] * 2
    nothing: Any
    for nothing in ([], (), np.array([], dtype="U1"), pl.Series([], dtype=pl.String)):
        assert [len(part) for part in m.privatize(nothing, observed=True)] == [0, 0]


def categorical(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({"state": "category"})


LONG_TABLES: list[Callable[[], Any]] = [
    lambda: pd.DataFrame(LONG),
    lambda: categorical(pd.DataFrame(LONG)),
    lambda: pd.DataFrame(LONG).astype({"state": pd.ArrowDtype(pa.string())}),
    lambda: pd.DataFrame(LONG).astype({"state": object}),
    lambda: pl.DataFrame(LONG),
    lambda: pl.DataFrame(LONG).cast({"state": pl.Categorical}),
    lambda: pl.DataFrame(LONG).cast({"state": pl.Enum(CREDIT.states)}),
    lambda: pa.table(LONG),
    lambda: pa.table(LONG).set_column(2, "state", pa.array(LONG["state"]).dictionary_encode()),
    lambda: pa.RecordBatch.from_pydict(LONG),
]


def kind_of(table: Any, name: str) -> Any:
    """The type of a column."""
    return (
        table.schema.field(name).type if isinstance(table, pa.Table | pa.RecordBatch) else table[name].dtype
    )


def column(table: Any, name: str) -> list[Any]:
    values = table[name] if not isinstance(table, pa.RecordBatch) else table.column(name)
    return list(values.to_pylist() if hasattr(values, "to_pylist") else values)


@observing
@pytest.mark.parametrize("make", LONG_TABLES)
def test_long_tables(make: Callable[[], Any], m: vw.Mechanism) -> None:
    expected, seen = m.privatize(WALKS, observed=True, **RUN)
    table = make()
    released = m.privatize(table, **RUN)
    names = released.column_names if hasattr(released, "column_names") else list(released.columns)
    assert names == ["trajectory", "step", "state", "observed"]
    assert type(released) is type(table)
    assert kind_of(released, "observed") == kind_of(released, "state")
    for name, walks in (("state", expected), ("observed", seen)):
        assert as_walks(zip(column(released, "trajectory"), column(released, name), strict=True)) == walks
    assert column(released, "step") == LONG["step"]


@pytest.mark.parametrize("seed", range(3))
def test_rows_in_any_order(seed: int) -> None:
    frame = pd.DataFrame(LONG)
    there = m = TIGHT.privatize(frame, **RUN)
    shuffled = TIGHT.privatize(frame.sample(frac=1, random_state=seed).reset_index(drop=True), **RUN)
    assert there.equals(m)
    merged = shuffled.merge(there, on=["trajectory", "step"])
    assert (merged["observed_x"] == merged["observed_y"]).all()
    assert (merged["state_x"] == merged["state_y"]).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda lists: pd.DataFrame(lists),
        lambda lists: pd.DataFrame(lists).astype({"state": pd.ArrowDtype(pa.list_(pa.string()))}),
        lambda lists: pl.DataFrame(lists),
        lambda lists: pl.DataFrame(lists).cast({"state": pl.List(pl.Enum(CREDIT.states))}),
        lambda lists: pa.table(lists),
    ],
)
@observing
def test_tables_with_lists(make: Callable[[Any], Any], m: vw.Mechanism) -> None:
    expected, seen = m.privatize(WALKS, observed=True, **RUN)
    table = make({"trajectory": list(WALKS), "state": list(WALKS.values())})
    released = m.privatize(table, **RUN)
    names = released.column_names if hasattr(released, "column_names") else list(released.columns)
    assert names == ["trajectory", "state", "observed"]
    assert kind_of(released, "observed") == kind_of(released, "state")
    assert [list(walk) for walk in column(released, "state")] == list(expected.values())
    assert [list(walk) for walk in column(released, "observed")] == list(seen.values())


def test_columns_by_themselves() -> None:
    walk = WALKS["12"]
    expected = TIGHT.privatize(walk, observed=True, names=["12"], **RUN)
    columns: list[Any] = [
        pd.Series(walk),
        pl.Series(walk),
        pa.array(walk),
        pa.chunked_array([walk[:3], walk[3:]]),
    ]
    for column in columns:
        released = TIGHT.privatize(column, observed=True, names=["12"], **RUN)
        assert [type(part) for part in released] == [type(column)] * 2
        found = [part.to_pylist() if hasattr(part, "to_pylist") else list(part) for part in released]
        assert tuple(found) == expected
    lists = pl.Series("walks", list(WALKS.values()))
    for part in TIGHT.privatize(lists, observed=True):
        assert part.dtype == lists.dtype
        assert part.list.len().to_list() == lists.list.len().to_list()


def test_where_it_is_not_for() -> None:
    sharp = vw.Mechanism("sharp", CREDIT, epsilon=2, radius=3.5)
    with pytest.raises(vw.ParameterError, match="this mechanism draws moves"):
        sharp.privatize(WALKS, observed=True)
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        with pytest.raises(vw.ParameterError, match="in the column 'observed' in any case"):
            TIGHT.privatize(make(LONG), observed=True)
        assert "observed" not in list(sharp.privatize(make(LONG)).to_pandas() if make is pa.table else [])


def test_states_that_are_left_out() -> None:
    frame = pd.DataFrame({"trajectory": ["a"] * 4, "state": ["B", "Zzz", "Caa", "B"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vw.PrivacyWarning)
        released = TIGHT.privatize(frame, unknown_state="skip")
        assert [len(part) for part in TIGHT.privatize(["B", "Zzz"], unknown_state="skip", observed=True)] == [
            1,
            1,
        ]
    assert list(released) == ["trajectory", "step", "state", "observed"]
    assert len(released) == 3


# Sessions

STARTS = ["private", "initial", "first", "Baa"]


@pytest.mark.filterwarnings("ignore::veilwalk.PrivacyWarning")
@observing
@pytest.mark.parametrize("start", STARTS)
def test_a_session_releases_what_privatize_does(m: vw.Mechanism, start: str) -> None:
    released, observed = m.privatize(WALKS, observed=True, start=start, **RUN)
    for name, walk in WALKS.items():
        session = m.session(name=name, start=start, **RUN)
        assert session.observed == []
        states, seen = [], []
        for place, real in enumerate(walk):
            if m.lag:
                states += session.push(real)
            else:
                states.append(session.step(real) if place else session.start(real))
            seen += session.observed
        states += session.finish()
        seen += session.observed
        assert (states, seen) == (released[name], observed[name])


@pytest.mark.filterwarnings("ignore::veilwalk.PrivacyWarning")
@observing
@pytest.mark.parametrize("start", STARTS)
def test_a_saved_session_keeps_its_belief(m: vw.Mechanism, start: str) -> None:
    """It goes on bit for bit, wherever it is cut, and in whatever process."""
    walk = WALKS["12"]
    released, observed = m.privatize(walk, observed=True, start=start, names=["12"], **RUN)
    for cut in range(len(walk) + 1):
        session = m.session(name="12", start=start, **RUN)
        states, seen = [], []
        for place, real in enumerate(walk):
            if place == cut:
                data = session.to_bytes()
                session = vw.Session.from_bytes(data, m, name="12", key=KEY, start=start)
                assert session.to_bytes() == data
                assert session.observed == [], "it was released before"
                assert session.waiting == min(m.lag or 0, place) or start != "private"
            states += session.push(real)
            seen += session.observed
        session = vw.Session.from_bytes(session.to_bytes(), m, name="12", key=KEY, start=start)
        states += session.finish()
        seen += session.observed
        assert (states, seen) == (released, observed), cut


def test_a_lag_has_no_answer_at_once() -> None:
    session = LAGGED.session(name="a")
    for attempt in (session.start, session.step):
        with pytest.raises(vw.SessionError, match=r"with lag=2 the answer.*push\(\).*finish\(\)"):
            attempt("B")
    assert [len(session.push("B")) for _ in range(4)] == [0, 0, 1, 1]
    assert (session.released, session.waiting, len(session.observed)) == (2, 2, 1)
    assert len(session.finish()) == 2
    assert len(session.observed) == 2
    assert session.closed
    numbers = LAGGED.session(name="b", states="numbers")
    numbers.push(3)
    taken_up = vw.Session.from_bytes(numbers.to_bytes(), LAGGED, name="b", states="numbers")
    assert [type(state) for state in taken_up.finish()] == [int]
    assert [type(state) for state in taken_up.observed] == [int]


def test_sessions_of_moves_observe_nothing() -> None:
    session = vw.Mechanism("sharp", CREDIT, epsilon=2, radius=3.5).session(name="a")
    session.start("B")
    assert session.observed == []


# How good they are, and how they look


@pytest.mark.filterwarnings("ignore::veilwalk.PrivacyWarning")
@observing
def test_analyses_are_simulated(m: vw.Mechanism) -> None:
    for how in ({"start": "Baa"}, {}, {"real": WALKS}):
        steps = {} if "real" in how else {"steps": 8}
        found = m.analyze(**how, **steps, simulate=40)
        assert not found.exact
        assert 0 <= found.wrong_states <= 1
        assert found.mean_distance >= 0
        assert "simulated" in str(found)
        assert "simulated" in repr(found)
    with pytest.raises(vw.ParameterError, match="all figures are simulated"):
        m.plot_errors(steps=5, simulate=10)


def test_pictures_show_what_was_observed() -> None:
    pytest.importorskip("matplotlib")
    for m in (TIGHT, LAGGED):
        figure = m.plot_walk(releases=3, steps=6)
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert "observed" in labels
    assert TIGHT.plot_entropy(steps=5, simulate=10).axes


def test_a_ledger_is_charged(tmp_path: Any) -> None:
    ledger = vw.Ledger(tmp_path / "ledger")
    for m in OBSERVING:
        m.privatize(WALKS, ledger=ledger)
    m.session(name="north", ledger=ledger)
    assert set(ledger.spent()) == set(WALKS)


@observing
def test_files(m: vw.Mechanism, tmp_path: Any) -> None:
    """A mechanism file has the candidates and how walks are made of observations; a manifest too."""
    m.save(tmp_path / "m.json")
    again = vw.Mechanism.read(tmp_path / "m.json", CREDIT)
    assert (again.fingerprint, again.lag, again.name) == (m.fingerprint, m.lag, again.name)
    assert again.privatize(WALKS, observed=True, **RUN) == m.privatize(WALKS, observed=True, **RUN)
    assert pickle.loads(pickle.dumps(again)).fingerprint == m.fingerprint
    path = tmp_path / "released.csv"
    released = m.privatize(pd.DataFrame(LONG))
    released.to_csv(path, index=False)
    manifest = m.write_manifest(path, randomness="system")
    assert manifest["mechanism"]["candidates"] == m.candidates
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vw.PrivacyWarning)
        assert vw.verify(path, CREDIT)["mechanism"]["lag"] == m.lag
    # A walk that is not the one that follows from what was observed is found.
    released["observed"] = released["observed"].iloc[::-1].to_numpy()
    released.to_csv(path, index=False)
    with pytest.raises(vw.ReleaseFileError):
        m.write_manifest(path, randomness="system")


def test_a_model_can_be_compiled(tmp_path: Any) -> None:
    for m in OBSERVING:
        m.compile(tmp_path / "model")
        arguments = m._native.arguments
        chain = vw.Chain.read(tmp_path / "model")
        again = remade(chain, arguments, m.fingerprint, vw.__version__)
        assert again.privatize(WALKS, **RUN) == m.privatize(WALKS, **RUN)
