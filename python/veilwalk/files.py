"""Files that the command line reads and writes too: ledgers, and manifests of releases."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from veilwalk import _native
from veilwalk._native import ParameterError
from veilwalk.chain import Chain
from veilwalk.exact import Exact, exact_text, fraction, path_text, several
from veilwalk.how import different, name_text, person_texts
from veilwalk.warning import warn

if TYPE_CHECKING:
    from veilwalk.mechanism import Mechanism

Path = str | os.PathLike[str]


class Ledger:
    """How much epsilon was spent on each person, over all releases: what `--ledger` names, a file or
    `postgres://...`.

    `privatize(..., ledger=path, budget=3)` charges every walk before it is released, and so do `session` and
    `veilwalk.spark.privatize`. For a stream of Spark, `charge` the walks first. Without `person=` every walk
    is its own person. All walks of a person add up, on whatever chain and in whatever unit.

    >>> import pathlib, tempfile
    >>> import veilwalk as vw
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = vw.Ledger(pathlib.Path(folder.name) / "budget")
    >>> m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=1, radius=3.5)
    >>> ledger.charge(m, ["monday", "tuesday"], person={"monday": "ann", "tuesday": "ann"}, budget=3)
    >>> released = m.privatize({"firm 12": ["B", "Caa"]}, ledger=ledger, budget=2)
    >>> ledger.spent()
    {'ann': Fraction(2, 1), 'firm 12': Fraction(1, 1)}
    >>> ledger.set_budget(1, window="30d")
    >>> m.privatize({"firm 12": ["B", "Caa"]}, ledger=ledger.path)
    Traceback (most recent call last):
    ...
    veilwalk.LedgerError: ... 1 more would exceed the budget of 1; none of these walks was released...
    >>> folder.cleanup()
    """

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path_text("ledger", path)

    def charge(
        self,
        mechanism: Mechanism,
        names: Iterable[object],
        *,
        person: Mapping[Any, object] | None = None,
        budget: Exact | None = None,
        window: str | None = None,
    ) -> None:
        """Charges one release of each of these walks under a mechanism, or none of them if a person has not
        enough of the budget left. When this returns, the charge is on the disk. `person` says whose walk
        each is; with a `window` such as "30d" older releases do not count."""
        self._charge(mechanism, names, person, budget, window)

    def _charge(
        self,
        mechanism: Mechanism,
        names: Iterable[object],
        person: Mapping[Any, object] | None,
        budget: Exact | None,
        window: str | None,
        *,
        release_id: str | None = None,
        start: object = "private",
        block: str | None = None,
        longest_walk: int | None = None,
    ) -> None:
        if budget is None and window is not None:
            raise ParameterError("window: it is how far a budget looks back; give budget= too")
        _native.charge_ledger(
            self.path,
            mechanism._native,
            different([name_text(name) for name in several("names", names)]),
            person_texts(person),
            None if budget is None else exact_text("budget", budget),
            window,
            release_id,
            start,
            block,
            longest_walk,
        )

    def set_budget(self, budget: Exact | None, *, window: str | None = None) -> None:
        """Keeps a budget in the ledger, so that every release is held to it; None takes it away. With a
        `window` such as "30d" older releases do not count."""
        if budget is None and window is not None:
            raise ParameterError("window: it is how far a budget looks back; give a budget too")
        text = None if budget is None else exact_text("budget", budget)
        _native.set_ledger_budget(self.path, text, window)

    def spent(self) -> dict[str, Fraction | None]:
        """The epsilon that was spent on each person, exactly; None where losses cannot be added (see
        `to_dict`, which has the units)."""
        people = self.to_dict()["spent"].items()
        return {name: None if one["exact"] is None else fraction(one["exact"]) for name, one in people}

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
    name = path_text("release", release)
    manifest: dict[str, Any] = json.loads(_native.verify(name, chain._native))
    if not manifest["private"]:
        warn(f"{name}: this release is not private ({'; '.join(manifest['why_not_private'])})")
    if manifest["unknown_states"] == "skip":
        warn(f"{name}: rows with unknown states were left out, so the lengths of walks depend on them")
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
