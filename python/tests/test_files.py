"""Models, mechanisms, ledgers, manifests and audits: the command line's files, and its figures."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import ID, KEY, WALKS, without_attacker

import veilwalk as vw

Json = Callable[..., dict[str, Any]]
PROMISE = ["--epsilon", 2, "--radius", 3.5]


@pytest.fixture(scope="module")
def cell(credit: vw.Chain) -> vw.Mechanism:
    return vw.Mechanism("cell", credit, epsilon=2, radius=3.5)


def table() -> pl.DataFrame:
    rows = [(name, s) for name, walk in WALKS.items() for s in walk]
    return pl.DataFrame({"trajectory": [r[0] for r in rows], "state": [r[1] for r in rows]})


def test_models(cell: vw.Mechanism, command: Callable[..., str], tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.model", tmp_path / "theirs.model"
    # A chain of its own: a model has everything that was computed of its chain so far.
    vw.Mechanism("cell", vw.Chain.credit(), epsilon=2, radius=3.5).compile(ours)
    command("chain", "compile", "credit", "-o", theirs, "--mechanism", "cell", *PROMISE)
    assert ours.read_bytes() == theirs.read_bytes()
    vw.Chain.credit().compile(ours)
    command("chain", "compile", "credit", "-o", tmp_path / "plain.model")
    assert ours.read_bytes() == (tmp_path / "plain.model").read_bytes()
    chain = vw.Chain.read(theirs)
    assert chain == cell.chain
    again = vw.Mechanism("cell", chain, epsilon=2, radius=3.5)
    assert again.fingerprint == cell.fingerprint
    assert again.privatize(WALKS, key=KEY, release_id=ID) == cell.privatize(WALKS, key=KEY, release_id=ID)
    # Where walks start is what it was compiled with, or what is asked for.
    vw.Chain.credit(initial="Baa").compile(ours)
    assert vw.Chain.read(ours).initial["Baa"] == 1
    assert vw.Chain.read(ours, initial="uniform") == vw.Chain.credit()
    assert pickle.loads(pickle.dumps(vw.Chain.read(ours))) == vw.Chain.credit(initial="Baa")


def test_models_that_are_refused(tmp_path: Path, credit: vw.Chain) -> None:
    path = tmp_path / "credit.model"
    credit.compile(path)
    with pytest.raises(vw.ChainError, match="already compiled"):
        vw.Chain.read(path, normalize=True)
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(vw.ChainError, match="not whole"):
        vw.Chain.read(path)
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(vw.ChainError, match="damaged"):
        vw.Chain.read(path)
    with pytest.raises(vw.VeilwalkError, match="no/such"):
        credit.compile("no/such/folder")


def test_mechanism_files(
    credit: vw.Chain, cell: vw.Mechanism, command: Callable[..., str], command_json: Json, tmp_path: Path
) -> None:
    file = tmp_path / "m.json"
    for m in (cell, vw.Mechanism("chen", credit, epsilon="1/3", substitutions=2)):
        m.save(file)
        again = vw.Mechanism.read(file, credit)
        assert again.name == m.name
        assert again.fingerprint == m.fingerprint
        assert pickle.loads(pickle.dumps(again)).fingerprint == m.fingerprint
        printed = command_json("guarantee", "--chain", "credit", "--mechanism", file)
        assert m.guarantee(attack=False).to_dict() == without_attacker(printed)
    tuned = tmp_path / "tuned.json"
    command("tune", "--chain", "credit", *PROMISE, "--steps", 20, "-o", tuned)
    winner = vw.Mechanism.read(tuned, credit)
    winner.save(file)
    assert json.loads(file.read_text()) == json.loads(tuned.read_text())
    with pytest.raises(vw.ParameterError, match="for a chain with hash"):
        vw.Mechanism.read(tuned, vw.Chain.downtown())
    cell.save(file)
    text = file.read_text()
    first = json.loads(text)["scales"][0]["eta"]
    file.write_text(text.replace(f'"{first}"', '"1/7"', 1))
    with pytest.raises(vw.ParameterError, match="the file was changed"):
        vw.Mechanism.read(file, credit)
    file.write_text("{}")
    with pytest.raises(vw.ParameterError, match=r"m\.json"):
        vw.Mechanism.read(file, credit)


@pytest.mark.parametrize("name", ["paper", "sharp", "cell"])
def test_a_mechanism_from_a_file_starts_alike(name: str, credit: vw.Chain, tmp_path: Path) -> None:
    m = vw.Mechanism(name, credit, epsilon=2, radius=3.5)
    m.save(tmp_path / "m.json")
    again = vw.Mechanism.read(tmp_path / "m.json", credit)
    run: Any = {"key": KEY, "release_id": ID}
    assert again.privatize(WALKS, **run) == m.privatize(WALKS, **run)
    assert again.guarantee().to_dict() == m.guarantee().to_dict()


@pytest.mark.parametrize("name", ["paper", "sharp", "cell"])
def test_audits(name: str, credit: vw.Chain, command_json: Json) -> None:
    m = vw.Mechanism(name, credit, epsilon=2, radius=3.5)
    found = m.audit(draws=20_000, pairs=5, seed=7)
    words = ["--mechanism", name, *PROMISE, "--draws", 20_000, "--pairs", 5, "--seed", 7]
    assert found.to_dict() == command_json("audit", "--chain", "credit", *words)
    assert found.passed
    assert "passed" in str(found).lower()
    with pytest.raises(vw.ParameterError, match="draws"):
        m.audit(draws=0)


def test_ledgers(
    cell: vw.Mechanism, command: Callable[..., str], command_json: Json, tmp_path: Path, credit: vw.Chain
) -> None:
    path, walks = tmp_path / "budget", tmp_path / "walks.csv"
    released = cell.privatize(WALKS, key=KEY, release_id=ID, ledger=path, budget=4)
    assert released == cell.privatize(WALKS, key=KEY, release_id=ID)
    ledger = vw.Ledger(path)
    assert ledger.spent() == {name: Fraction(2) for name in sorted(WALKS)}
    assert ledger.to_dict() == command_json("ledger", "show", path)
    # The command line goes on in the same file.
    table().filter(pl.col("trajectory") == "north").write_csv(walks)
    command("privatize", walks, "--chain", "credit", *PROMISE, "--ledger", path)
    assert ledger.spent()["north"] == 4
    for give in (WALKS, table(), [WALKS["north"]]):
        names = ["north"] if isinstance(give, list) else None
        with pytest.raises(vw.LedgerError, match="exceed the budget of 4; none of these walks was released"):
            cell.privatize(give, ledger=path, budget=4, names=names)
    assert ledger.spent()["south"] == 2, "nobody is charged then"
    lists = pl.DataFrame({"trajectory": ["new", "empty"], "state": [["B", "B"], []]})
    cell.privatize(lists, ledger=path)
    assert ledger.spent()["new"] == 2
    assert "empty" not in ledger.spent(), "nothing of it was released"
    # Bad walks are not charged.
    with pytest.raises(vw.WalkError):
        cell.privatize({"north": ["Zzz"]}, ledger=path)
    assert ledger.spent()["north"] == 4
    other = vw.Mechanism("cell", credit, epsilon=1, substitutions=1)
    with pytest.raises(vw.LedgerError, match="replaced state"):
        other.privatize(WALKS, ledger=path, budget=1)
    other.privatize({"south": WALKS["south"]}, ledger=path)
    assert "replaced state" in ledger.to_dict()["spent"]["south"]["unit"]
    with pytest.raises(vw.LedgerError, match="no such ledger"):
        vw.Ledger(tmp_path / "none").spent()
    with pytest.raises(vw.ParameterError, match="needs a name of its own"):
        cell.privatize([["B", "B"]], ledger=path)
    with pytest.raises(vw.ParameterError, match="ledger; give one"):
        cell.privatize(WALKS, budget=3)


def test_people_in_a_ledger(cell: vw.Mechanism, command: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "budget"
    ledger = vw.Ledger(path)
    person = dict.fromkeys(WALKS, "ann")
    cell.privatize(WALKS, ledger=path, person=person, budget=2 * len(WALKS))
    assert ledger.spent() == {"ann": 2 * len(WALKS)}, "all walks of a person add up"
    with pytest.raises(vw.LedgerError, match="has spent epsilon"):
        cell.privatize(table(), ledger=path, person=person, budget=2 * len(WALKS), window="30d")
    cell.session(name="late", ledger=path, person="ann")
    ledger.charge(cell, ["later"], person={"later": "ann"})
    assert ledger.spent() == {"ann": 2 * len(WALKS) + 4}
    ledger.set_budget(3, window="1h")
    assert ledger.to_dict()["budget"] == {"epsilon": 3.0, "exact": "3", "window": "1h"}
    for attempt in (
        lambda: cell.privatize({"x": ["B", "B"]}, ledger=path, person={"x": "ann"}),
        lambda: cell.session(name="x", ledger=path, person="ann"),
    ):
        with pytest.raises(vw.LedgerError, match="in the last 1h"):
            attempt()
    ledger.set_budget(None)
    with pytest.raises(vw.ParameterError, match="whose walk"):
        cell.privatize({"x": ["B", "B"]}, ledger=path, person={})
    with pytest.raises(vw.ParameterError, match="window"):
        cell.privatize(WALKS, ledger=path, budget=3, window="soon")
    with pytest.raises(vw.ParameterError, match="give budget= too"):
        cell.privatize(WALKS, ledger=path, window="30d")
    # The same run again costs nothing; the same run with other states is refused.
    once = cell.privatize({"again": ["B", "B", "B"]}, ledger=path, seed=3)
    assert cell.privatize({"again": ["B", "B", "B"]}, ledger=path, seed=3) == once
    assert ledger.spent()["again"] == 2
    with pytest.raises(vw.LedgerError, match="real states"):
        cell.privatize({"again": ["B", "Caa", "B"]}, ledger=path, seed=3)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(vw.LedgerError, match="damaged"):
        ledger.spent()


def test_threads_charge_one_after_another(cell: vw.Mechanism, tmp_path: Path) -> None:
    path = tmp_path / "budget"

    def work(number: int) -> None:
        cell.privatize({f"walk {number % 2}": ["B", "B"]}, ledger=path)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(16)))
    assert vw.Ledger(path).spent() == {"walk 0": 16, "walk 1": 16}


@pytest.mark.parametrize("block", [None, 3, "all"])
def test_manifests(block: Any, credit: vw.Chain, command: Callable[..., str], tmp_path: Path) -> None:
    m = vw.Mechanism("sharp", credit, epsilon=2, radius=3.5)
    ours, theirs = tmp_path / "ours.csv", tmp_path / "theirs.csv"
    walks, key = tmp_path / "walks.csv", tmp_path / "key"
    table().write_csv(walks)
    key.write_bytes(KEY)
    words = [] if block is None else ["--block", block]
    promise = ["--chain", "credit", "--mechanism", "sharp", *PROMISE, "--key-file", key, "--release-id", ID]
    command("privatize", walks, *promise, *words, "--grouped", "-o", theirs)
    m.privatize(table(), key=KEY, release_id=ID, block=block).write_csv(ours)
    assert ours.read_bytes() == theirs.read_bytes()
    written = m.write_manifest(ours, randomness="key", release_id=ID, block=block)
    manifest = json.loads((tmp_path / "ours.csv.manifest.json").read_text())
    assert manifest == written
    by_command = json.loads((tmp_path / "theirs.csv.manifest.json").read_text())
    manifest["release"]["file"] = "theirs.csv"
    assert manifest == by_command
    assert vw.verify(theirs, credit) == by_command
    assert "every move possible" in command("verify", ours, "--chain", "credit")


def test_what_is_not_as_the_manifest_says(credit: vw.Chain, sharp: vw.Mechanism, tmp_path: Path) -> None:
    path = tmp_path / "released.parquet"
    released = sharp.privatize(table())
    released.write_parquet(path)
    with pytest.raises(vw.ReleaseFileError, match="manifest"):
        vw.verify(path, credit)
    written = sharp.write_manifest(path, randomness="system")
    assert written["coverage"] == {"states": 9, "covered": 6, "share": pytest.approx(6 / 9)}
    with pytest.warns(vw.PrivacyWarning, match=r"not private \(only 6 of 9 states"):
        assert not vw.verify(path, credit)["private"]
    every = vw.Mechanism("chen", credit, epsilon=2, substitutions=1)
    every.privatize(table()).write_parquet(path)
    assert every.write_manifest(path, randomness="system")["private"]
    assert vw.verify(path, credit)["private"]
    released.write_parquet(path)
    sharp.write_manifest(path, randomness="system")
    with pytest.raises(vw.ReleaseFileError, match="released under the chain"):
        vw.verify(path, vw.Chain.downtown())
    released[::-1].write_parquet(path)
    with pytest.raises(vw.ReleaseFileError, match="changed after the release"):
        vw.verify(path, credit)
    table().with_columns(state=pl.lit("Zzz")).write_parquet(path)
    with pytest.raises(vw.ReleaseFileError, match='row 1: "Zzz" is not a state'):
        sharp.write_manifest(path, randomness="system")
    jump = pl.DataFrame({"trajectory": ["a", "a"], "state": ["Aaa", "Def"]})
    jump.write_parquet(path)
    with pytest.raises(vw.ReleaseFileError, match="cannot move from"):
        sharp.write_manifest(path, randomness="system")
    released.write_parquet(path)
    with pytest.raises(vw.ParameterError, match="randomness"):
        sharp.write_manifest(path, randomness="dice")  # type: ignore[arg-type]
    released.with_columns(day=pl.lit("Monday")).write_parquet(path)
    sharp.write_manifest(path, randomness="seed", release_id=ID, start="first", keep=["day"])
    with pytest.warns(vw.PrivacyWarning) as told:
        vw.verify(path, credit)
    messages = " ".join(str(warning.message) for warning in told)
    assert all(word in messages for word in ("not private", "the seed", "real one", "unprotected"))
    assert len(told) == 2


def test_walks_of_the_chain(credit: vw.Chain) -> None:
    walks = credit.sample(200, 30, seed=5)
    assert walks == credit.sample(200, 30, seed=5)
    assert walks != credit.sample(200, 30, seed=6)
    assert {len(walk) for walk in walks} == {31}
    assert all(credit.probability(a, b) > 0 for walk in walks for a, b in itertools.pairwise(walk))
    numbers = credit.sample(200, 30, seed=5, states="numbers")
    assert [[credit.states[n] for n in walk] for walk in numbers] == walks
    assert {walk[0] for walk in credit.sample(50, 1, start="Baa")} == {"Baa"}
    # As often as the chain says, within five standard errors.
    ends = credit.sample(40_000, 1, start="Caa", seed=1, states="numbers")[:, 1]
    counts = np.bincount(ends, minlength=9) / len(ends)
    for state, share in zip(credit.states, counts, strict=True):
        p = credit.probability("Caa", state)
        assert abs(share - p) <= 5 * (p * (1 - p) / len(ends)) ** 0.5
    assert credit.sample(0, 5) == []
    for count, steps in ((-1, 3), (2, True)):
        with pytest.raises(vw.ParameterError, match="whole number"):
            credit.sample(count, steps)


def test_chains_too_large_for_a_table() -> None:
    count = 20_000
    ring = [(str(i), str((i + d) % count), 0.5) for i in range(count) for d in (1, count - 1)]
    chain = vw.Chain.from_transitions(ring)
    m = vw.Mechanism("auto", chain, epsilon=2, radius=3, calibrate=None)
    assert m.name == "sharp"
    released = m.privatize([["5", "6", "7"]], start="5")
    assert len(released[0]) == 3
    assert chain.distance("5", "7") == pytest.approx(2 * 0.6931, abs=1e-3)
    assert chain.distance("7", "5", symmetric=True) == pytest.approx(2 * 0.6931, abs=1e-3)
    for needs_a_table in (chain.diameter, lambda: m.analyze(steps=2), lambda: m.loss("1", "2"), m.audit):
        with pytest.raises(vw.VeilwalkError, match="table of all distances"):
            needs_a_table()
    with pytest.raises(vw.VeilwalkError, match="table of all distances"):
        m.privatize([["5", "6"]], block=2)
