"""The tutorial runs from top to bottom, and says what it says it would."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat

NOTEBOOK = Path(__file__).parents[1] / "tutorial.ipynb"


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
