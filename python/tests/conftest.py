"""What the tests share."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import veilwalk as vw

ROOT = Path(__file__).resolve().parents[2]
KEY = b"a key of the tests, not a secret"
ID = "00112233445566778899aabbccddeeff"
"""The id of a run that is repeated."""
WALKS = {
    "north": ["Baa", "Baa", "A", "A", "Aa", "A"],
    "south": ["B", "Caa", "Ca/C", "Def"],
    "east": ["Ba"],
    "12": ["Aaa", "Aaa", "Aa", "Aa", "A", "Baa", "Ba", "B", "B", "Caa"],
}


@pytest.fixture(scope="session")
def credit() -> vw.Chain:
    return vw.Chain.credit()


@pytest.fixture(scope="session")
def sharp(credit: vw.Chain) -> vw.Mechanism:
    return vw.Mechanism("sharp", credit, epsilon=2, radius=3.5)


def built(*what: str) -> Path:
    """The folder of a program of the workspace, built once; VEILWALK_PROGRAMS names one with all of them."""
    if "VEILWALK_PROGRAMS" in os.environ:
        return Path(os.environ["VEILWALK_PROGRAMS"])
    subprocess.run(["cargo", "build", "--quiet", *what], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "debug"


@pytest.fixture(scope="session")
def command() -> Callable[..., str]:
    """Runs the `veilwalk` command, and gives what it prints."""
    program = built("-p", "veilwalk-cli") / "veilwalk"

    def run(*words: object) -> str:
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def without_attacker(guarantee: dict[str, Any]) -> dict[str, Any]:
    """What the command says of a guarantee but for what an attacker guesses, which is `Mechanism.attack`."""
    assert set(guarantee["attacker"]) >= {"state", "first", "whole_walk", "odds"}
    return {key: value for key, value in guarantee.items() if key != "attacker"}


@pytest.fixture(scope="session")
def command_json(command: Callable[..., str]) -> Callable[..., dict[str, Any]]:
    def run(*words: object) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(command(*words, "--format", "json"))
        return answer

    return run
