"""Files that the command line reads and writes too: ledgers, and manifests of releases."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from veilwalk import _native
from veilwalk.chain import Chain
from veilwalk.exact import Exact, exact_text, fraction, several
from veilwalk.how import different, name_text
from veilwalk.warning import warn

if TYPE_CHECKING:
    from veilwalk.mechanism import Mechanism

Path = str | os.PathLike[str]


class Ledger:
    """How much epsilon was spent on each walk, over all releases: the file that `--ledger` names.

    `privatize(..., ledger=path, budget=3)` charges every walk before it is released, and so does
    `session`. For Spark, `charge` the walks first. A ledger counts releases on one chain, in one unit.

    >>> import pathlib, tempfile
    >>> import veilwalk as vw
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = vw.Ledger(pathlib.Path(folder.name) / "budget")
    >>> m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=1, radius=3.5)
    >>> ledger.charge(m, ["firm 12", "firm 13"], budget=2)
    >>> released = m.privatize({"firm 12": ["B", "Caa"]}, ledger=ledger, budget=2)
    >>> ledger.spent()
    {'firm 12': Fraction(2, 1), 'firm 13': Fraction(1, 1)}
    >>> m.privatize({"firm 12": ["B", "Caa"]}, ledger=ledger.path, budget=2)
    Traceback (most recent call last):
    ...
    veilwalk.LedgerError: ... 1 more would exceed the budget of 2; nothing was released...
    >>> folder.cleanup()
    """

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)

    def charge(self, mechanism: Mechanism, names: Iterable[object], *, budget: Exact | None = None) -> None:
        """Charges one release of each of these walks under a mechanism, or none of them if one has not
        enough of its budget left. When this returns, the charge is on the disk."""
        _native.charge_ledger(
            self.path,
            mechanism._native,
            different([name_text(name) for name in several("names", names)]),
            None if budget is None else exact_text("budget", budget),
        )

    def spent(self) -> dict[str, Fraction]:
        """The epsilon that was spent on each walk, exactly."""
        return {name: fraction(entry["exact"]) for name, entry in self.to_dict()["spent"].items()}

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `veilwalk ledger show --format json` prints it."""
        return json.loads(_native.read_ledger(self.path))  # type: ignore[no-any-return]

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"Ledger({self.path!r})"


def verify(release: Path, chain: Chain) -> dict[str, Any]:
    """Holds a release in a file against its manifest and the chain, as `veilwalk verify` does, and gives the
    manifest.

    The file and the chain have to be those of the manifest, every released state one of the chain's, every
    move possible; the scale and the guarantee are computed again. A manifest is not signed: whoever can
    write both files can forge both.
    """
    manifest: dict[str, Any] = json.loads(_native.verify(os.fspath(release), chain._native))
    name = os.fspath(release)
    if not manifest["private"]:
        empty = "; nothing is within the radius" if manifest["guarantee"]["vacuous"] else ""
        warn(f"{name}: this release is not private (randomness: {manifest['randomness']}{empty})")
    if manifest["start"] == "first":
        warn(f"{name}: the first state of every walk is the real one")
    if manifest["kept_columns"]:
        warn(f"{name}: {', '.join(manifest['kept_columns'])} was copied as it is, unprotected")
    return manifest


class Audit:
    """What an audit of the sampler found. `print` says it in words; `to_dict()` has every figure, as
    `veilwalk audit --format json` prints them."""

    __slots__ = ("_figures", "_words")

    def __init__(self, figures: str, words: str) -> None:
        self._figures: dict[str, Any] = json.loads(figures)
        self._words = words.strip()

    @property
    def passed(self) -> bool:
        """Whether nothing was found that chance would not do. A right sampler fails with a chance below one
        in a million."""
        return bool(self._figures["verdict"] == "passed")

    def to_dict(self) -> dict[str, Any]:
        """All figures."""
        return json.loads(json.dumps(self._figures))  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return self._words

    def __repr__(self) -> str:
        return f"Audit({'passed' if self.passed else 'FAILED'})"
