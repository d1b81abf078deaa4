"""What someone tries who has not read the documentation: nothing may leak, get lost or be misread."""

# mypy: disable-error-code="arg-type, call-overload, dict-item"

from __future__ import annotations

import os
import pathlib
import pickle
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veilwalk as vw

CREDIT = vw.Chain.credit()
M = vw.Mechanism("sharp", CREDIT, epsilon=1, radius=3.5)
TIGHT = vw.Mechanism("tight", CREDIT, epsilon=1, radius=3.5)
WALKS = {"trajectory": ["a", "a", "b"], "step": [0, 1, 0], "state": ["B", "Caa", "B"]}
KEY = bytes(range(32))
ID = "0123456789abcdef" * 2

frames = pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])


@frames
def test_real_states_are_not_kept(make: Any) -> None:
    with pytest.raises(vw.ParameterError, match="holds the real states"):
        M.privatize(make(WALKS), keep=["state"])
    with pytest.raises(vw.ParameterError, match="comes back in any case"):
        M.privatize(make(WALKS), keep=["trajectory"])
    lists = make({"trajectory": ["a"], "state": [["B", "Caa"]]})
    with pytest.raises(vw.ParameterError, match="holds the real states"):
        M.privatize(lists, keep=["state"])
    with pytest.warns(vw.PrivacyWarning, match="keep"):
        M.privatize(make({"trajectory": ["a"], "step": [5], "state": [["B", "Caa"]]}), keep=["step"])


def test_columns_with_two_roles_or_twice() -> None:
    frame = pd.DataFrame(WALKS)
    with pytest.raises(vw.ParameterError, match="different columns"):
        M.privatize(frame, trajectory="state")
    with pytest.raises(vw.WalkError, match="two columns 'state'"):
        M.privatize(pd.concat([frame, frame[["state"]]], axis=1))
    with pytest.raises(vw.ParameterError, match="names its walks in the column 'trajectory'"):
        M.privatize(frame, names=["x", "y"])


def test_a_text_is_not_a_list(tmp_path: pathlib.Path) -> None:
    ledger = vw.Ledger(tmp_path / "ledger")
    for attempt in (
        lambda: ledger.charge(M, "firm 12"),
        lambda: M.privatize([["B"], ["B"]], names="xy"),
        lambda: M.privatize(pd.DataFrame(WALKS), keep="day"),
        lambda: vw.compare(CREDIT, epsilon=1, mechanisms="sharp"),
    ):
        with pytest.raises(vw.ParameterError, match="is a single value"):
            attempt()
    with pytest.raises(vw.ParameterError, match="stands for two walks"):
        ledger.charge(M, ["q", "q"])
    assert not (tmp_path / "ledger").exists()


@pytest.mark.parametrize("dtype", ["Int64", "UInt8", "int64", "int8", "int64[pyarrow]"])
def test_whole_numbers_of_pandas(dtype: str, tmp_path: pathlib.Path) -> None:
    chain = vw.Chain.from_matrix([[0.5, 0.5], [0.5, 0.5]], labels=[1, 2])
    m = vw.Mechanism("sharp", chain, epsilon=1, radius=1)
    frame = pd.DataFrame({"trajectory": ["a", "a"], "state": pd.array([1, 2], dtype=dtype)})
    released = m.privatize(frame, ledger=vw.Ledger(tmp_path / "ledger"), budget=1)
    assert released["state"].dtype == frame["state"].dtype
    assert set(released["state"]) <= {1, 2}


def test_what_cannot_come_back_is_not_charged(tmp_path: pathlib.Path) -> None:
    ledger = vw.Ledger(tmp_path / "ledger")
    states = pl.Series(["B", "Caa", "B"], dtype=pl.Enum(["B", "Caa"]))
    frame = pl.DataFrame(WALKS).with_columns(state=states)
    with pytest.raises(vw.WalkError, match="the Enum lacks"):
        M.privatize(frame, ledger=ledger)
    chain = vw.Chain.from_matrix([[0.5, 0.5], [0.5, 0.5]], labels=[1, 300])
    numbers = vw.Mechanism("sharp", chain, epsilon=1, radius=1)
    named = {"trajectory": ["a", "a"]}
    for walks in (
        pd.DataFrame(named | {"state": pd.array([1, 1], dtype="int8")}),
        pl.DataFrame(named | {"state": pl.Series([1, 1], dtype=pl.Int8)}),
        pa.table(named | {"state": pa.array([1, 1], pa.uint8())}),
        {"a": np.array([1, 1], dtype="int8")},
        np.array([[1, 1]], dtype="int8"),
    ):
        names = ["a"] if isinstance(walks, np.ndarray) else None
        with pytest.raises(vw.WalkError, match="does not fit"):
            numbers.privatize(walks, names=names, ledger=ledger)
    mixed = vw.Chain.from_matrix([[0.5, 0.5], [0.5, 0.5]], labels=["1", "x"])
    table = pa.table({"trajectory": ["a", "a"], "state": [1, 1]})
    with pytest.raises(vw.WalkError, match=r'column "state": the walks are integers, and .* "x" is not one'):
        vw.Mechanism("sharp", mixed, epsilon=1, radius=1).privatize(table, ledger=ledger)
    assert not (tmp_path / "ledger").exists()


def test_categories_do_not_tell_which_states_are_real() -> None:
    frame = pd.DataFrame(WALKS).astype({"state": "category"})
    released = M.privatize(frame)["state"]
    assert released.cat.categories.tolist() == CREDIT.states
    dictionary = pa.table(WALKS).set_column(2, "state", pa.array(WALKS["state"]).dictionary_encode())
    assert M.privatize(dictionary)["state"].chunk(0).dictionary.to_pylist() == CREDIT.states
    # Nor in which order they were visited, even if all of them were.
    visited = ["Caa", "Def", *[state for state in CREDIT.states if state not in ("Caa", "Def")]]
    every = {"trajectory": ["a"] * len(visited), "state": visited}
    encoded = pa.table(every).set_column(1, "state", pa.array(visited).dictionary_encode())
    assert M.privatize(encoded)["state"].chunk(0).dictionary.to_pylist() == CREDIT.states
    assert M.privatize(encoded["state"]).chunk(0).dictionary.to_pylist() == CREDIT.states
    as_visited = pd.DataFrame(every).astype({"state": pd.CategoricalDtype(visited)})
    assert M.privatize(as_visited)["state"].cat.categories.tolist() == CREDIT.states
    more = pd.CategoricalDtype([*CREDIT.states, "Zzz"], ordered=True)
    assert M.privatize(frame.astype({"state": more}))["state"].cat.categories.tolist() == CREDIT.states
    # An order that someone gave to all states stays.
    order = pd.CategoricalDtype(CREDIT.states[::-1], ordered=True)
    assert M.privatize(frame.astype({"state": order}))["state"].dtype == order
    partly = pd.CategoricalDtype(["Caa", "B"], ordered=True)
    assert not M.privatize(frame.astype({"state": partly}))["state"].cat.ordered


def test_the_width_of_an_array_does_not_tell_the_longest_real_state() -> None:
    longest = max(map(len, CREDIT.states))
    for real in (["B", "A"], ["B", "Ca/C"], ["Ca/C"] * 2):
        for array in (np.array(real), np.array([real, real]), np.array(real, dtype="U40")):
            assert M.privatize(array).dtype == f"<U{longest}"
        assert M.privatize([np.array(real)])[0].dtype == f"<U{longest}"
        assert M.privatize({"a": np.array(real)})["a"].dtype == f"<U{longest}"
        column = pd.Series([np.array(real)], dtype=object)
        assert getattr(M.privatize(column)[0], "dtype", None) == f"<U{longest}"


def test_names_of_other_walks_stay_out() -> None:
    frame = pd.DataFrame(WALKS).astype({"trajectory": "category"})
    released = M.privatize(frame[frame["trajectory"] == "a"])
    assert released["trajectory"].cat.categories.tolist() == ["a"]
    for keys in (pa.int8(), pa.int32()):
        names = pa.array(WALKS["trajectory"]).cast(pa.dictionary(keys, pa.string()))
        table = pa.table(WALKS).set_column(0, "trajectory", names)
        trajectories = M.privatize(table[:2])["trajectory"]
        assert trajectories.type == names.type
        assert trajectories.chunk(0).dictionary.to_pylist() == ["a"]


@frames
def test_the_column_of_what_was_observed_has_no_other_role(make: Any) -> None:
    own = WALKS | {"observed": ["B", "Caa", "B"]}
    with pytest.raises(vw.ParameterError, match="'observed' is the column for what was observed"):
        TIGHT.privatize(make(own), keep=["observed"])
    for role in ("trajectory", "step", "state"):
        renamed = {("observed" if name == role else name): values for name, values in WALKS.items()}
        with pytest.raises(vw.ParameterError, match="nothing else can have that name"):
            TIGHT.privatize(make(renamed), **{role: "observed"})
    # Of a release that is released again it is written anew.
    seen = {
        tuple(TIGHT.privatize(make(own))["observed"].to_pylist())
        if make is pa.table
        else tuple(TIGHT.privatize(make(own))["observed"])
        for _ in range(40)
    }
    assert len(seen) > 1, "not what was given"
    with pytest.warns(vw.PrivacyWarning, match="keep: observed is released as it is"):
        M.privatize(make(own), keep=["observed"])


def test_categories_of_what_was_observed_do_not_tell_which_states_are_real() -> None:
    visited = ["Caa", "Def", *[state for state in CREDIT.states if state not in ("Caa", "Def")]]
    for states in (WALKS["state"], visited):
        walks = {"trajectory": ["a"] * len(states), "state": states}
        frame = pd.DataFrame(walks).astype({"state": pd.CategoricalDtype(visited)})
        for rows in (frame, frame[:0]):
            observed = TIGHT.privatize(rows)["observed"]
            assert observed.cat.categories.tolist() == CREDIT.states
        encoded = pa.table(walks).set_column(1, "state", pa.array(states).dictionary_encode())
        observed = TIGHT.privatize(encoded)["observed"]
        assert observed.chunk(0).dictionary.to_pylist() == CREDIT.states
        _, alone = TIGHT.privatize(encoded["state"], observed=True)
        assert alone.chunk(0).dictionary.to_pylist() == CREDIT.states
    partly = pd.DataFrame(WALKS).astype({"state": pd.CategoricalDtype(["Caa", "B"], ordered=True)})
    assert not TIGHT.privatize(partly)["observed"].cat.ordered
    encoded = pa.array(WALKS["state"]).dictionary_encode()
    for real in (encoded[:0], pa.chunked_array([encoded])[:0]):
        _, none = TIGHT.privatize(real, observed=True)
        assert none.type == real.type
        assert b"Caa" not in pickle.dumps(none)


def test_the_width_of_what_was_observed_does_not_tell_the_longest_real_state() -> None:
    longest = max(map(len, CREDIT.states))
    for real in (["B", "A"], ["Ca/C"] * 2):
        for array in (np.array(real), np.array([real, real]), np.array(real, dtype="U40")):
            assert TIGHT.privatize(array, observed=True)[1].dtype == f"<U{longest}"
        assert TIGHT.privatize([np.array(real)], observed=True)[1][0].dtype == f"<U{longest}"
        assert TIGHT.privatize({"a": np.array(real)}, observed=True)[1]["a"].dtype == f"<U{longest}"


def test_no_real_state_lies_beside_what_was_observed() -> None:
    """Not in unused parts of buffers either."""
    labels = [f"a place of which nobody knows {number:03d}" for number in range(200)]
    chain = vw.Chain.from_matrix(np.full((200, 200), 1 / 200), labels=labels, normalize=True)
    m = vw.Mechanism("tight", chain, epsilon="1/1000", substitutions=1)
    walks = {"trajectory": ["a"] * 20, "state": labels[:20]}
    text = pd.ArrowDtype(pa.string())
    views = pl.DataFrame(walks).to_arrow(compat_level=pl.CompatLevel.newest())
    for table in (
        pd.DataFrame(walks),
        pd.DataFrame(walks).astype({"state": text}),
        pd.DataFrame({"trajectory": ["a"], "state": [labels[:20]]}),
        pl.DataFrame(walks),
        pl.DataFrame({"trajectory": ["a"], "state": [labels[:20]]}),
        pa.table(walks),
        pa.table(walks)[:10],
        views,
        pa.table({"trajectory": ["a"], "state": [labels[:20]]}),
    ):
        released = m.privatize(table)
        shown = str(released.to_pylist() if isinstance(released, pa.Table) else released.to_dict())
        if isinstance(released, pl.DataFrame):
            shown = str(released.to_dicts())
        real = [label for label in labels[:20] if label not in shown]
        assert real, "most are not drawn"
        kept = pickle.dumps(released)
        # Views may show parts of one list of all states, which is the chain's and tells nothing.
        if not all(label.encode() in kept for label in labels):
            assert not [label for label in real if label.encode() in kept]
    both = m.privatize([np.array(labels[:20])], observed=True)
    drawn = {state for part in both for state in part[0].tolist()}
    kept = pickle.dumps(both)
    assert not [label for label in labels[:20] if label not in drawn and label.encode("utf-32-le") in kept]


def test_what_lies_beside_a_column_in_memory_stays_out() -> None:
    raw = pl.Series([f"customer-number-{i:04d}|Ca/C" for i in range(5)])
    parts = {"trajectory": raw.str.slice(0, 20), "day": raw.str.slice(0, 19), "state": raw.str.slice(21)}
    views = pl.DataFrame(parts).to_arrow(compat_level=pl.CompatLevel.newest())
    assert str(views.schema.field("trajectory").type) == "string_view"
    table = pa.table({"trajectory": ["w1", "w1", "SECRET"], "day": ["1", "2", "SECRET"], "state": ["B"] * 3})
    dictionary = table.set_column(0, "trajectory", table["trajectory"].dictionary_encode())
    arrow = {"trajectory": "string[pyarrow]", "day": pd.ArrowDtype(pa.string())}
    frame = table.to_pandas().astype(arrow)
    coded = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    for walks, secret in (
        (views, b"|Ca/C"),
        (views.to_batches()[0], b"|Ca/C"),
        (table[:2], b"SECRET"),
        (table.to_batches()[0][:2], b"SECRET"),
        (dictionary[:2], b"SECRET"),
        (frame[:2], b"SECRET"),
        (frame.astype({"trajectory": coded})[:2], b"SECRET"),
    ):
        with pytest.warns(vw.PrivacyWarning, match="keep"):
            released = M.privatize(walks, keep=["day"])
        assert secret not in pickle.dumps(released)
        kept = released["day"].to_pylist() if isinstance(released, pa.Table) else list(released["day"])
        assert list(map(str, kept)) == list(map(str, walks["day"]))[: len(kept)]
        if isinstance(walks, pd.DataFrame):
            assert released["trajectory"].dtype == walks["trajectory"].dtype


@pytest.mark.parametrize("kind", [pl.List, lambda inner: pl.Array(inner, 2)])
def test_lists_of_enums(kind: Any, tmp_path: pathlib.Path) -> None:
    every = pl.Series([["B", "Caa"]] * 50, dtype=kind(pl.Enum(CREDIT.states)))
    assert M.privatize(every).dtype == every.dtype
    some = pl.Series([["B", "Caa"]], dtype=kind(pl.Enum(["B", "Caa", "Ba"])))
    with pytest.raises(vw.WalkError, match="the Enum lacks"):
        M.privatize(some, names=["a"], ledger=tmp_path / "ledger")
    assert not (tmp_path / "ledger").exists()


def test_walks_of_other_kinds_come_back(tmp_path: pathlib.Path) -> None:
    class Walk(NamedTuple):
        first: str
        second: str

    assert len(M.privatize(Walk("B", "Caa"), names=["a"], ledger=tmp_path / "ledger")) == 2
    released = M.privatize((Walk("B", "Caa"), ["B"]))
    assert [type(walk) for walk in released] == [tuple, list]
    states = [f"s{i}" for i in range(300)]
    many = vw.Mechanism(
        "sharp",
        vw.Chain.from_matrix(np.full((300, 300), 1 / 300), labels=states, normalize=True),
        epsilon=1,
        radius=9,
    )
    few = pd.Series([["s0", "s1"]] * 99, dtype=pd.ArrowDtype(pa.list_(pa.dictionary(pa.int8(), pa.string()))))
    assert len(many.privatize(few)) == 99


def test_threads_without_end() -> None:
    with pytest.raises(vw.ParameterError, match="at most 1024"):
        M.privatize([["B"]], threads=10**6)


def test_a_session_belongs_to_one_process() -> None:
    for block in ({}, {"block": 2}):
        session, keyed = M.session(name="x", **block), M.session(name="x", key=KEY, release_id=ID, **block)

        def take(session: Any, block: dict[str, int] = block) -> None:
            session.push("B") if block else session.start("B")

        read, write = os.pipe()
        if (child := os.fork()) == 0:
            try:
                take(keyed)
                take(session)
            except vw.VeilwalkError as error:
                os.write(write, str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(write)
        assert b"forked" in os.read(read, 1000)
        os.close(read)
        take(session)


def test_the_index_is_no_part_of_a_release() -> None:
    frame = pd.DataFrame(WALKS)
    for index in (["x", "y", "z"], pd.Index([7, 8, 9], name="user")):
        assert M.privatize(frame.set_axis(index)).index.tolist() == [0, 1, 2]
        assert M.privatize(frame.set_axis(index), keep=[]).index.name is None
        column = pd.Series(WALKS["state"], index=index)
        assert M.privatize(column).index.tolist() == [0, 1, 2]
    real = frame.set_index("state", drop=False)
    assert "state" not in M.privatize(real).index.names
    # Rows that are numbered can be put beside those they came from.
    assert M.privatize(frame.set_axis([3, 5, 8])).index.tolist() == [3, 5, 8]
    # Others may be the numbers of the real states, or tell how rows were sorted by them.
    for numbers in ([5, 7, 5], [2, 0, 1]):
        assert M.privatize(frame.set_axis(numbers)).index.tolist() == [0, 1, 2]
        assert M.privatize(pd.Series(WALKS["state"], index=numbers)).index.tolist() == [0, 1, 2]
    with pytest.warns(vw.PrivacyWarning):
        kept = M.privatize(frame.assign(day=[1, 2, 3]).set_axis(["x", "y", "z"]), keep=["day"])
    assert kept["day"].tolist() == [1, 2, 3]


@frames
def test_no_rows(make: Any) -> None:
    full = M.privatize(make({"trajectory": ["a"], "state": ["B"]}))
    empty = M.privatize(make({"trajectory": ["a"], "state": ["B"]})[:0])
    names = (lambda t: t.column_names) if make is pa.table else (lambda t: list(t.columns))
    assert names(empty) == names(full) == ["trajectory", "step", "state"]
    rows = make({"trajectory": ["a"], "state": ["B"]})
    assert names(TIGHT.privatize(rows[:0])) == names(TIGHT.privatize(rows))
    assert names(TIGHT.privatize(rows[:0])) == ["trajectory", "step", "state", "observed"]
    if make is pl.DataFrame:
        assert pl.concat([full, empty]).height == 1


def test_no_rows_of_categories_tell_nothing_of_others() -> None:
    frame = pd.DataFrame(WALKS).astype({"state": "category"})
    none = M.privatize(frame[:0])["state"]
    assert len(none) == 0
    assert none.cat.categories.tolist() == CREDIT.states
    column = pl.Series(["B", "Caa"], dtype=pl.Categorical)
    assert M.privatize(column[:0]).dtype == column.dtype
    encoded = pa.array(WALKS["state"]).dictionary_encode()
    for real in (encoded[:0], pa.chunked_array([encoded])[:0]):
        assert M.privatize(real).type == real.type
        assert "Caa" not in str(M.privatize(real))
        assert b"Caa" not in pickle.dumps(M.privatize(real))


def test_sessions_are_charged(tmp_path: pathlib.Path) -> None:
    ledger = vw.Ledger(tmp_path / "ledger")
    for block in ({}, {"block": 2}):
        M.session(name="a", ledger=ledger, budget=2, **block)
    assert ledger.spent() == {"a": 2}
    with pytest.raises(vw.ParameterError, match="the budget is negative"):
        M.session(name="a", ledger=ledger, budget=-1)
    with pytest.raises(vw.LedgerError, match="would exceed the budget"):
        M.session(name="a", ledger=ledger, budget=2)
    with pytest.raises(vw.ParameterError, match="to be charged"):
        M.session(ledger=ledger)
    with pytest.raises(vw.ParameterError, match="give ledger="):
        M.session(name="a", budget=2)
    with pytest.raises(vw.VeilwalkError):
        M.session(name="b", ledger=ledger, start="Zzz")
    assert ledger.spent() == {"a": 2}, "what cannot be made is not charged"


def test_results_print_as_tables() -> None:
    analysis = str(M.analyze(start="Baa", steps=5))
    assert "wrong states" in analysis
    assert "ever in a walk" in analysis
    simulated = str(M.analyze(start="Baa", steps=5, block=2, simulate=10))
    assert "Figures are simulated." in simulated
    tuning = str(vw.tune(CREDIT, epsilon=1, radius=3.5, steps=5))
    assert tuning.startswith("Best for closeness")
    assert len(tuning.splitlines()) > 5


def test_a_ledger_is_not_written_over(tmp_path: pathlib.Path) -> None:
    ledger = vw.Ledger(tmp_path / "ledger")
    ledger.charge(M, ["a"])
    for write in (M.save, M.compile, CREDIT.compile):
        with pytest.raises(vw.VeilwalkError, match="this is a ledger"):
            write(ledger.path)
    assert ledger.spent() == {"a": 1}


WALKED = [["home", "cart", "home"], ["home", "cart"]]
LONG = {"trajectory": ["u", "v", "u", "u", "v"], "state": ["home", "home", "cart", "home", "cart"]}


@pytest.mark.filterwarnings("ignore::veilwalk.PrivacyWarning")
@pytest.mark.parametrize(
    "walks",
    [
        WALKED,
        {"user1": WALKED[0], "user2": WALKED[1]},
        [np.array(walk) for walk in WALKED],
        (tuple(walk) for walk in WALKED),
        pd.Series(WALKED),
        pl.Series(WALKED),
        np.array(WALKED, dtype=object),
        pa.array(WALKED),
        pd.DataFrame(LONG),
        pl.DataFrame(LONG),
        pa.table(LONG),
        pa.table({"state": WALKED}),
        pd.DataFrame(LONG | {"step": [2, 0, 1, 0, 1]}),
    ],
)
def test_a_chain_is_fitted_on_whatever_can_be_released(walks: object) -> None:
    assert vw.Chain.fit(walks, restart=True).row("home") == {"home": 1 / 3, "cart": 2 / 3}


@pytest.mark.filterwarnings("ignore::veilwalk.PrivacyWarning")
def test_walks_that_are_none() -> None:
    assert vw.Chain.fit(["home", "cart", "home"]).states == ["home", "cart"]
    for walks, message in (
        ("home", "walks of type str"),
        ([["home"], "cart"], "walk 1 is 'cart'"),
        (pd.DataFrame({"who": ["a"], "state": ["B"]}), "no column 'trajectory'"),
        (pl.DataFrame(WALKS).with_columns(step=pl.Series([1, None, 2])), "steps that have no order"),
    ):
        with pytest.raises(vw.WalkError, match=message):
            vw.Chain.fit(walks)
    a_and_b = vw.Chain.from_matrix([[0.5, 0.5], [0.5, 0.5]], labels=["A", "B"])
    m = vw.Mechanism("sharp", a_and_b, epsilon=1, radius=1)
    given = m.analyze(real={"AB": ["A", "A", "A", "A"]}).to_dict()["real_walks"]
    assert given == "given (1 walk, 3 steps)"
    table = pd.DataFrame({"trajectory": ["AB"] * 4, "state": ["A"] * 4})
    assert m.analyze(real=table).to_dict()["real_walks"] == given


def test_a_matrix_in_a_table_keeps_its_rows_and_labels() -> None:
    for table in (
        pl.DataFrame({"x": [0.9, 0.5], "y": [0.1, 0.5]}),
        pd.DataFrame({"x": [0.9, 0.5], "y": [0.1, 0.5]}),
        pd.DataFrame({"x": [0.9, 0.5], "y": [0.1, 0.5]}, index=["x", "y"]),
    ):
        assert vw.Chain.from_matrix(table).row("x") == {"x": 0.9, "y": 0.1}
    with pytest.raises(vw.ChainError, match="not named like its columns"):
        vw.Chain.from_matrix(pd.DataFrame({"x": [0.9, 0.5], "y": [0.1, 0.5]}, index=["y", "x"]))
    with pytest.raises(vw.ChainError, match="transition 0"):
        vw.Chain.from_transitions({"a": {"b": 1.0}, "b": {"a": 1.0}})
    with pytest.raises(vw.ChainError, match="of a table: zip"):
        vw.Chain.from_transitions(pd.DataFrame(LONG))


def test_sessions_with_a_key_have_names() -> None:
    for block in ({}, {"block": 3}):
        with pytest.raises(vw.ParameterError, match="every walk needs a name"):
            M.session(key=KEY, release_id=ID, **block)
    session = M.session(key=KEY, release_id=ID, name="a", states="numbers")
    assert session.start(3) == session.last
    for other in (None, KEY[::-1]):
        with pytest.raises(vw.SessionError, match="another key or seed, or with none"):
            vw.Session.from_bytes(session.to_bytes(), M, name="a", key=other)
    assert vw.Session.from_bytes(session.to_bytes(), M, name="a", key=KEY, release_id=ID).released == 1
    assert M.session(name=5).name == "5"


def test_a_release_that_protects_nothing_says_so() -> None:
    empty = vw.Mechanism("sharp", CREDIT, epsilon=1, radius=1)
    with pytest.raises(vw.EmptyGuaranteeError):
        empty.session()
    with pytest.warns(vw.PrivacyWarning, match="protects NOTHING"):
        empty.privatize([["B"]], allow_vacuous=True)
    with pytest.warns(vw.PrivacyWarning, match="protects NOTHING"):
        empty.session(allow_vacuous=True)


def test_a_manifest_names_every_column(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "released.csv"
    M.privatize(pd.DataFrame(WALKS)).assign(home="Main St").to_csv(path, index=False)
    twice = tmp_path / "twice.csv"
    twice.write_text("trajectory,step,state,step\na,0,B,Caa\n")
    with pytest.raises(vw.ReleaseFileError, match='"step" is neither part of a release'):
        M.write_manifest(twice, randomness="system")
    M.session(name=0, ledger=tmp_path / "other.csv.manifest.json")
    (tmp_path / "other.csv").write_text("trajectory,step,state\na,0,B\n")
    with pytest.raises(vw.VeilwalkError, match="is no manifest"):
        M.write_manifest(tmp_path / "other.csv", randomness="system")
    with pytest.raises(vw.ReleaseFileError, match='"home" is neither part of a release'):
        M.write_manifest(path, randomness="system")
    with pytest.raises(vw.ReleaseFileError, match='"nope" is said to be kept'):
        M.write_manifest(path, randomness="system", keep=["home", "nope"])
    elsewhere = pd.DataFrame({"trajectory": "a", "state": M.privatize(["B"], start="B")})
    elsewhere.to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(vw.ReleaseFileError, match='starts at "B", and all are said to start at "Aaa"'):
        M.write_manifest(tmp_path / "b.csv", randomness="system", start="Aaa")
    M.write_manifest(path, randomness="system", keep=["home"])
    with pytest.warns(vw.PrivacyWarning, match="home"):
        vw.verify(path, CREDIT)


def test_parameters_of_other_types() -> None:
    assert vw.Mechanism("sharp", CREDIT, epsilon=1, substitutions=np.int64(2)).substitutions == 2
    for attempt in (
        lambda: vw.Mechanism(None, CREDIT, epsilon=1, radius=3.5),
        lambda: vw.Mechanism("sharp", CREDIT, epsilon=1, radius=3.5, calibrate=True),
        lambda: vw.Mechanism("sharp", CREDIT, epsilon=1, substitutions="two"),
        lambda: M.privacy_map("x"),
        lambda: M.check(1, "1/0"),
        lambda: M.privatize([["B"]], threads="2"),
        lambda: M.privatize([["B"]], seed="a"),
        lambda: vw.compare("credit", epsilon=1),
        lambda: vw.compare(CREDIT, epsilon=1, mechanisms=[]),
    ):
        with pytest.raises(vw.ParameterError):
            attempt()
    comparison = vw.compare(CREDIT, epsilon=3.5, radius=3.5, steps=5, mechanisms=["paper", "sharp"])
    assert comparison.winner("wrong-states") == comparison.winner("wrong_states")
    with pytest.raises(vw.ParameterError, match="none of the purposes"):
        comparison.winner("speed")


def test_files_of_another_kind(tmp_path: pathlib.Path) -> None:
    CREDIT.compile(tmp_path / "model")
    with pytest.raises(vw.ParameterError, match="not a mechanism file: it is not text"):
        vw.Mechanism.read(tmp_path / "model", CREDIT)
    with pytest.raises(vw.LedgerError, match="there is no folder"):
        vw.Ledger(tmp_path / "none" / "ledger").charge(M, ["a"])


def test_spark_takes_frames_of_spark() -> None:
    pytest.importorskip("pyspark")
    from veilwalk import spark

    for release in (spark.privatize, spark.stream):
        with pytest.raises(vw.WalkError, match="give a DataFrame of Spark"):
            release(pd.DataFrame(WALKS), M, key=KEY, release_id=ID)


def test_mechanisms_that_release_alike_are_equal() -> None:
    assert vw.Mechanism("sharp", CREDIT, epsilon=1, radius=3.5) == M
    assert len({vw.Mechanism("sharp", CREDIT, epsilon="1", radius="7/2"), M}) == 1
    assert vw.Mechanism("sharp", CREDIT, epsilon=2, radius=3.5) != M


def test_warnings_point_at_the_line_that_asked() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        M.privatize([["B"]], seed=1)
        vw.Chain.fit([["a", "b", "a"]])
    assert {warning.filename for warning in seen} == {__file__}


def test_messages_speak_of_python() -> None:
    with pytest.raises(vw.ChainError, match="normalize=True"):
        vw.Chain.from_matrix([[0.5, 0.4], [1.0, 0.0]])
    with pytest.raises(vw.ChainError, match="largest_component=True"):
        vw.Chain.from_transitions([("a", "b", 1), ("b", "b", 1)])
    with pytest.raises(vw.ParameterError, match="token_bytes"):
        M.privatize({"a": ["B"]}, key=b"short")


def test_values_that_cannot_be_written_down() -> None:
    half = "\ud800"
    for attempt in (
        lambda: M.privatize({half: ["B"]}),
        lambda: M.privatize([["B"]], names=[np.array([1, 2])]),
        lambda: M.privatize([[half]]),
        lambda: M.privatize(pa.scalar("B")),
        lambda: M.session(name=half),
        lambda: M.privatize(pd.DataFrame({"trajectory": ["a"], "state": pd.Series([half], dtype=object)})),
    ):
        with pytest.raises(vw.WalkError):
            attempt()
    with pytest.raises(vw.ChainError, match="not Unicode"):
        vw.Chain.from_transitions([(half, "b", 1.0), ("b", half, 1.0)])


def test_numbers_of_more_than_64_bits() -> None:
    large = pd.Series([2**70], dtype=object)
    whole: dict[str, Any] = {"trajectory": ["a"], "state": ["B"], "step": [1]}
    for column in whole:
        with pytest.raises(vw.WalkError, match=f"{column}.*more than 64 bits"):
            M.privatize(pd.DataFrame({**whole, column: large}), step="step")
        wide = pl.Series([1], dtype=pl.Int128)
        with pytest.raises(vw.WalkError, match=f"{column}.*Int128; give whole numbers of 64 bits"):
            M.privatize(pl.DataFrame({**whole, column: wide}), step="step")
    steps = np.array([2**63, 2**63 + 1], dtype=np.uint64)
    walk = {"trajectory": ["a", "a"], "state": ["B", "B"], "step": steps}
    for frame in (pd.DataFrame(walk), pl.DataFrame(walk)):
        with pytest.raises(vw.WalkError, match=r'"step", row 0: a number beyond 2\^63 - 1'):
            M.privatize(frame, step="step")


def test_paths_of_other_types(tmp_path: pathlib.Path) -> None:
    for attempt in (
        lambda: M.privatize({"a": ["B"]}, ledger=5),
        lambda: vw.Ledger(5),
        lambda: vw.Chain.read(5),
        lambda: CREDIT.compile(5),
        lambda: M.save(5),
        lambda: vw.verify(5, CREDIT),
    ):
        with pytest.raises(vw.ParameterError, match="a value of type int; give a path"):
            attempt()
    path = os.fsencode(tmp_path / "spent.ledger")
    M.privatize({"a": ["B"]}, ledger=path)
    assert pathlib.Path(os.fsdecode(path)).exists()
