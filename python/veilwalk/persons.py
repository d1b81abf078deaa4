"""Whose walk each is, and what that means for a promise that is for one walk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from veilwalk import _native, tables
from veilwalk._native import ParameterError, WalkError
from veilwalk.exact import Exact, exact_text
from veilwalk.how import name_text
from veilwalk.warning import warn


def persons_by_walk(walks: Any, person: object, names: list[str] | None, trajectory: str) -> dict[str, str]:
    """The person of each walk by the name it is released under. `person` is a column of a table, a dict by
    the names of walks, or a list with one entry for each walk."""
    library, kind = tables.library_of(walks), type(walks).__name__
    frame = library is not None and kind in tables.FRAMES
    if isinstance(person, str):
        if not frame:
            raise ParameterError(
                f"person: {person!r} would be a column, and these walks are no table; give a list with one "
                "entry for each walk"
            )
        assert library is not None
        return _of_table(library, walks, person, trajectory)
    if isinstance(person, Mapping):
        given = {name_text(walk): name_text(who) for walk, who in person.items()}
        if frame:
            assert library is not None
            present = _names_in(library, walks, trajectory)
        elif isinstance(walks, Mapping):
            present = [name_text(name) for name in walks]
        else:
            present = names
        if present is None:
            raise ParameterError(
                "person: a dict goes with walks that have names: a dict of walks, names=, or a table; give a "
                "list with one entry for each"
            )
        lacking = next((name for name in present if name not in given), None)
        if lacking is not None:
            raise ParameterError(f"person: it does not say whose walk {lacking!r} is")
        return {name: given[name] for name in present}
    if isinstance(person, Iterable):
        owners = [name_text(who) for who in person]
        if isinstance(walks, Mapping):
            names = [name_text(name) for name in walks]
        elif frame:
            assert library is not None
            names = _names_in(library, walks, trajectory)
        if names is None:
            names = [str(place) for place in range(len(owners))]
        if len(names) != len(owners):
            raise ParameterError(f"person: {len(owners)} entries for {len(names)} walks; give one for each")
        return dict(zip(names, owners, strict=True))
    raise ParameterError(f"person: a {type(person).__name__}; give a column, a dict or a list")


def tell(owners: Iterable[str], epsilon: Exact) -> None:
    """Says what the promise comes to where a person has several walks."""
    walks = Counter(owners)
    tell_most(max(walks.values(), default=0), len(walks), epsilon)


def tell_most(most: int, persons: int, epsilon: Exact) -> None:
    """The same where the largest number of walks of one person is known."""
    if most > 1:
        total = _native.person_total(exact_text("epsilon", epsilon), most)
        are = "one person has" if persons == 1 else f"{persons:,} persons have"
        warn(f"person: {are} up to {most:,} walks. {total}")


def _of_table(library: type[tables.Tables], frame: Any, person: str, trajectory: str) -> dict[str, str]:
    present = library.columns(frame)
    if person not in present:
        listed = ", ".join(repr(column) for column in present)
        raise WalkError(f"there is no column {person!r} for person=; the columns are {listed}")
    owners = library.values(library.column(frame, person))
    names = library.values(library.column(frame, trajectory)) if trajectory in present else range(len(owners))
    found: dict[Any, Any] = {}
    for row, (name, owner) in enumerate(zip(names, owners, strict=True)):
        if owner is None or owner != owner:
            raise WalkError(f"column {person!r}, row {row}: a missing value; every walk needs a person")
        first = found.setdefault(name, owner)
        if first != owner:
            raise WalkError(f"the walk {name!r} belongs to {first!r} and to {owner!r}; a walk has one person")
    return {name_text(name): name_text(owner) for name, owner in found.items()}


def _names_in(library: type[tables.Tables], frame: Any, trajectory: str) -> list[str] | None:
    """The walks of a table in the order in which they begin; none if it does not name them."""
    if trajectory not in library.columns(frame):
        return None
    return list(dict.fromkeys(name_text(name) for name in library.values(library.column(frame, trajectory))))
