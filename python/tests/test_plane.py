"""Places on a plane as observations: in every kind of walks, read back, and refused where they are none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veilwalk as vw

PLACE = re.compile(r"-?\d{1,3}\.\d{9} -?\d{1,3}\.\d{9}")


@pytest.fixture
def chain(tmp_path: Path) -> vw.Chain:
    """Six crossings 100 m apart in a row, whose labels are numbers."""
    table, placed = tmp_path / "row.csv", tmp_path / "places.csv"
    moves = [(a, b) for a in range(6) for b in range(6) if abs(a - b) <= 1]
    table.write_text("from,to,count\n" + "".join(f"{a},{b},1\n" for a, b in moves))
    rows = "".join(f"{a},{42.5 + 0.0009 * a:.7f},1.5\n" for a in range(6))
    placed.write_text("state,latitude,longitude\n" + rows)
    return vw.Chain.read(table, places=placed)


@pytest.fixture
def plane(chain: vw.Chain) -> vw.Mechanism:
    return vw.Mechanism("plane", chain, epsilon=1, radius="100m", metric="line")


def are_places(seen: Any) -> bool:
    return all(isinstance(text, str) and PLACE.fullmatch(text) for text in seen)


def test_a_mechanism_says_what_it_is(plane: vw.Mechanism) -> None:
    assert (plane.name, plane.candidates, plane.observes) == ("plane", "plane", True)
    assert plane.weights is None
    assert plane.believed_from is None
    assert 0.40 < plane.beyond(200) < 0.41
    assert plane.loss(0, 1) == pytest.approx(0.9998, abs=2e-3)
    assert "planar Laplace" in str(plane.guarantee())
    assert plane.audit(pairs=1, draws=20_000).passed


def test_walks_of_every_kind_come_back_with_texts(plane: vw.Mechanism) -> None:
    walk = [0, 1, 2, 3, 4]
    released: Any
    seen: Any
    walks: Any
    released, seen = plane.privatize([walk, [5, 4]], observed=True, allow_vacuous=True)
    assert [len(one) for one in released] == [5, 2]
    assert all(are_places(one) for one in seen)
    assert all(isinstance(state, int) for state in released[0])
    walks = np.array([walk, walk])
    released, seen = plane.privatize(walks, observed=True, allow_vacuous=True)
    assert released.dtype == np.int64
    assert seen.shape == (2, 5)
    assert are_places(seen.reshape(-1))
    walks = np.array(["0", "1", "2"])
    released, seen = plane.privatize(walks, observed=True, allow_vacuous=True)
    assert released.shape == (3,)
    assert are_places(seen)
    walks = [np.array(walk), np.array([5])]
    released, seen = plane.privatize(walks, observed=True, allow_vacuous=True)
    assert all(are_places(one) for one in seen)
    columns = {"trajectory": ["b", "a", "b", "a"], "step": [0, 0, 1, 1], "state": [0, 5, 1, 4]}
    for table in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        made = plane.privatize(table, allow_vacuous=True)
        seen = made["observed"].to_pylist() if isinstance(made, pa.Table) else list(made["observed"])
        assert are_places(seen)
    lists = {"trajectory": ["b", "a"], "state": [[0, 1, 2], [5]]}
    for table in (pd.DataFrame(lists), pl.DataFrame(lists), pa.table(lists)):
        made = plane.privatize(table, allow_vacuous=True)
        seen = made["observed"].to_pylist() if isinstance(made, pa.Table) else list(made["observed"])
        assert [len(one) for one in seen] == [3, 1]
        assert all(are_places(one) for one in seen)
    session = plane.session(allow_vacuous=True)
    session.push(0)
    session.push(1)
    assert are_places(session.observed)
    assert len(session.observed) == 1


def test_rows_keep_their_observations(chain: vw.Chain) -> None:
    """At a promise that hides next to nothing the place is that of the row's own state."""
    sharp = vw.Mechanism("plane", chain, epsilon=1000, radius="100m", metric="line")
    states = [1, 4, 0, 5, 2]
    rows = {"trajectory": ["b", "a", "b", "a", "b"], "step": [1, 1, 0, 0, 2], "state": states}
    made = sharp.privatize(pd.DataFrame(rows), allow_vacuous=True)
    for state, seen in zip(states, made["observed"], strict=True):
        assert abs(float(seen.split()[0]) - (42.5 + 0.0009 * state)) < 2e-5


def test_inference_reads_places(plane: vw.Mechanism) -> None:
    walks = [[0, 1, 2, 3], [5, 4, 3, 2]]
    released, seen = plane.privatize(walks, observed=True, allow_vacuous=True)
    refined = plane.refine(released, observed=seen)
    assert len(refined) == 8
    table = pd.DataFrame(
        {"trajectory": list("aaaabbbb"), "step": [0, 1, 2, 3] * 2, "state": [*walks[0], *walks[1]]}
    )
    made = plane.privatize(table, allow_vacuous=True)
    assert len(plane.refine(made)) == 8
    assert len(plane.estimate(made, what="visits")) == 6
    for wrong in ("42.5 1.5", "7", "nowhere"):
        with pytest.raises(vw.WalkError, match="not a place that `plane` observes"):
            plane.refine(released, observed=[[wrong, *seen[0][1:]], seen[1]])
    with pytest.raises(vw.WalkError, match="step 1 is a state"):
        plane.refine(released, observed=[[seen[0][0], 3, *seen[0][2:]], seen[1]])


def test_it_is_refused_elsewhere(chain: vw.Chain, plane: vw.Mechanism) -> None:
    with pytest.raises(vw.VeilwalkError, match="straight-line metres"):
        vw.Mechanism("plane", vw.Chain.credit(), epsilon=1, radius=3)
    with pytest.raises(vw.VeilwalkError, match="replaced states"):
        vw.Mechanism("plane", chain, epsilon=1, substitutions=1, metric="line")
    with pytest.raises(vw.VeilwalkError, match="beyond"):
        plane.kernel(previous=0, real=0)
    tight = vw.Mechanism("tight", chain, epsilon=1, radius="100m", metric="line")
    with pytest.raises(vw.VeilwalkError, match="kernel"):
        tight.beyond(100)
