"""Promises in metres, from Python."""

import pickle
from pathlib import Path

import pytest

import veilwalk as vw

SIDE = 4


@pytest.fixture
def streets(tmp_path: Path) -> vw.Chain:
    """Crossings 100 m apart on a square grid."""
    rows = ["from,to,count,length"]
    places = ["state,latitude,longitude"]
    for at in range(SIDE * SIDE):
        name = f"r{at // SIDE}c{at % SIDE}"
        places.append(f"{name},{42.5 + 0.0009 * (at // SIDE):.7f},{1.5 + 0.00122 * (at % SIDE):.7f}")
        rows.append(f"{name},{name},1,0")
        near = [(at + 1, at % SIDE + 1 < SIDE), (at + SIDE, at // SIDE + 1 < SIDE)]
        for there in (there for there, inside in near if inside):
            other = f"r{there // SIDE}c{there % SIDE}"
            rows += [f"{name},{other},2,100", f"{other},{name},1,100"]
    table, placed = tmp_path / "streets.csv", tmp_path / "places.csv"
    table.write_text("\n".join(rows) + "\n")
    placed.write_text("\n".join(places) + "\n")
    return vw.Chain.read(table, places=placed)


def test_a_radius_in_metres(streets: vw.Chain) -> None:
    assert (streets.metric, streets.unit) == ("nats", "nats")
    m = vw.Mechanism("sharp", streets, epsilon=1, radius="200m")
    assert (m.chain.metric, m.chain.unit) == ("street", "m")
    assert m.radius == 200
    assert m.chain.distance("r0c0", "r2c1") == 300
    closest = m.chain.closest_pair()
    assert closest is not None
    assert closest[2] == 100
    guarantee = m.guarantee()
    assert (guarantee.radius, guarantee.smallest_radius) == (200, 100)
    figures = guarantee.to_dict()
    assert figures["radius_metres"] == 200
    assert "radius_nats" not in figures
    assert "within a radius of 200 m" in str(guarantee)
    analysis = m.analyze(steps=5)
    assert 1 < analysis.mean_distance < 600
    assert m == vw.Mechanism("sharp", streets, epsilon=1, radius="0.2km", metric="street")
    line = vw.Mechanism("sharp", streets, epsilon=1, radius="200m", metric="line")
    assert m != line
    assert line.chain.distance("r0c0", "r1c1") < 143
    released = m.privatize([["r0c0", "r0c1", "r1c1"]])
    assert len(released[0]) == 3


def test_another_process_has_the_same_metric(streets: vw.Chain, tmp_path: Path) -> None:
    m = vw.Mechanism("cell", streets, epsilon=2, radius="100m")
    again = pickle.loads(pickle.dumps(m))
    assert again == m
    assert again.chain.metric == "street"
    names = m.chain.states
    rows = ["from,to,metres"]
    rows += [f"{a},{b},{m.chain.distance(a, b)}" for i, a in enumerate(names) for b in names[i + 1 :]]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(rows) + "\n")
    own = vw.Mechanism("sharp", streets, epsilon=2, radius="100m", metric=table)
    assert own.chain.metric == "table"
    assert pickle.loads(pickle.dumps(own)) == own
    path = tmp_path / "streets.model"
    m.compile(path)
    assert vw.Chain.read(path).metric == "street"
    assert vw.Mechanism("cell", vw.Chain.read(path), epsilon=2, radius="100m") == m
    started = m.chain._starting("stationary")
    assert started.metric == "street"


def test_what_does_not_go_together(streets: vw.Chain) -> None:
    with pytest.raises(vw.VeilwalkError, match="neither lengths nor coordinates"):
        vw.Mechanism("sharp", vw.Chain.credit(), epsilon=1, radius="200m")
    with pytest.raises(vw.VeilwalkError, match="distances of this model are in metres"):
        vw.Mechanism("sharp", streets, epsilon=1, radius=3.5, metric="street")
    with pytest.raises(vw.VeilwalkError, match="metric"):
        streets.measured("miles")


def test_comparing_and_tuning(streets: vw.Chain) -> None:
    compared = vw.compare(streets, epsilon=2, radius="100m", steps=5, mechanisms=["sharp", "cell"])
    assert "100 m" in compared._repr_html_()
    tuned = vw.tune(streets, epsilon=2, radius="100m", steps=5)
    assert tuned.best().radius == 100
