"""The tutorial runs from top to bottom, and says what it says it would."""

from __future__ import annotations

import re
from pathlib import Path

import nbclient
import nbformat
import pytest
from conftest import ID, KEY, ROOT

NOTEBOOK = ROOT / "python" / "tutorial.ipynb"
OF_CASES = ROOT / "python" / "tutorial-cases.ipynb"
LOG = ROOT.parent / "shared" / "data" / "events" / "receipt.csv.gz"


@pytest.mark.slow
def test_the_tutorial_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    text = str(notebook)
    assert "differ in the third state only" in text
    assert "tight: epsilon 4 within a radius of 4 nats" in text, "as the text has it of auto"
    assert "released.csv" in text
    released = (tmp_path / "released.csv").read_text().splitlines()
    trips = (tmp_path / "trips.csv").read_text().splitlines()
    assert released[0] == "trajectory,step,state,observed"
    assert len(released) == len(trips)


@pytest.mark.slow
@pytest.mark.parametrize("log", ["real", "made up"])
def test_the_tutorial_of_cases_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str) -> None:
    """On the real log, which is not part of the repository, and on one of the same shape."""
    if log == "real" and not LOG.exists():
        pytest.skip(f"there is no {LOG}")
    monkeypatch.setenv("RECEIPT_LOG", str(LOG) if log == "real" else "")
    notebook = nbformat.read(OF_CASES, as_version=4)  # type: ignore[no-untyped-call]
    # Figures of one release move with its noise: that of the test is the same each time.
    (release,) = (cell for cell in notebook.cells if "m.privatize(walks)" in cell.source)
    release.source = release.source.replace("(walks)", f"(walks, key={KEY!r}, release_id={ID!r})")
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    said = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    assert "1434 walks" in said
    assert "learn from many releases" in said
    found = re.search(r"learned: off by ([\d.]+); counted: off by ([\d.]+); (\d+) of the ten", said)
    assert found is not None, said
    learned, counted, top = float(found[1]), float(found[2]), int(found[3])
    assert learned < 0.09 < counted
    # The tenth and the eleventh move of the log that is made up are nearly as frequent.
    assert top >= (10 if log == "real" else 8)
    if log == "real":
        assert "8577 events of 1434 cases" in said
    assert "Laplace counts" in said
    assert "The estimate beats the chain alone" in said
    guessed = re.search(r"right about a state: (\d+)%, and after learning (\d+)%", said)
    assert guessed is not None, said
    assert int(guessed[1]) < int(guessed[2])
