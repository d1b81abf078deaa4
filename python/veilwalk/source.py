"""Where the randomness of a release comes from."""

from __future__ import annotations

from veilwalk import _native
from veilwalk._native import ParameterError
from veilwalk.exact import whole_number
from veilwalk.warning import warn


def new_release_id() -> str:
    """A fresh release id, for a run that may have to be repeated: 32 hexadecimal digits, not secret.

    >>> import veilwalk as vw
    >>> id = vw.new_release_id()
    >>> m = vw.Mechanism("sharp", vw.Chain.credit(), epsilon=1, radius=3.5)
    >>> released = m.privatize({"a": ["B", "Caa"]}, key=b"sixteen bytes ok", release_id=id)
    >>> released == m.privatize({"a": ["B", "Caa"]}, key=b"sixteen bytes ok", release_id=id)
    True
    """
    return _native.new_release_id()


def source(key: bytes | None, seed: int | None, release_id: str | None = None) -> _native.Source:
    """A secret key, a public seed (not private, and said so), or else the operating system."""
    if key is not None and seed is not None:
        raise ParameterError("give either key= or seed=, not both")
    if release_id is not None and not isinstance(release_id, str):
        raise ParameterError(
            f"release_id: a value of type {type(release_id).__name__}; give the 32 hexadecimal digits of "
            "the run to repeat, as a string"
        )
    if release_id is not None and key is None and seed is None:
        raise ParameterError(
            "release_id: it repeats a run, and that needs the randomness it was made with; give key= (or "
            "seed=) too. Without them randomness comes from the operating system, and nothing can repeat it"
        )
    if key is not None:
        if not isinstance(key, bytes | bytearray | memoryview):
            raise ParameterError(
                f"key: a value of type {type(key).__name__}; a key is secret bytes, such as "
                "secrets.token_bytes(32)"
            )
        return _native.Source.keyed(bytes(key), release_id)
    if seed is not None:
        seed = whole_number("seed", seed, 0)
        if seed >= 2**64:
            raise ParameterError(f"seed: {seed!r}; give a whole number below 2^64")
        warn(
            "released with a seed: whoever knows the seed can undo it. This release is NOT private; "
            "use it for tests only"
        )
        return _native.Source.seeded(seed, release_id)
    return _native.Source.system()


def check_guarantee(mechanism: _native.Mechanism, allow_vacuous: bool) -> None:
    """Refuses a release that protects nothing, or says so where it was insisted on."""
    try:
        mechanism.refuse_empty_guarantee()
    except _native.EmptyGuaranteeError:
        if not allow_vacuous:
            raise
        warn("allow_vacuous: no two different walks are within the radius; this release protects NOTHING")
    thin = mechanism.thin_coverage()
    if thin is not None:
        warn(thin)


def warn_of_skipped(manner: _native.Manner) -> None:
    """Says what leaving states out gives away."""
    if manner.skips:
        warn(
            'unknown_state="skip": how long released walks are depends on what was left out, and that is not '
            "protected; give a state of the chain to take instead of unknown ones"
        )


def warn_of_first(start: object) -> None:
    """Says what `start="first"` gives away."""
    if start == "first":
        warn('start="first": the first state of every walk is disclosed as it is')
