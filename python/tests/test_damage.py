"""Damaged files, and models that are overwritten in use: exceptions of the package's own."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import pytest

import veilwalk as vw


def damaged(good: bytes, ways: int) -> list[bytes]:
    """Flipped bits, cuts and pages of zeros; what is no damage is left out."""
    numbers = random.Random(3)
    found = []
    for way in range(ways):
        changed = bytearray(good)
        place = numbers.randrange(len(good))
        if way % 4 == 0:
            del changed[place:]
        elif way % 4 == 1:
            end = min(len(good), place + 4096)
            changed[place:end] = bytes(end - place)
        else:
            changed[place] ^= 1 << numbers.randrange(8)
        if bytes(changed) != good:
            found.append(bytes(changed))
    return found


def test_a_damaged_model_is_refused(credit: vw.Chain, tmp_path: Path) -> None:
    path = tmp_path / "credit.model"
    vw.Mechanism("cell", credit, epsilon=2, radius=3.5).compile(path)
    for content in damaged(path.read_bytes(), 200):
        path.write_bytes(content)
        with pytest.raises(vw.VeilwalkError, match=r"credit\.model"):
            vw.Chain.read(path)


def test_a_damaged_mechanism_file_is_refused_or_says_the_same(credit: vw.Chain, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    for m in (
        vw.Mechanism("cell", credit, epsilon=2, radius=3.5),
        vw.Mechanism("sharp", credit, epsilon=2, radius=3.5),
    ):
        m.save(path)
        for content in damaged(path.read_bytes(), 200):
            path.write_bytes(content)
            # Blanks between two fields may change.
            try:
                again = vw.Mechanism.read(path, credit)
            except vw.VeilwalkError as error:
                said = str(error)
            else:
                said = "m.json" if again.fingerprint == m.fingerprint else "another mechanism"
            assert "m.json" in said


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="models are read into memory there")
def test_a_model_that_is_overwritten_in_use_releases_nothing_more(tmp_path: Path) -> None:
    states = 1600
    moves = [(str(i), str((i + step) % states), 1.0 + step) for i in range(states) for step in (1, 2, 7)]
    used, other = tmp_path / "used.model", tmp_path / "other.model"
    vw.Chain.from_transitions(moves, counts=True).compile(used)
    vw.Chain.from_transitions(moves[::-1], counts=True).compile(other)
    assert used.stat().st_size > 16 << 20
    chain = vw.Chain.read(used)
    m = vw.Mechanism("sharp", chain.with_initial("5"), epsilon=2, radius=60)
    session = m.session(start="first")
    session.start("0")
    assert session.step("1") in chain.states
    assert len(m.privatize([["0", "1", "3"]])[0]) == 3
    shutil.copyfile(other, used)
    with pytest.raises(vw.ChainError, match=r"used\.model: the model was changed in place"):
        session.step("2")
    with pytest.raises(vw.ChainError, match="changed in place"):
        m.privatize([["0", "1", "3"]])
