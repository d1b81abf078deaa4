"""What a mechanism does: it releases walks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeVar, cast, overload

from veilwalk import _native, persons, walks
from veilwalk._native import ParameterError
from veilwalk.exact import Exact, exact_text, path_text, several, whole_number
from veilwalk.files import Ledger
from veilwalk.how import How, block_text, name_text
from veilwalk.labels import State
from veilwalk.session import Block, Session
from veilwalk.source import check_guarantee, source, warn_of_first, warn_of_skipped

if TYPE_CHECKING:
    from veilwalk.mechanism import Mechanism

Walks = TypeVar("Walks")

MOST_THREADS = 1024
"""Beyond what machines have cores for, threads only take memory and time."""


class Releasing:
    """The part of a `Mechanism` that releases walks."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: _native.Mechanism

        @property
        def epsilon(self) -> Fraction: ...

    @overload
    def privatize(
        self,
        walks_: Walks,
        /,
        *,
        trajectory: str = "trajectory",
        step: str | None = "step",
        state: str = "state",
        keep: Iterable[str] = (),
        observed: Literal[False] = False,
        names: Sequence[object] | None = None,
        key: bytes | None = None,
        seed: int | None = None,
        release_id: str | None = None,
        start: State | Literal["private", "initial", "first"] = "private",
        states: Literal["labels", "numbers"] = "labels",
        unknown_state: State | Literal["error", "skip"] = "error",
        threads: int | None = None,
        block: Block | None = None,
        longest_walk: int | None = None,
        ledger: str | os.PathLike[str] | None = None,
        budget: Exact | None = None,
        window: str | None = None,
        person: object = None,
        allow_vacuous: bool = False,
    ) -> Walks: ...

    @overload
    def privatize(
        self,
        walks_: Walks,
        /,
        *,
        trajectory: str = "trajectory",
        step: str | None = "step",
        state: str = "state",
        keep: Iterable[str] = (),
        observed: Literal[True],
        names: Sequence[object] | None = None,
        key: bytes | None = None,
        seed: int | None = None,
        release_id: str | None = None,
        start: State | Literal["private", "initial", "first"] = "private",
        states: Literal["labels", "numbers"] = "labels",
        unknown_state: State | Literal["error", "skip"] = "error",
        threads: int | None = None,
        block: Block | None = None,
        longest_walk: int | None = None,
        ledger: str | os.PathLike[str] | None = None,
        budget: Exact | None = None,
        window: str | None = None,
        person: object = None,
        allow_vacuous: bool = False,
    ) -> tuple[Walks, Walks]: ...

    def privatize(
        self,
        walks_: Walks,
        /,
        *,
        trajectory: str = "trajectory",
        step: str | None = "step",
        state: str = "state",
        keep: Iterable[str] = (),
        observed: bool = False,
        names: Sequence[object] | None = None,
        key: bytes | None = None,
        seed: int | None = None,
        release_id: str | None = None,
        start: State | Literal["private", "initial", "first"] = "private",
        states: Literal["labels", "numbers"] = "labels",
        unknown_state: State | Literal["error", "skip"] = "error",
        threads: int | None = None,
        block: Block | None = None,
        longest_walk: int | None = None,
        ledger: str | os.PathLike[str] | None = None,
        budget: Exact | None = None,
        window: str | None = None,
        person: object = None,
        allow_vacuous: bool = False,
    ) -> Walks | tuple[Walks, Walks]:
        """Releases walks, and gives them back in the kind they came in.

        Takes one walk (a list of states, a column), several (a list of lists, a dict of them by name, a
        2-D array, a column of lists), or a table of pandas, Polars or pyarrow: long, with the columns
        `trajectory` and `state` and one state a row, or with one walk a row in a column of lists. Rows of
        different walks may alternate. If there is a column `step` they are taken in its order, and no
        trajectory may have a step twice; if there is none, or with `step=None`, in the order they stand.

        Of a table only the trajectory, the step and the released state come back. Columns named in `keep`
        are copied as they are, unprotected.

        A mechanism that draws observations releases these too: of a table in a column `observed` after the
        state, of the same type. Walks that are no table come back with what was observed for them if
        `observed=True`: a pair, both in the kind the walks came in. What was observed is as private as the
        walk made of it, and says more about the real one: it is what inference needs.

        Integers are labels (the label "7" for 7), or with `states="numbers"` places in `chain.states`.
        Randomness comes from the operating system; from a secret `key` and the id of the run, so that the run
        can be repeated; or from a `seed`, which is NOT private. Every run with a key draws a new
        `release_id`, unless one is given: draw it yourself (`new_release_id()`) and keep it if you may have
        to repeat the run. Give an id again for the same walks only: two releases of different walks under one
        id would show where the walks differ.

        A released walk starts near the real one: its first state is as private as every other. With
        `start="initial"` it comes from the chain's initial distribution, and with a state it is that state;
        then the real first state is not looked at. With `start="first"` the real first state is released as
        it is.

        A state that the chain does not have ends the release with an error. With a state as `unknown_state`
        that state is taken instead, and the release does not show where. With `unknown_state="skip"` such
        states are left out: then the lengths of walks depend on them, which is not protected, so nothing can
        be kept and the column `step` does not come back. (`"state:skip"` is a state that is called `skip`.)

        With `block` a number of steps is released together, or with `"all"` the whole walk: more accurate
        at the same guarantee. The first state belongs to the first block if the start is private. Blocks
        are drawn by the exponential rule at the scale of the theorem; `auto` and `sharp` then are `sharp`
        with that rule, the most accurate choice as a rule, and `paper` is refused. Rounding is paid for in
        advance, so `"all"` has a limit on the steps of a walk, `longest_walk` (1,048,576 if not given).

        With a `ledger` every walk is charged epsilon there before anything is released (see `Ledger`), and
        nothing is if a person would spend more than the `budget` in all, or in a `window` such as "30d".
        `person` says whose walk each is: a column of a table, a dict by the names of walks, or a list with
        one entry for each walk. Without it every walk is its own person. The promise is for one walk, and
        the losses of a person's walks add up: where somebody has several, a warning says what that comes to.

        >>> import veilwalk as vw
        >>> m = vw.Mechanism("auto", vw.Chain.credit(), epsilon=1, radius=3.5)
        >>> [len(walk) for walk in m.privatize([["Baa", "A", "A"], ["B", "Caa"]], block="all")]
        [3, 2]
        """
        check_guarantee(self._native, allow_vacuous)
        if threads is not None:
            threads = whole_number("threads", threads, 1)
            if threads > MOST_THREADS:
                raise ParameterError(f"threads: {threads}; give at most {MOST_THREADS}")
        named = None if names is None else [name_text(name) for name in several("names", names)]
        owners = None if person is None else persons.persons_by_walk(walks_, person, named, trajectory)
        manner = _native.Manner(
            self._native,
            source(key, seed, release_id),
            start,
            self._checked_block(block),
            longest_walk,
            None if ledger is None else path_text("ledger", ledger),
            None if budget is None else exact_text("budget", budget),
            window,
            owners,
            unknown_state,
        )
        how = How(
            manner=manner,
            labels=self._native.labels,
            states=states,
            threads=threads,
            names=named,
            trajectory=trajectory,
            step=step,
            state=state,
            keep=tuple(several("keep", keep)),
            observed=observed,
        )
        warn_of_first(start)
        warn_of_skipped(manner)
        if owners is not None:
            persons.tell(owners.values(), self.epsilon)
        answer = walks.privatize(walks_, how)
        return cast("tuple[Walks, Walks]", answer) if observed else cast("Walks", answer[0])

    def _checked_block(self, block: Block | None) -> str | None:
        """The length of blocks; says where another choice is likely to be more accurate."""
        length = block_text(block)
        if length is not None and self._native.blocks_have_cells():
            warnings.warn(
                "block: cells have the scale of the theorem here, about half of what they are calibrated to "
                'for one state at a time; "auto" is often more accurate, and analyze(block=...) says what '
                "each gives",
                UserWarning,
                stacklevel=3,
            )
        return length

    def session(
        self,
        *,
        name: str = "",
        key: bytes | None = None,
        seed: int | None = None,
        release_id: str | None = None,
        start: State | Literal["private", "initial", "first"] = "private",
        states: Literal["labels", "numbers"] = "labels",
        unknown_state: State | Literal["error"] = "error",
        block: Block | None = None,
        longest_walk: int | None = None,
        ledger: str | os.PathLike[str] | None = None,
        budget: Exact | None = None,
        window: str | None = None,
        person: object = None,
        allow_vacuous: bool = False,
    ) -> Session:
        """A session for one walk, released while it happens; with `block`, this many steps at a time. With a
        key, every walk needs a name of its own, and the session draws a `release_id` unless one is given (its
        attribute `release_id` tells). With a `ledger` the walk is charged epsilon here, and there is no
        session if its `person` (the walk itself, if not given) would spend more than the `budget`. A
        state as `unknown_state` is taken instead of those that the chain does not have."""
        if ledger is not None and not name_text(name):
            raise ParameterError("name: with a ledger every walk needs a name of its own, to be charged")
        if budget is not None and ledger is None:
            raise ParameterError("budget: it is kept in a ledger; give ledger= too")
        self._checked_block(block)
        mechanism = cast("Mechanism", self)
        made = Session(
            mechanism,
            block=block,
            longest_walk=longest_walk,
            name=name,
            key=key,
            seed=seed,
            release_id=release_id,
            start=start,
            states=states,
            unknown_state=unknown_state,
            allow_vacuous=allow_vacuous,
        )
        if ledger is not None:
            # Nothing is released before the first call of the session.
            Ledger(ledger)._charge(
                mechanism,
                [name],
                None if person is None else {name: person},
                budget,
                window,
                release_id=made.release_id,
                start=start,
                block=self._checked_block(block),
                longest_walk=longest_walk,
            )
        return made
