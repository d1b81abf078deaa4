"""Walks of every kind, in and out, and what is refused."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import ID, KEY, WALKS

import veilwalk as vw

ROWS = [(name, step, state) for name, walk in WALKS.items() for step, state in enumerate(walk)]
COLUMNS: dict[str, list[Any]] = {
    "trajectory": [row[0] for row in ROWS],
    "step": [row[1] for row in ROWS],
    "state": [row[2] for row in ROWS],
}


@pytest.fixture(scope="module")
def expected(sharp: vw.Mechanism) -> dict[str, list[str]]:
    return sharp.privatize(WALKS, key=KEY, release_id=ID)


def grouped(frame: Any) -> dict[str, list[str]]:
    """A long table of any library as a dict of walks, in the order of the steps."""
    table = pa.table(frame) if not isinstance(frame, pd.DataFrame) else pa.Table.from_pandas(frame)
    walks: dict[str, list[tuple[int, str]]] = {}
    for row in table.to_pylist():
        walks.setdefault(row["trajectory"], []).append((row["step"], row["state"]))
    return {name: [state for _, state in sorted(rows)] for name, rows in walks.items()}


LONG: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas object": lambda: pd.DataFrame(COLUMNS).astype({"state": object, "trajectory": object}),
    "pandas category": lambda: pd.DataFrame(COLUMNS).astype({"state": "category", "trajectory": "category"}),
    "pandas arrow": lambda: pd.DataFrame(COLUMNS).astype({"state": "string[pyarrow]"}),
    "pandas arrow dtype": lambda: pd.DataFrame(COLUMNS).astype({"state": pd.ArrowDtype(pa.large_string())}),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars categorical": lambda: pl.DataFrame(COLUMNS).with_columns(
        pl.col("state").cast(pl.Categorical), pl.col("trajectory").cast(pl.Categorical)
    ),
    "polars enum": lambda: pl.DataFrame(COLUMNS).with_columns(
        pl.col("state").cast(pl.Enum(vw.Chain.credit().states))
    ),
    "polars chunks": lambda: pl.concat([pl.DataFrame(COLUMNS)[:5], pl.DataFrame(COLUMNS)[5:]], rechunk=False),
    "arrow": lambda: pa.table(COLUMNS),
    "arrow batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "arrow slice": lambda: pa.concat_tables([pa.table(COLUMNS)] * 2).slice(len(ROWS), len(ROWS)),
    "arrow large": lambda: pa.table(COLUMNS).cast(
        pa.schema([("trajectory", pa.large_string()), ("step", pa.int32()), ("state", pa.large_string())])
    ),
    "arrow view": lambda: pa.table(COLUMNS).cast(
        pa.schema([("trajectory", pa.string_view()), ("step", pa.int64()), ("state", pa.string_view())])
    ),
    "arrow dictionary": lambda: pa.table(COLUMNS | {"state": pa.array(COLUMNS["state"]).dictionary_encode()}),
}


@pytest.mark.parametrize("kind", LONG)
def test_long_tables_come_back_in_kind(
    kind: str, sharp: vw.Mechanism, expected: dict[str, list[str]]
) -> None:
    table = LONG[kind]()
    released = sharp.privatize(table, key=KEY, release_id=ID)
    assert type(released) is type(table)
    assert grouped(released) == expected
    if isinstance(table, pd.DataFrame):
        for name in ("trajectory", "step"):
            pd.testing.assert_series_equal(released[name], table[name])
        if isinstance(table["state"].dtype, pd.CategoricalDtype):
            assert list(released["state"].cat.categories) == vw.Chain.credit().states
        else:
            assert released["state"].dtype == table["state"].dtype
    else:
        assert released.schema == table.schema
    # Interleaved rows and rows out of order: steps decide.
    mixed = np.random.default_rng(1).permutation(len(ROWS))
    if isinstance(table, pd.DataFrame):
        shuffled = table.iloc[mixed]
        # Numbers that do not increase might tell how rows were sorted by the real states.
        assert list(sharp.privatize(shuffled, key=KEY, release_id=ID).index) == list(range(len(ROWS)))
    elif isinstance(table, pl.DataFrame):
        shuffled = table[mixed.tolist()]
    else:
        if kind == "arrow view":
            # pyarrow cannot take rows of this type.
            return
        shuffled = table.take(pa.array(mixed))
    assert grouped(sharp.privatize(shuffled, key=KEY, release_id=ID)) == expected


def test_without_steps_rows_are_taken_as_they_stand(
    sharp: vw.Mechanism, expected: dict[str, list[str]]
) -> None:
    table = pl.DataFrame(COLUMNS).drop("step")
    released = sharp.privatize(table, key=KEY, release_id=ID)
    assert released.columns == ["trajectory", "step", "state"]
    assert released["step"].to_list() == COLUMNS["step"]
    assert grouped(released) == expected
    ignored = sharp.privatize(
        pl.DataFrame(COLUMNS).with_columns(step=-pl.col("step")), step=None, key=KEY, release_id=ID
    )
    assert grouped(ignored) == expected


LISTS: dict[str, Callable[[list[str], list[list[str]]], Any]] = {
    "pandas": lambda names, walks: pd.DataFrame({"trajectory": names, "state": walks}),
    "polars": lambda names, walks: pl.DataFrame({"trajectory": names, "state": walks}),
    "polars categorical": lambda names, walks: pl.DataFrame(
        {"trajectory": names, "state": walks},
        schema_overrides={"state": pl.List(pl.Categorical)},
    ),
    "arrow": lambda names, walks: pa.table({"trajectory": names, "state": walks}),
    "arrow large": lambda names, walks: pa.table(
        {"trajectory": names, "state": pa.array(walks, pa.large_list(pa.large_string()))}
    ),
    "arrow dictionary": lambda names, walks: pa.table(
        {
            "trajectory": names,
            "state": pa.array(walks, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        }
    ),
    "arrow slice": lambda names, walks: pa.table(
        {"trajectory": ["x", *names], "state": [["A"], *walks]}
    ).slice(1),
}


@pytest.mark.parametrize("kind", LISTS)
def test_list_columns_come_back_in_kind(
    kind: str, sharp: vw.Mechanism, expected: dict[str, list[str]]
) -> None:
    table = LISTS[kind](list(WALKS), list(WALKS.values()))
    released = sharp.privatize(table, key=KEY, release_id=ID)
    assert type(released) is type(table)
    if isinstance(table, pd.DataFrame):
        walks = released["state"].tolist()
    elif isinstance(table, pl.DataFrame):
        assert released.schema == table.schema
        walks = released["state"].to_list()
    else:
        assert released.schema == table.schema
        walks = released["state"].to_pylist()
    assert dict(zip(WALKS, walks, strict=True)) == expected


def test_columns_by_themselves(sharp: vw.Mechanism, expected: dict[str, list[str]]) -> None:
    walk, name = WALKS["12"], ["12"]
    columns: tuple[Any, ...] = (
        pl.Series("w", walk),
        pd.Series(walk, name="w"),
        pa.chunked_array([walk]),
        pa.array(walk),
        np.array(walk),
        np.array(walk, dtype=object),
        walk,
        tuple(walk),
    )
    for column in columns:
        released: Any = sharp.privatize(column, names=name, key=KEY, release_id=ID)
        assert type(released) is type(column)
        values = released.to_pylist() if hasattr(released, "to_pylist") else list(released)
        assert values == expected["12"]
    walks: Any = sharp.privatize(pl.Series(list(WALKS.values())), names=list(WALKS), key=KEY, release_id=ID)
    assert walks.to_list() == list(expected.values())


def test_lists_tuples_dicts_and_arrays_come_back_in_kind(sharp: vw.Mechanism) -> None:
    nested: list[Any] = [("B", "A"), ["A"], np.array(["Aa", "A"]), []]
    released = sharp.privatize(nested)
    assert [type(walk) for walk in released] == [tuple, list, np.ndarray, list]
    assert [len(walk) for walk in released] == [2, 1, 2, 0]
    assert isinstance(sharp.privatize((("B",),)), tuple)
    square = np.array([["B", "B"], ["A", "A"]])
    assert sharp.privatize(square).shape == (2, 2)
    assert sharp.privatize({"a": ("B",)}).keys() == {"a"}


def test_integers_are_labels_or_places(credit: vw.Chain) -> None:
    roads = vw.Chain.from_transitions(
        [(10, 20, 0.5), (10, 10, 0.5), (20, 10, 0.75), (20, 300, 0.25), (300, 10, 1)]
    )
    m = vw.Mechanism("sharp", roads, epsilon=2, radius=3)
    walk = [10, 20, 300, 10, 10, 20]
    texts = m.privatize({"w": [str(state) for state in walk]}, key=KEY, release_id=ID)["w"]
    as_numbers = [int(state) for state in texts]
    assert m.privatize({"w": walk}, key=KEY, release_id=ID)["w"] == as_numbers
    for kind in (np.int64, np.int32, np.uint16):
        array = np.array(walk, dtype=kind)
        released = m.privatize(array, names=["w"], key=KEY, release_id=ID)
        assert released.dtype == kind
        assert released.tolist() == as_numbers
        arrow = m.privatize(pa.array(array), names=["w"], key=KEY, release_id=ID)
        assert arrow.type == pa.array(array).type
        assert arrow.to_pylist() == as_numbers
    assert (
        m.privatize(np.array([walk, walk]), names=["w", "v"], key=KEY, release_id=ID)[0].tolist()
        == as_numbers
    )
    assert m.privatize(pd.Series(walk), names=["w"], key=KEY, release_id=ID).tolist() == as_numbers
    places = [roads.states.index(str(state)) for state in walk]
    numbered = m.privatize(np.array(places), states="numbers", names=["w"], key=KEY, release_id=ID)
    assert [roads.states[place] for place in numbered] == texts
    s = m.session(name="w", key=KEY, release_id=ID)
    assert [s.start(10), *(s.step(state) for state in walk[1:])] == as_numbers
    with pytest.raises(vw.WalkError, match="300 does not fit into a column of type UInt8"):
        m.privatize(pa.array([10, 20], pa.uint8()))
    with pytest.raises(vw.WalkError, match="larger integers"):
        m.privatize(np.array([10, 20], dtype=np.uint8))
    sharp = vw.Mechanism("sharp", credit, epsilon=1, radius=3.5)
    for wrong in ([[1, 2]], np.array([1, 2]), pa.array([1, 2]), pl.Series([1, 2])):
        with pytest.raises(vw.WalkError, match='states="numbers"'):
            sharp.privatize(wrong)
    assert len(sharp.privatize(np.array([1, 2]), states="numbers")) == 2


def test_kept_columns_are_copied_and_others_are_not(sharp: vw.Mechanism) -> None:
    table = pl.DataFrame(COLUMNS).with_columns(secret=pl.lit("x"), day=pl.lit(3))
    assert sharp.privatize(table).columns == ["trajectory", "step", "state"]
    with pytest.warns(vw.PrivacyWarning, match="day is released as it is"):
        assert sharp.privatize(table, keep=["day"]).columns == [
            "trajectory",
            "step",
            "state",
            "day",
        ]


def test_the_number_of_threads_does_not_show(sharp: vw.Mechanism) -> None:
    rng = np.random.default_rng(0)
    states = rng.choice(sharp.chain.states, 60_000)
    frame = pl.DataFrame({"trajectory": np.arange(60_000) // 37, "state": states})
    one, two, many = (sharp.privatize(frame, key=KEY, release_id=ID, threads=n) for n in (1, 2, 5))
    assert one.equals(two)
    assert one.equals(many)
    assert one.equals(sharp.privatize(frame, key=KEY, release_id=ID))


EMPTY: list[Any] = [
    [],
    (),
    {},
    [[]],
    [[], []],
    np.array([], dtype=np.int64),
    np.empty((0, 3), dtype="U3"),
    pl.Series("w", [], dtype=pl.String),
    pl.DataFrame(schema={"trajectory": pl.String, "state": pl.String}),
    pl.DataFrame({"trajectory": [], "step": [], "state": []}),
    pl.DataFrame(schema={"trajectory": pl.String, "state": pl.List(pl.String)}),
    pd.DataFrame({"trajectory": [], "state": []}),
    pd.Series([], dtype=object),
    pa.table({"trajectory": pa.array([], pa.string()), "state": pa.array([], pa.string())}),
    pa.chunked_array([], pa.string()),
]


@pytest.mark.parametrize("empty", EMPTY, ids=lambda empty: type(empty).__name__)
def test_nothing_gives_nothing(empty: Any, sharp: vw.Mechanism) -> None:
    released = sharp.privatize(empty)
    assert type(released) is type(empty)
    assert len(released) == len(empty)


LONG_FRAME = {"trajectory": ["a", "a"], "state": ["B", "A"]}
BAD: list[tuple[Any, dict[str, Any], str]] = [
    (None, {}, "walks of type NoneType"),
    (7, {}, "walks of type int"),
    ("Baa", {}, "walks of type str"),
    (iter([["B"]]), {}, "walks of type list_iterator"),
    (pl.LazyFrame(LONG_FRAME), {}, "collect it first"),
    ([["B", "Zzz"]], {}, 'walk 0, step 1: "Zzz" is not a state'),
    ([["B"], ["A", None]], {}, "walk 1, step 1: a missing value (None)"),
    ([["B"], "AA"], {}, "walk 1 is a value of type str"),
    ([["B"], 3], {}, "walk 1 is a value of type int"),
    ([["B", 2.5]], {}, "walk 0, step 1: a value of type float"),
    ([["B", ["A"]]], {}, "walk 0, step 1: a value of type list"),
    ([["B", b"A"]], {}, "walk 0, step 1: a value of type bytes"),
    ([["B", True]], {}, "walk 0, step 1: a value of type bool"),
    ([["\ud800"]], {}, "not Unicode"),
    ({1.5: ["B"]}, {}, "name of type float"),
    (np.array([1.0, 2.0]), {}, "array of type float64"),
    (np.zeros((2, 2, 2), dtype=int), {}, "3 dimensions"),
    (np.array(5), {}, "0 dimensions"),
    (np.array(["B", None], dtype=object), {}, "missing value"),
    (np.array([2**63], dtype=np.uint64), {}, "larger than any label"),
    (pl.DataFrame({"state": ["B"]}), {}, "no column 'trajectory'"),
    (pl.DataFrame({"trajectory": ["a"]}), {}, "no column 'state'"),
    (pl.DataFrame(LONG_FRAME), {"step": "when"}, "no column 'when'"),
    (pl.DataFrame(LONG_FRAME), {"keep": ["day"]}, "no column 'day'"),
    (pl.DataFrame(LONG_FRAME | {"state": ["B", "Zzz"]}), {}, 'column "state", row 1: "Zzz"'),
    (pl.DataFrame(LONG_FRAME | {"state": ["B", None]}), {}, 'column "state", row 1: a missing'),
    (pl.DataFrame(LONG_FRAME | {"state": [None, None]}), {}, 'column "state": the type is Null'),
    (pl.DataFrame(LONG_FRAME | {"state": [1.5, 2]}), {}, 'column "state": the type is Float64'),
    (pl.DataFrame(LONG_FRAME | {"state": [True, False]}), {}, "the type is Boolean"),
    (pl.DataFrame(LONG_FRAME | {"trajectory": ["a", None]}), {}, 'column "trajectory", row 1'),
    (pl.DataFrame(LONG_FRAME | {"trajectory": [1.5, 2]}), {}, 'column "trajectory": the type'),
    (pl.DataFrame(LONG_FRAME | {"step": [1, 1]}), {}, "has step 1 a second time (first in row 0)"),
    (pl.DataFrame(LONG_FRAME | {"step": [1, None]}), {}, 'column "step", row 1: a missing'),
    (pl.DataFrame(LONG_FRAME | {"step": ["x", "y"]}), {}, 'column "step": the type is'),
    (
        pl.DataFrame({"trajectory": ["a"], "state": [["B", "Zzz"]]}),
        {},
        'column "state", row 0: step 1: "Zzz"',
    ),
    (
        pl.DataFrame({"trajectory": ["a", "b"], "state": [["B"], ["A", None]]}),
        {},
        'column "state", row 1: step 1: a missing value',
    ),
    (pl.DataFrame({"trajectory": ["a", "b"], "state": [["B"], None]}), {}, "row 1: a missing walk"),
    (pl.DataFrame({"trajectory": [None], "state": [["B"]]}), {}, "every walk needs a name"),
    (
        pl.DataFrame({"trajectory": ["a", "a"], "state": [["B"], ["A"]]}),
        {"key": KEY},
        "stands for two walks",
    ),
    (pl.Series([["B"]]), {"key": KEY}, "needs a name of its own"),
    (
        pl.DataFrame(LONG_FRAME, schema_overrides={"state": pl.Enum(["A", "B"])}),
        {},
        "the Enum lacks the chain's state 'Aaa'",
    ),
    (pd.DataFrame(LONG_FRAME | {"state": ["B", None]}), {}, 'column "state", row 1: a missing'),
    (pd.DataFrame(LONG_FRAME | {"state": ["B", 3]}), {}, "values of type int and str"),
    (pd.DataFrame(LONG_FRAME | {"state": [1.5, 2.5]}), {}, "the type is Float64"),
    (pa.table(LONG_FRAME | {"state": pa.array(["B", None])}), {}, 'column "state", row 1'),
    (pa.array([{"x": 1}]), {}, "the type is Struct"),
    (pa.table(LONG_FRAME), {"states": "numbers"}, 'states="numbers" asks for whole numbers'),
]


@pytest.mark.parametrize(("walks", "how", "message"), BAD, ids=[b[2] for b in BAD])
def test_bad_walks_are_refused(walks: Any, how: dict[str, Any], message: str, sharp: vw.Mechanism) -> None:
    with pytest.raises(vw.VeilwalkError, match=re.escape(message)):
        sharp.privatize(walks, **how)


def test_huge_lists(sharp: vw.Mechanism) -> None:
    walk = ["Baa"] * 1_000_000
    assert len(sharp.privatize(walk)) == len(walk)
    walk[-1] = "nowhere"
    with pytest.raises(vw.WalkError, match="step 999999"):
        sharp.privatize(walk)
    many = [["B"]] * 100_000
    assert len(sharp.privatize(many)) == len(many)


def test_labels_of_every_length_are_found_in_every_kind_of_column() -> None:
    """Short texts are looked up by their views, long ones by their letters; Python lists are the oracle."""
    rng = random.Random(4)
    letters = "abcxyzäß漢🙂 -_0123456789"
    found = {"".join(rng.choices(letters, k=1 + n % 23)).strip() or f"s{n}" for n in range(3000)}
    labels = sorted(found | {"a", "aa", "a" * 12, "a" * 13, "a" * 11 + "b", "a" * 12 + "b"})
    ring = list(zip(labels, labels[1:] + labels[:1], strict=True))
    chain = vw.Chain.from_transitions([(a, b, 0.5) for pair in ring for a, b in (pair, pair[::-1])])
    m = vw.Mechanism("sharp", chain, epsilon=3, radius=2)
    walks = {str(n): [rng.choice(labels) for _ in range(rng.randrange(1, 60))] for n in range(100)}
    rows = [(name, state) for name, walk in walks.items() for state in walk]
    rows = [row for _, row in sorted((i % 7, row) for i, row in enumerate(rows))]
    flat = {"trajectory": [r[0] for r in rows], "state": [r[1] for r in rows]}
    by_name: dict[str, list[str]] = {}
    for name, state in rows:
        by_name.setdefault(name, []).append(state)
    expected = m.privatize(by_name, key=KEY, release_id=ID)
    counted: dict[str, int] = {}
    wanted = []
    for name, _ in rows:
        wanted.append(expected[name][counted.get(name, 0)])
        counted[name] = counted.get(name, 0) + 1
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        for of_names in (pa.string(), pa.string_view(), pa.large_string()):
            table = pa.table(
                {
                    "trajectory": pa.array(flat["trajectory"]).cast(of_names),
                    "state": pa.array(flat["state"]).cast(kind),
                }
            )
            released = m.privatize(table, key=KEY, release_id=ID)
            assert released["state"].to_pylist() == wanted
            assert released["state"].type == kind
    assert m.privatize(pl.DataFrame(flat), key=KEY, release_id=ID)["state"].to_list() == wanted
    for wrong in ("a" * 10 + "c", "a" * 14, "aaa", ""):
        with pytest.raises(vw.WalkError, match=r"row 1: .* is not a state of the chain"):
            m.privatize(pl.Series(["a", wrong]))


def test_rows_of_walks_in_pieces_and_chunks() -> None:
    """Runs of rows end at names, not at the borders of chunks."""
    m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=2, radius=3.5)
    names = ["a", "a", "b", "b", "b", "a", "c", "c", "c"]
    states = ["B", "B", "A", "A", "Aa", "Ba", "Caa", "B", "B"]
    whole = pa.table({"trajectory": names, "state": states})
    pieces = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 3), whole.slice(4, 0), whole.slice(4)])
    by_name = {n: [s for k, s in zip(names, states, strict=True) if k == n] for n in "abc"}
    released = {n: iter(walk) for n, walk in m.privatize(by_name, key=KEY, release_id=ID).items()}
    wanted = [next(released[name]) for name in names]
    for table in (whole, pieces):
        got = m.privatize(table, key=KEY, release_id=ID)
        assert got["state"].to_pylist() == wanted
        assert got["step"].to_pylist() == [0, 1, 0, 1, 2, 2, 0, 1, 2]
    missing = pa.table({"trajectory": ["a", None], "state": ["B", "B"]})
    with pytest.raises(vw.WalkError, match='"trajectory", row 1: a missing value'):
        m.privatize(pa.concat_tables([missing]), key=KEY, release_id=ID)
