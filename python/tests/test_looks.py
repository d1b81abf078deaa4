"""What people see: texts, HTML and plots."""

from __future__ import annotations

import html.parser
import io
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from conftest import WALKS

import veilwalk as vw


class _Balanced(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_whole_and_safe(sharp: vw.Mechanism) -> None:
    odd = vw.Chain.from_matrix([[0.5, 0.5], [1, 0]], labels=["<script>", "a&b"])
    shown: list[Any] = [
        sharp.chain,
        vw.Chain.downtown(),
        odd,
        sharp.guarantee(),
        vw.Mechanism("paper", sharp.chain, epsilon=1, radius=1).guarantee(),
        vw.Mechanism("chen", sharp.chain, epsilon=1, substitutions=1).guarantee(),
        vw.Mechanism("sharp", odd, epsilon=1, radius=3).guarantee(),
        sharp.analyze(steps=20),
        vw.compare(sharp.chain, epsilon=1, radius=3.5, steps=20),
        vw.tune(sharp.chain, epsilon=1, radius=3.5, steps=10),
    ]
    for each in shown:
        page = each._repr_html_()
        parser = _Balanced()
        parser.feed(page)
        assert parser.open == []
        assert "<script>" not in page
        assert "http" not in page, "self-contained"
        assert type(each).__name__ in repr(each)


def test_the_guarantee_in_words(sharp: vw.Mechanism) -> None:
    words = str(sharp.guarantee())
    assert words.startswith("sharp: epsilon 2 within a radius of 3.5 nats")
    flowing = " ".join(words.split())
    assert "two walks that differ in the third state only" in flowing
    assert "a stay of k steps counts k times" in flowing
    assert "states of a walk are correlated" in flowing
    shown = sharp.guarantee()._repr_html_()
    assert all(words in shown for words in ("third state only", "counts k times", "correlated"))
    empty = vw.Mechanism("paper", sharp.chain, epsilon=1, radius=1).guarantee()
    assert "correlated" not in empty._repr_html_()
    # On a cycle no state can be replaced in a walk that stays possible.
    cycle = vw.Chain.from_transitions([("a", "b", 1), ("b", "c", 1), ("c", "a", 1)])
    assert "not covered" in vw.Mechanism("chen", cycle, epsilon=1, substitutions=1).guarantee()._repr_html_()
    assert repr(sharp.guarantee()).startswith("Guarantee(sharp, epsilon=2, radius=3.5, covers")


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def test_plots(sharp: vw.Mechanism) -> None:
    errors = sharp.plot_errors(start="Caa", steps=30)
    left, right = errors.axes
    assert len(np.asarray(left.lines[0].get_ydata())) == 31
    assert [line.get_label() for line in right.lines] == [f"over {n} nats" for n in (2, 5, 10, 15)]
    entropy = sharp.plot_entropy(steps=30)
    names = [tick.get_text() for tick in entropy.axes[0].get_yticklabels()]
    assert {"sharp", "cell", "paper"} <= set(names)
    assert len(entropy.axes[0].patches) == len(names)
    walk = sharp.plot_walk(WALKS["12"], releases=5)
    assert len(walk.axes[0].lines) == 6
    own = sharp.plot_walk(steps=12, start="Baa")
    assert len(np.asarray(own.axes[0].lines[-1].get_ydata())) == 13
    for figure in (errors, entropy, walk, own):
        assert _png(figure).startswith(b"\x89PNG")
    with pytest.raises(vw.ParameterError, match="two states"):
        sharp.plot_walk(["B"])


def test_nothing_else_is_imported_with_the_package() -> None:
    program = (
        "import sys, veilwalk; "
        "print([m for m in ('numpy', 'pandas', 'polars', 'pyarrow', 'matplotlib', 'pyspark') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
