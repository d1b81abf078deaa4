"""Whether a release is worth anything: figures on walks of every kind."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veilwalk as vw


@pytest.fixture(scope="module")
def mechanism(credit: vw.Chain) -> vw.Mechanism:
    return vw.Mechanism("chen", credit, epsilon=8, substitutions=1)


@pytest.fixture(scope="module")
def real(credit: vw.Chain) -> list[list[str]]:
    return credit.sample(200, 12, start="B", seed=1)


def long(walks: list[list[str]]) -> dict[str, list[Any]]:
    rows = [(f"w{name}", step, state) for name, walk in enumerate(walks) for step, state in enumerate(walk)]
    return dict(zip(("trajectory", "step", "state"), map(list, zip(*rows, strict=True)), strict=True))


def test_every_kind_has_the_same_figures(
    credit: vw.Chain, mechanism: vw.Mechanism, real: list[list[str]]
) -> None:
    released = mechanism.privatize(real, seed=3)
    kinds: list[Any] = [list, pd.DataFrame, pl.DataFrame, pa.table]
    found = []
    for kind in kinds:
        one, other = (walks if kind is list else kind(long(walks)) for walks in (real, released))
        with pytest.warns(vw.PrivacyWarning, match="NOT protected"):
            found.append(vw.score(one, other, credit, mechanism=mechanism).to_dict())
    assert all(figures == found[0] for figures in found[1:])
    figures = found[0]
    assert figures["protected"] is False
    assert figures["release"]["moves_tv"]["against_chain_alone"] == "better"
    assert figures["laplace_counts"].keys() == {
        "visits_jsd", "visits_tv", "visits_kendall", "hotspots_ndcg", "moves_jsd", "moves_tv",
        "od_jsd", "od_tv", "starts_jsd", "starts_tv",
    }  # fmt: skip


def test_walks_by_name_stand_for_each_other(
    credit: vw.Chain, mechanism: vw.Mechanism, real: list[list[str]]
) -> None:
    released = mechanism.privatize(real, seed=3)
    by_name = {f"w{place}": walk for place, walk in enumerate(released)}
    backwards = dict(reversed(by_name.items()))
    frame = pd.DataFrame(long(real))
    with pytest.warns(vw.PrivacyWarning):
        one = vw.score(frame, by_name, credit).to_dict()
    with pytest.warns(vw.PrivacyWarning):
        assert vw.score(frame, backwards, credit).to_dict() == one
    # Under other names they are compared as a whole, with chance of their own.
    with pytest.warns(vw.PrivacyWarning):
        others = vw.score(frame, {f"x{name}": walk for name, walk in by_name.items()}, credit).to_dict()
    assert others["release"]["moves_tv"]["value"] == one["release"]["moves_tv"]["value"]
    assert others["release"]["moves_tv"]["deviation"] != one["release"]["moves_tv"]["deviation"]


def test_refined_walks_and_estimates_stand_beside(
    credit: vw.Chain, mechanism: vw.Mechanism, real: list[list[str]]
) -> None:
    released = mechanism.privatize(pd.DataFrame(long(real)), seed=3)
    refined = mechanism.refine(released)
    estimates = [mechanism.estimate(released, what=what, interval=None) for what in ("visits", "moves", "od")]
    with pytest.warns(vw.PrivacyWarning):
        found = vw.score(pd.DataFrame(long(real)), released, credit, refined=refined, estimate=estimates)
    assert found.candidates == ["release", "refined", "estimate"]
    figures = found.to_dict()["estimate"]
    assert {"visits_tv", "moves_tv", "od_tv", "starts_tv"} <= figures.keys()
    assert "patterns_f1" not in figures
    assert len(found.verdict) == 3
    shown = str(found)
    for word in ("chain alone", "refined", "estimate", "moves, total variation", "The release beats"):
        assert word in shown
    assert "NOT protected" in found._repr_html_()
    with pytest.warns(vw.PrivacyWarning):
        alone = vw.score(pd.DataFrame(long(real)), released, credit, estimate=estimates[1])
    assert {"moves_tv", "moves_jsd"} == alone.to_dict()["estimate"].keys()


def test_what_does_not_fit_is_refused(
    credit: vw.Chain, mechanism: vw.Mechanism, real: list[list[str]]
) -> None:
    with pytest.warns(vw.PrivacyWarning, match="real walks themselves"):
        vw.score(real, real, credit)
    with pytest.raises(vw.WalkError, match="no real walks"):
        vw.score([], real, credit)
    with pytest.raises(vw.WalkError, match="release: walk 0, step 1"):
        vw.score(real, [["B", "nowhere"]], credit)
    with pytest.raises(vw.WalkError, match="estimate"):
        vw.score(real, real[1:], credit, estimate=[{"state": "B"}])
    with pytest.raises(vw.ParameterError, match='"Bee" is not a state'):
        vw.score(real, real[1:], credit, estimate=[{"state": "Bee", "share": 1.0}])
    with pytest.raises(vw.ParameterError, match="repetitions"):
        vw.score(real, real[1:], credit, repetitions=1)
    with pytest.raises(vw.ParameterError, match="chain"):
        vw.score(real, real, "credit")  # type: ignore[arg-type]


def test_a_promise_in_nats_has_no_counts(credit: vw.Chain, real: list[list[str]]) -> None:
    mechanism = vw.Mechanism("cell", credit, epsilon=4, radius=3.5)
    with pytest.warns(vw.PrivacyWarning):
        found = vw.score(real, mechanism.privatize(real, seed=1), credit, mechanism=mechanism)
    assert found.candidates == ["release"]
    with pytest.raises(vw.ParameterError, match="laplace_counts"):
        found.better("laplace_counts")
