"""One walk, online."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeAlias

from veilwalk._native import ParameterError, saved_release_id
from veilwalk._native import Session as NativeSession
from veilwalk.how import block_text, name_text
from veilwalk.labels import State
from veilwalk.source import check_guarantee, source, warn_of_first

if TYPE_CHECKING:
    from typing_extensions import Self

    from veilwalk.mechanism import Mechanism


Block: TypeAlias = int | Literal["all"]
"""How many steps are released together, or all of a walk."""


def _of_the_record(data: bytes, key: bytes | None, seed: int | None, release_id: str | None) -> str | None:
    """The id under which a session was saved, unless one was given, which then has to be the same."""
    if release_id is not None or (key is None and seed is None):
        return release_id
    return saved_release_id(data)


class Session:
    """Follows one real walk, and releases it while it happens.

    `start()` releases the first state: one near the real first one, which it takes, and as private as every
    other. (A session made with `start="initial"` or a state does not look at the real one.) Then `step()`
    answers each further real state. A state as `unknown_state` is taken instead of those that the chain does
    not have.

    >>> import veilwalk as vw
    >>> m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=1, radius=3.5)
    >>> s = m.session(name="firm 12")
    >>> released = [s.start("Caa"), s.step("Caa"), s.step("Ca/C")]
    >>> s.released
    3

    A session is saved in about a hundred bytes, and taken up again with the mechanism, the name and, if
    there was one, the key it was made with. The release id is in the bytes:

    >>> data = s.to_bytes()
    >>> again = vw.Session.from_bytes(data, m, name="firm 12")
    >>> again.last == released[-1]
    True

    With a key, a step that is repeated from the same bytes with the same real state repeats itself. Without
    one it is a second release of that step. With a key and *another* real state the two answers together
    would show that the states differ: do not do that.

    With `block` a number of steps is released together: a delay that buys accuracy at the same guarantee.
    `push()` takes each real state, the first among them, and gives what is released now: a block when it is
    full, and nothing in between. (Unless the session starts privately, the first state comes at once, by
    itself.) `finish()` says that the walk is over and gives the rest. Where a block ends depends on the
    number of the step alone.

    >>> m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=3.5, radius=3.5)
    >>> s = m.session(name="firm 12", block=3)
    >>> [len(s.push(state)) for state in ["Caa", "Ca/C", "Caa", "B", "B", "B", "B"]]
    [0, 0, 3, 0, 0, 3, 0]
    >>> s.waiting
    1
    >>> len(s.finish())
    1

    Then it can be saved between two blocks only: real states that wait for their block are not written
    anywhere.

    Under a mechanism that draws observations, `observed` has what was observed for the states that were
    released last. With a lag the answers come later: `push()` takes each real state and gives what is due,
    which is nothing until the lag has passed.

    >>> m = vw.Mechanism("tight", vw.Chain.credit(), epsilon=3.5, radius=3.5, lag=2)
    >>> s = m.session(name="firm 12")
    >>> [len(s.push(state)) for state in ["Caa", "Ca/C", "Caa", "B"]]
    [0, 0, 1, 1]
    >>> len(s.observed), len(s.finish()), len(s.observed)
    (1, 2, 2)

    A saved session then holds what anybody can infer from the observations, so it is larger; it is still
    nothing secret.
    """

    __slots__ = ("_native", "_numbers", "mechanism", "name")

    _native: NativeSession
    _numbers: bool
    mechanism: Mechanism
    name: str

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        block: Block | None = None,
        longest_walk: int | None = None,
        name: str = "",
        key: bytes | None = None,
        seed: int | None = None,
        release_id: str | None = None,
        start: State | Literal["private", "initial", "first"] = "private",
        states: Literal["labels", "numbers"] = "labels",
        unknown_state: State | Literal["error"] = "error",
        allow_vacuous: bool = False,
        _saved: bytes | None = None,
    ) -> None:
        length = block_text(block)
        check_guarantee(mechanism._native, allow_vacuous)
        self.mechanism = mechanism
        self.name = name_text(name)
        self._numbers = states == "numbers"
        if key is not None and not self.name:
            raise ParameterError(
                "name: with a key every walk needs a name of its own; walks of the same name would share "
                "their randomness"
            )
        self._native = NativeSession(
            mechanism._native,
            source(key, seed, release_id),
            start,
            self.name,
            states,
            allow_vacuous,
            length,
            longest_walk,
            _saved,
            unknown_state,
        )
        warn_of_first(start)

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        mechanism: Mechanism,
        *,
        block: Block | None = None,
        longest_walk: int | None = None,
        name: str = "",
        key: bytes | None = None,
        seed: int | None = None,
        release_id: str | None = None,
        start: State | Literal["private", "initial", "first"] = "private",
        states: Literal["labels", "numbers"] = "labels",
        unknown_state: State | Literal["error"] = "error",
        allow_vacuous: bool = False,
    ) -> Session:
        """Takes a saved session up again. The key is given anew: it is never part of what is saved. The
        release id is; if one is given it has to be the same."""
        return cls(
            mechanism,
            block=block,
            longest_walk=longest_walk,
            name=name,
            key=key,
            seed=seed,
            release_id=_of_the_record(data, key, seed, release_id),
            start=start,
            states=states,
            unknown_state=unknown_state,
            allow_vacuous=allow_vacuous,
            _saved=data,
        )

    def start(self, real: State | None = None) -> State:
        """Releases the first state. The real one is needed with a private start, and with
        `start="first"`. Not in blocks, nor with a lag."""
        return self._native.start(real)

    def step(self, real: State) -> State:
        """Releases the state that answers the next real one: a string for a string, an integer for an
        integer. Not in blocks, nor with a lag."""
        return self._native.step(real)

    def push(self, real: State) -> list[State]:
        """Takes the next real state, and gives what is released now."""
        return self._native.push(real)

    def finish(self) -> list[State]:
        """The walk is over: gives the rest, and closes the session. (A session that was taken up and was
        given no state since gives strings, or with `states="numbers"` places.)"""
        return self._native.finish()

    @property
    def observed(self) -> list[State]:
        """What was observed for the states that the last call of `start`, `step`, `push` or `finish`
        released, in the same order. Empty under a mechanism that draws moves."""
        return self._native.observed

    def to_bytes(self) -> bytes:
        """The session in about a hundred bytes, which hold nothing secret; under a mechanism that draws
        observations with what is believed of the walk, which is public. Refused while real states wait."""
        return self._native.to_bytes()

    @property
    def release_id(self) -> str | None:
        """The id of the run, from which randomness is derived together with the key or the seed; `None` with
        the operating system's randomness, which nothing can repeat."""
        return self._native.release_id

    @property
    def released(self) -> int:
        """How many states have been released."""
        return self._native.released

    @property
    def waiting(self) -> int:
        """How many real states wait for their block to fill, or observations of them for the lag to pass."""
        return self._native.waiting

    @property
    def last(self) -> State | None:
        """The last released state; with `states="numbers"` its place in `chain.states`."""
        label = self._native.last
        return label if label is None or not self._numbers else self.mechanism.chain.states.index(label)

    @property
    def closed(self) -> bool:
        """Whether the walk is over."""
        return self._native.closed

    def close(self) -> None:
        """The walk is over: any further step is refused, and real states that wait are forgotten."""
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return f"Session({self.name!r}, closed)"
        waiting = f", {self.waiting} waiting" if self.waiting else ""
        return f"Session({self.name!r}, {self.released} released{waiting}, last {self.last!r})"
