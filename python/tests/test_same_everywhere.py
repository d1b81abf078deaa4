"""Rust, the command line and Python give the same: releases, kernels, losses, analyses.

Spark's part of it is in test_spark.py.
"""

from __future__ import annotations

import csv
import io
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ID, KEY, WALKS, built, without_attacker

import veilwalk as vw

MECHANISMS = ["paper", "sharp", "cell"]
Json = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("name", [*MECHANISMS, "tight", "believed"])
def test_releases(name: str, credit: vw.Chain, command: Callable[..., str], tmp_path: Path) -> None:
    m = vw.Mechanism(name, credit, epsilon=2, radius=3.5)
    released = m.privatize(WALKS, key=KEY, release_id=ID)
    # Rust
    keyed = built("-p", "veilwalk", "--example", "keyed") / "examples" / "keyed"
    for trajectory, walk in WALKS.items():
        words = [str(keyed), KEY.decode(), ID, name, "2", "3.5", trajectory, *walk]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert done.stdout.split() == released[trajectory]
    # the command line
    walks, key = tmp_path / "walks.csv", tmp_path / "key"
    rows = ["trajectory,state"] + [f"{t},{s}" for t, walk in WALKS.items() for s in walk]
    walks.write_text("\n".join(rows) + "\n")
    key.write_bytes(KEY)
    promise = ["--chain", "credit", "--mechanism", name, "--epsilon", 2, "--radius", 3.5]
    printed = command("privatize", walks, *promise, "--key-file", key, "--release-id", ID)
    by_command: dict[str, list[str]] = {}
    for row in csv.DictReader(io.StringIO(printed)):
        by_command.setdefault(row["trajectory"], []).append(row["state"])
    assert by_command == released


@pytest.mark.parametrize("name", [*MECHANISMS, "exponential", "tight", "believed"])
@pytest.mark.parametrize("calibrate", ["theorem", "exact"])
def test_kernels_and_losses(name: str, calibrate: Any, credit: vw.Chain, command_json: Json) -> None:
    m = vw.Mechanism(name, credit, epsilon=2, radius=3.5, calibrate=calibrate)
    promise = ["--chain", "credit", "--mechanism", name, "--epsilon", 2, "--radius", 3.5]
    promise += ["--calibrate", calibrate]
    kernel = command_json("kernel", "--previous", "Caa", "--real", "Ca/C", *promise)
    assert m.kernel(previous="Caa", real="Ca/C") == kernel["probabilities"]
    assert m.guarantee(attack=False).to_dict() == without_attacker(command_json("guarantee", *promise))


@pytest.mark.parametrize("name", ["chen", "cell", "tight", "believed"])
def test_substitutions(name: str, credit: vw.Chain, command_json: Json) -> None:
    m = vw.Mechanism(name, credit, epsilon="1/3", substitutions=2)
    promise = ["--chain", "credit", "--mechanism", name, "--epsilon", "1/3", "--substitutions", 2]
    assert m.guarantee(attack=False).to_dict() == without_attacker(command_json("guarantee", *promise))


@pytest.mark.parametrize("name", ["cell", "tight"])
@pytest.mark.parametrize("start", [None, "Caa"])
def test_analyses(start: str | None, name: str, credit: vw.Chain, command_json: Json) -> None:
    m = vw.Mechanism(name, credit, epsilon=2, radius=3.5)
    found = m.analyze(start=start, steps=40, simulate=100, seed=3).to_dict()
    words = ["--chain", "credit", "--mechanism", name, "--epsilon", 2, "--radius", 3.5]
    words += ["--steps", 40, "--simulate", 100, "--seed", 3, "--by-step"]
    words += ["--from", start] if start else []
    assert found == command_json("analyze", *words)


def test_levels_go_by_the_diameter(command_json: Json, tmp_path: Path) -> None:
    path = tmp_path / "small.csv"
    path.write_text(",a,b\na,0.5,0.5\nb,0.5,0.5\n")
    chain = vw.Chain.read(path)
    found = vw.Mechanism("cell", chain, epsilon=1, radius=1).analyze(steps=2)
    assert list(found.exceedance) == [0.06, 0.15, 0.3, 0.4]
    assert found.to_dict()["promise"] == "epsilon 1, radius 1 nat"
    words = ["--chain", path, "--mechanism", "cell", "--epsilon", 1, "--radius", 1, "--steps", 2]
    assert found.to_dict() == command_json("analyze", *words, "--by-step")


def test_comparisons(credit: vw.Chain, command_json: Json) -> None:
    found = vw.compare(credit, epsilon=[1, 2], radius=3.5, start="Baa", steps=30).to_dict()
    words = ["--chain", "credit", "--epsilons", "1,2", "--radius", 3.5, "--from", "Baa"]
    printed = command_json("compare", *words, "--steps", 30, "--no-blocks")
    assert printed.pop("delays") == []
    for comparison in printed["comparisons"]:
        for row in [*comparison["rows"], *comparison["winners"].values()]:
            # The command line says which command releases walks.
            row.pop("command", None)
    assert found == printed


def test_tuning(credit: vw.Chain, command_json: Json) -> None:
    found = vw.tune(credit, epsilon=1, radius=3.5, steps=20, aim="wrong-states").to_dict()
    words = ["--chain", "credit", "--epsilon", 1, "--radius", 3.5, "--steps", 20]
    printed = command_json("tune", *words, "--aim", "wrong-states")
    printed.pop("command")
    assert found == printed


def test_chains(command_json: Json, tmp_path: Path) -> None:
    printed = command_json("chain", "check", "downtown")
    chain = vw.Chain.downtown()
    assert chain.hash == printed["hash"]
    assert chain.stationary() == printed["stationary"]
    assert chain.entropy_rate() == printed["entropy_rate_nats"]
    assert chain.diameter()[2] == printed["diameter_nats"]
    closest = chain.closest_pair()
    assert closest is not None
    assert list(closest) == [printed["closest_pair"][k] for k in ("from", "to", "nats")]
    file = tmp_path / "chain.csv"
    file.write_text("from,to,probability\na,b,1\nb,a,0.5\nb,b,0.5\n")
    given = vw.Chain.from_transitions([("a", "b", 1), ("b", "a", 0.5), ("b", "b", 0.5)])
    assert given.hash == command_json("chain", "check", file)["hash"]
