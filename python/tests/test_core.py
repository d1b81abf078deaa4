"""Chains, mechanisms, sessions and what they refuse."""

from __future__ import annotations

import itertools
import pickle
import re
import secrets
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ID, KEY, WALKS

import veilwalk as vw
from veilwalk.mechanism import mechanism_of


def test_chains_from_everything(tmp_path: Path) -> None:
    matrix = np.array([[0.5, 0.5], [1.0, 0.0]])
    by_matrix = vw.Chain.from_matrix(matrix, labels=["a", "b"])
    by_rows = vw.Chain.from_matrix([[0.5, 0.5], [1, 0]], labels=("a", "b"))
    by_moves = vw.Chain.from_transitions([("a", "a", 0.5), ("a", "b", 0.5), ("b", "a", 1)])
    with pytest.warns(vw.PrivacyWarning, match="fit on walks that need no protection"):
        fitted = vw.Chain.fit([["a", "a", "b", "a"]])
    with pytest.warns(vw.PrivacyWarning):
        # The move from the end of the walk back to its beginning is what was missing.
        assert vw.Chain.fit([["a", "a", "b"]], restart=True) == fitted
    file = tmp_path / "chain.csv"
    file.write_text("from,to,count\na,a,1\na,b,1\nb,a,7\n")
    assert by_matrix == by_rows == by_moves == fitted == vw.Chain.read(file)
    assert np.array_equal(by_matrix.matrix(), matrix)
    assert by_matrix.with_initial("a") != by_matrix
    assert by_matrix.with_initial({"b": 1.0}).initial == {"a": 0.0, "b": 1.0}
    assert vw.Chain.from_matrix([[0.5, 0.5], [1, 0]]).states == ["0", "1"]
    assert pickle.loads(pickle.dumps(by_matrix.with_initial("stationary"))).hash == (
        by_matrix.with_initial("stationary").hash
    )


def test_figures_of_the_credit_chain(credit: vw.Chain) -> None:
    assert (len(credit), credit.transitions, credit.period) == (9, 50, 1)
    assert credit.diameter()[:2] == ("Def", "Aaa")
    assert credit.diameter()[2] == pytest.approx(23.406648, abs=1e-4)
    closest = credit.closest_pair()
    assert closest is not None
    assert closest[:2] == ("B", "Ba")
    assert closest[2] == pytest.approx(2.733, abs=1e-3)
    assert credit.entropy_rate() == pytest.approx(0.00211253, abs=5e-9)
    assert credit.stationary()["Def"] == pytest.approx(0.99825968, abs=5e-9)
    assert credit.distance("Ca/C", "Def") == pytest.approx(1.561647, abs=1e-5)
    both = max(credit.distance("A", "B"), credit.distance("B", "A"))
    assert credit.distance("A", "B", symmetric=True) == both


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vw.Chain.from_matrix([[0.5, 0.4], [1, 0]]), "sum to 0.900000000"),
        (lambda: vw.Chain.from_matrix([[1.0]], labels=["a", "b"]), "1 rows for 2 states"),
        (lambda: vw.Chain.from_matrix([[0.5, 0.5], [1]]), "1 entries for 2 states"),
        (lambda: vw.Chain.from_matrix([["x"]]), "rows of numbers"),
        (lambda: vw.Chain.from_matrix([[1.0]], labels=[2.5]), "label of type float"),
        (lambda: vw.Chain.from_transitions([("a", "b", 1.0)]), "has no way out"),
        (lambda: vw.Chain.from_transitions([("a", "b")]), "transition 0"),  # type: ignore[list-item]
        (lambda: vw.Chain.from_transitions([]), "no transitions"),
        (lambda: vw.Chain.read("/no/such/file"), "no/such/file"),
        (lambda: vw.Chain.from_bytes(b"nonsense"), "not a compiled model"),
        (lambda: vw.Chain.credit().with_initial("Zzz"), "Zzz"),
        (lambda: vw.Chain.credit().with_initial({"Zzz": 1.0}), "Zzz"),
        (lambda: vw.Chain.credit().with_initial([0.5]), "1 initial probabilities for 9 states"),
    ],
)
def test_what_is_no_chain_is_refused(call: object, message: str) -> None:
    with pytest.raises(vw.VeilwalkError, match=re.escape(message)):
        call()  # type: ignore[operator]


def test_numbers_are_exact(credit: vw.Chain) -> None:
    tenth = Fraction(1, 10)
    for epsilon in (0.1, "0.1", "1/10", tenth, Decimal("0.1"), np.float64(0.1)):
        m = vw.Mechanism("sharp", credit, epsilon=epsilon, radius=3.5)
        assert m.epsilon == tenth
    assert vw.Mechanism("sharp", credit, epsilon=int(np.int64(2)), radius=1e1).radius == 10
    for wrong in (0, -1, float("nan"), float("inf"), "many", True, None, [1]):
        with pytest.raises(vw.ParameterError, match="epsilon"):
            vw.Mechanism("sharp", credit, epsilon=wrong, radius=3.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"name": "papper"}, 'papper" is not a mechanism'),
        ({"radius": None}, "what is to be protected is missing"),
        ({"substitutions": 1}, "not both"),
        ({"radius": None, "substitutions": 0}, "whole number from 1 up"),
        ({"radius": None, "substitutions": 1.5}, "whole number from 1 up"),
        ({"name": "chen"}, "protects a number of replaced states"),
        ({"distance": "far"}, 'far" is not a distance'),
        ({"rule": "best"}, 'best" is not a rule'),
        ({"chain_weight": "0.12345678"}, "at most six decimals"),
        ({"calibrate": "well"}, "is not a way to find a scale"),
        ({"chain": "credit"}, "give a veilwalk.Chain"),
    ],
)
def test_choices_that_cannot_be_are_refused(
    credit: vw.Chain, choices: dict[str, object], message: str
) -> None:
    given: dict[str, object] = {"name": "sharp", "chain": credit, "epsilon": 1, "radius": 3.5}
    with pytest.raises(vw.ParameterError, match=re.escape(message)):
        vw.Mechanism(**(given | choices))  # type: ignore[arg-type]


def test_kernels_and_losses_of_the_paper(credit: vw.Chain) -> None:
    paper = vw.Mechanism("paper", credit, epsilon=1, radius=1)
    kernel = paper.kernel(previous="Caa", real="Ca/C")
    expected = [0.002687, 0.008462, 0.032784, 0.090305, 0.861216, 0.004546]
    assert list(kernel) == ["Baa", "Ba", "B", "Caa", "Ca/C", "Def"]
    assert list(kernel.values()) == pytest.approx(expected, abs=1e-6)
    assert sum(kernel.values()) == pytest.approx(1)
    guarantee = paper.guarantee()
    assert guarantee.vacuous
    assert "EMPTY" in str(guarantee)
    assert guarantee.substitution_loss == pytest.approx(9.888, abs=1e-3)
    worst = guarantee.to_dict()["substitution_loss"]["worst"]
    assert paper.loss(worst["real"], worst["other"]) == guarantee.substitution_loss
    chen = vw.Mechanism("chen", credit, epsilon=1, substitutions=1)
    assert chen.guarantee().substitution_loss == pytest.approx(1)


def test_the_privacy_map_is_the_proven_bound(credit: vw.Chain) -> None:
    m = vw.Mechanism("sharp", credit, epsilon=1, radius=3.5)
    assert [m.privacy_map(d) for d in (0, 2.7, 3.5, 7)] == [0, 0, 1, 2]
    assert m.check(d_in=3.5, d_out=1)
    assert not m.check(d_in="3.500001", d_out=1)
    third = m.privacy_map("3.1")
    assert Fraction(third) >= Fraction(31, 35), "rounded up"
    b = vw.Mechanism("chen", credit, epsilon=1, substitutions=2)
    assert [b.privacy_map(d) for d in (0, 1, 2, 4)] == [0, 0.5, 1, 2]
    with pytest.raises(vw.ParameterError, match="whole number"):
        b.privacy_map(1.5)
    calibrated = vw.Mechanism("paper", credit, epsilon=1, radius=3.5, calibrate="exact")
    assert [calibrated.privacy_map(d) for d in (3.5, 3.6)] == [1, float("inf")]
    assert vw.Mechanism("cell", credit, epsilon=1, radius=3.5).privacy_map(7) == 2
    hamming = vw.Mechanism("exponential", credit, epsilon=1, radius=6, distance="hamming")
    assert [hamming.privacy_map(d) for d in (3, 6, 9)] == [0.5, 1, 1.5]


def test_the_privacy_map_is_never_below_the_exact_loss(credit: vw.Chain) -> None:
    for m in (
        vw.Mechanism("paper", credit, epsilon=1, radius=4),
        vw.Mechanism("cell", credit, epsilon=1, radius=4),
        vw.Mechanism("exponential", credit, epsilon=1, radius=6, distance="hamming"),
    ):
        for x in credit.states:
            for y in credit.states:
                distance = credit.distance(x, y, symmetric=True)
                assert m.loss(x, y) <= m.privacy_map(distance) * (1 + 1e-9), (m, x, y)


def test_sessions_release_what_privatize_does(sharp: vw.Mechanism) -> None:
    released = sharp.privatize(WALKS, key=KEY, release_id=ID)
    for name, walk in WALKS.items():
        s = sharp.session(name=name, key=KEY, release_id=ID)
        online = [s.start(walk[0])] + [s.step(real) for real in walk[1:]]
        assert online == released[name]
        with pytest.raises(vw.SessionError, match="give it to start"):
            sharp.session(name=name, key=KEY, release_id=ID).start()
    # Unless it is asked not to look at it.
    blind = sharp.privatize(WALKS, key=KEY, release_id=ID, start="initial")
    for name in WALKS:
        session = sharp.session(name=name, key=KEY, release_id=ID, start="initial")
        assert session.start() == blind[name][0]


def test_a_session_goes_on_from_its_bytes(sharp: vw.Mechanism) -> None:
    walk = WALKS["north"]
    whole = sharp.privatize({"north": walk}, key=KEY, release_id=ID)["north"]
    s = sharp.session(name="north", key=KEY, release_id=ID)
    head = [s.start(walk[0]), s.step(walk[1]), s.step(walk[2])]
    data = s.to_bytes()
    assert len(data) < 104
    again = vw.Session.from_bytes(data, sharp, name="north", key=KEY, release_id=ID)
    assert head + [again.step(real) for real in walk[3:]] == whole
    assert repr(again) == f"Session('north', 6 released, last {whole[-1]!r})"
    for name, mechanism, bytes_, message in [
        ("south", sharp, data, "another name"),
        (
            "north",
            vw.Mechanism("sharp", sharp.chain, epsilon=3, radius=3.5),
            data,
            "another mechanism",
        ),
        ("north", sharp, data[:-1], "not a saved session"),
        ("north", sharp, b"", "not a saved session"),
    ]:
        with pytest.raises(vw.SessionError, match=message):
            vw.Session.from_bytes(bytes_, mechanism, name=name, key=KEY, release_id=ID)


def test_sessions_refuse_what_makes_no_sense(sharp: vw.Mechanism) -> None:
    s = sharp.session()
    with pytest.raises(vw.SessionError, match="has not started"):
        s.step("B")
    s.start("B")
    with pytest.raises(vw.SessionError, match="under way"):
        s.start("B")
    for wrong, message in [
        ("Zzz", '"Zzz" is not a state of the chain'),
        ("caa", 'did you mean "Caa"'),
        (None, "missing value"),
        (2.5, "type float"),
        (True, "type bool"),
        (["B"], "type list"),
        (7, "the integer 7 is not a state"),
        (10**30, "larger than any label"),
    ]:
        with pytest.raises(vw.WalkError, match=re.escape(message)):
            s.step(wrong)  # type: ignore[arg-type]
    assert s.released == 1, "nothing was released for what was refused"
    with s:
        s.step("B")
    assert s.closed
    assert repr(s) == "Session('', closed)"
    for call in (s.start, s.to_bytes, lambda: s.step("B"), lambda: s.released, lambda: s.last):
        with pytest.raises(vw.SessionError, match="closed"):
            call()
    with pytest.raises(vw.SessionError, match="give it to start"), pytest.warns(vw.PrivacyWarning):
        sharp.session(start="first").start()


def test_an_empty_guarantee_is_refused(credit: vw.Chain) -> None:
    empty = vw.Mechanism("paper", credit, epsilon=1, radius=1)
    with pytest.raises(vw.EmptyGuaranteeError, match=re.escape("radius=2.7334")):
        empty.privatize([["B"]])
    with pytest.raises(vw.EmptyGuaranteeError):
        empty.session()
    assert len(empty.privatize([["B"]], allow_vacuous=True)) == 1


def test_sources(sharp: vw.Mechanism) -> None:
    with pytest.warns(vw.PrivacyWarning, match="NOT private"):
        first = sharp.privatize([WALKS["12"]] * 3, seed=7)
    with pytest.warns(vw.PrivacyWarning):
        assert sharp.privatize([WALKS["12"]] * 3, seed=7) == first
    assert first[0] != first[1], "each walk has randomness of its own"
    long = [["Baa"] * 200]
    assert sharp.privatize(long) != sharp.privatize(long)
    for how, message in [
        ({"key": b"short"}, "at least 16 are needed"),
        ({"key": "text"}, "a key is secret bytes"),
        ({"key": KEY, "seed": 1}, "not both"),
        ({"seed": -1}, "whole number"),
        ({"seed": 2**64}, "whole number"),
        ({"key": KEY}, "needs a name of its own"),
        ({"key": KEY, "names": ["a", "a"]}, "stands for two walks"),
        ({"names": ["a"]}, "1 names for 2 walks"),
        ({"names": [1.5, 2]}, "name of type float"),
        ({"start": "Zzz"}, "Zzz"),
        ({"threads": 0}, "threads"),
        ({"states": "both"}, "states="),
    ]:
        with pytest.raises(vw.VeilwalkError, match=message):
            sharp.privatize([["B"], ["A"]], **how)  # type: ignore[arg-type]


def test_a_mechanism_travels_as_bytes(credit: vw.Chain) -> None:
    for m in (
        vw.Mechanism("cell", credit.with_initial("Baa"), epsilon="1/3", radius=3.5),
        vw.Mechanism("paper", credit, epsilon=1, radius=3.5, calibrate="exact"),
        vw.Mechanism("chen", credit, epsilon=1, substitutions=2),
        vw.Mechanism("cell", credit, epsilon=1, radius=4, rule="permute-and-flip", chain_weight=0.5),
    ):
        again = pickle.loads(pickle.dumps(m))
        assert repr(again) == repr(m)
        assert again.fingerprint == m.fingerprint
        assert again.privatize(WALKS, key=KEY, release_id=ID) == m.privatize(WALKS, key=KEY, release_id=ID)
    function, (chain, arguments, fingerprint, version) = m.__reduce__()
    with pytest.raises(vw.VeilwalkError, match=re.escape("comes from veilwalk 0.0.9")):
        function(chain, arguments, fingerprint, "0.0.9")
    with pytest.raises(vw.VeilwalkError, match="not the one that its choices give"):
        function(credit.with_initial("Aaa"), arguments, fingerprint, version)
    # Whatever is changed, there is an exception, never a mechanism that promises something else.
    data = credit.to_bytes()
    for place in range(0, len(data), 7):
        changed = bytearray(data)
        changed[place] ^= 1
        with pytest.raises(vw.ChainError):
            vw.Chain.from_bytes(bytes(changed))
        with pytest.raises(vw.ChainError):
            vw.Chain.from_bytes(data[:place])


def test_releases_are_walks_of_the_chain(credit: vw.Chain) -> None:
    m = vw.Mechanism("auto", credit, epsilon=1, radius=3.5)
    for walk in m.privatize([["Aaa"] * 50, ["Def"] * 50]):
        assert all(credit.probability(a, b) > 0 for a, b in itertools.pairwise(walk))


@pytest.mark.parametrize("promise", [{"radius": 3.5}, {"substitutions": 1}])
def test_auto_is_at_least_as_good_as_cell(credit: vw.Chain, promise: dict[str, Any]) -> None:
    auto, cell = (vw.Mechanism(name, credit, epsilon=1, **promise) for name in ("auto", "cell"))
    presets = {"cell", "sharp", "tight", "believed"}
    # A choice that is not the usual one of a preset is named after it as well.
    assert auto.name.split()[0] in presets
    figure = "mean_distance" if "radius" in promise else "wrong_states"
    found, usual = (getattr(m.analyze(steps=40, simulate=4000, seed=1), figure) for m in (auto, cell))
    assert found <= 1.03 * usual, "but for what is simulated"
    assert vw.Mechanism("auto", credit, epsilon=1, **promise).fingerprint == auto.fingerprint


def test_releases_follow_the_kernel(sharp: vw.Mechanism) -> None:
    draws = 40_000
    walks = sharp.privatize(
        [["Caa", "Ca/C"]] * draws,
        start="Caa",
        key=secrets.token_bytes(32),
        names=list(range(draws)),
    )
    kernel = sharp.kernel(previous="Caa", real="Ca/C")
    for state, p in kernel.items():
        seen = sum(walk[1] == state for walk in walks)
        # Six standard deviations of a binomial, and one for the rarest.
        assert abs(seen - draws * p) <= 6 * (draws * p * (1 - p)) ** 0.5 + 1, state


def test_analyses_compare_and_tune(credit: vw.Chain) -> None:
    paper = vw.Mechanism("paper", credit, epsilon=1, radius=1)
    a = paper.analyze(start="Caa", steps=100)
    expected = [0.079301, 0.0075241, 1.6694e-4, 4.3579e-6]
    assert list(a.exceedance) == [2, 5, 10, 15]
    assert list(a.exceedance.values()) == pytest.approx(expected, rel=2e-4)
    assert len(a.distance_by_step) == 101
    with pytest.warns(vw.PrivacyWarning, match="NOT protected"):
        given = paper.analyze(real=[WALKS["north"], WALKS["south"]])
    assert given.to_dict()["impossible_moves"] == 0
    with pytest.raises(vw.WalkError, match="walk 0, step 1"):
        paper.analyze(real=[["Baa", "Zzz"]])
    with pytest.raises(vw.WalkError, match="two states or more"):
        paper.analyze(real=[["Baa"]])
    with pytest.raises(vw.ParameterError, match="steps"):
        paper.analyze(steps=0)
    with pytest.raises(vw.ParameterError, match="nats from 0 up"):
        paper.analyze(levels=[-1])
    c = vw.compare(credit, epsilon=3.5, radius=3.5, start="Baa")
    assert c.winner("wrong_states") == c.winner("closeness") == "tight"
    moves = ["paper", "exponential", "chen", "sharp", "cell"]
    exact = vw.compare(credit, epsilon=3.5, radius=3.5, start="Baa", mechanisms=moves)
    assert exact.winner("wrong_states") == "cell"
    assert "At equal exact loss 3.5" in str(c)
    alone = vw.compare(credit, epsilon=3.5, radius=3.5, mechanisms=["tight"], steps=20)
    assert alone.winner() == "tight"
    assert "±" in str(alone)
    t = vw.tune(credit, epsilon=1, radius=3.5, steps=20)
    first = t.to_dict()["ranking"][0]
    best = t.best().analyze(steps=20, simulate=20_000)
    assert (
        best.mean_distance
        < vw.Mechanism("cell", credit, epsilon=1, radius=3.5).analyze(steps=20).mean_distance
    )
    error = first["simulated"]["standard_errors"]["mean_distance_nats"]
    assert abs(best.mean_distance - first["mean_distance_nats"]) < 5 * error


def test_every_member_of_a_ranking_can_be_made(credit: vw.Chain) -> None:
    promise: dict[str, Any] = {"epsilon": 1, "radius": 3.5}
    ranking = vw.tune(credit, **promise, steps=5, aim="wrong-states").to_dict()["ranking"]
    observing = [member for member in ranking if member["candidates"] != "moves"]
    assert {member["believed_from"] for member in observing} >= {None, "0.02"}
    for member in [*observing, *(m for m in ranking if m["candidates"] == "moves")]:
        made = mechanism_of(member, credit, promise)
        for choice in ("candidates", "distance", "rule", "track"):
            assert getattr(made, choice) == member[choice], member
        assert made.chain_weight == Fraction(member["chain_weight"])
        if member["believed_from"] is not None:
            assert made.believed_from == Fraction(member["believed_from"])
        if member["simulated"] is None:
            exact = made.analyze(steps=5).mean_distance
            assert exact == pytest.approx(member["mean_distance_nats"], rel=1e-12)


def test_what_is_no_aim_is_refused(credit: vw.Chain) -> None:
    with pytest.raises(vw.ParameterError, match="aim"):
        vw.tune(credit, epsilon=1, radius=3.5, aim="beauty")


def test_every_run_has_an_id_and_repeats_under_it(sharp: vw.Mechanism) -> None:
    walks = {str(number): ["Baa", "A", "A", "Aa"] for number in range(50)}
    first, second = sharp.privatize(walks, key=KEY), sharp.privatize(walks, key=KEY)
    assert first != second, "each call is a run of its own"
    drawn = vw.new_release_id()
    assert len(drawn) == 32
    assert drawn != vw.new_release_id()
    released = sharp.privatize(walks, key=KEY, release_id=drawn)
    assert released == sharp.privatize(walks, key=KEY, release_id=drawn.upper())
    for block in (None, 2):
        how: dict[str, Any] = {} if block is None else {"block": block}
        session = sharp.session(name="a", key=KEY, **how)
        assert session.release_id is not None
        again = sharp.session(name="a", key=KEY, release_id=session.release_id, **how)
        other = sharp.session(name="a", key=KEY, **how)
        assert again.release_id == session.release_id != other.release_id
        assert sharp.session(name="a", **how).release_id is None
    with pytest.warns(vw.PrivacyWarning):
        seeded = [sharp.privatize(walks, seed=1, release_id=run) for run in (None, None, ID)]
    assert seeded[0] == seeded[1] != seeded[2]


def test_a_saved_session_is_taken_up_under_its_own_id(sharp: vw.Mechanism) -> None:
    session = sharp.session(name="north", key=KEY)
    session.start("Baa")
    data = session.to_bytes()
    again = vw.Session.from_bytes(data, sharp, name="north", key=KEY)
    assert again.release_id == session.release_id
    assert again.step("Baa") == session.step("Baa")
    with pytest.raises(vw.SessionError, match=f"release id {session.release_id}.*{ID}"):
        vw.Session.from_bytes(data, sharp, name="north", key=KEY, release_id=ID)
    with pytest.raises(vw.SessionError, match="another key or seed, or with none"):
        vw.Session.from_bytes(data, sharp, name="north", key=KEY[::-1])
    with pytest.raises(vw.SessionError, match="another key or seed, or with none"):
        vw.Session.from_bytes(sharp.session(name="north").to_bytes(), sharp, name="north", key=KEY)


@pytest.mark.parametrize("wrong", ["", "17", "g" * 32, 17])
def test_ids_that_are_none_are_refused(sharp: vw.Mechanism, wrong: Any) -> None:
    with pytest.raises(vw.ParameterError, match=r"release_id: .*32 hexadecimal digits"):
        sharp.privatize({"a": ["B"]}, key=KEY, release_id=wrong)
    with pytest.raises(vw.ParameterError, match="nothing can repeat it"):
        sharp.privatize({"a": ["B"]}, release_id=ID)
