"""Exact parameters, 0.1 means one tenth; and what may be a string or an integer."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias, TypeVar

from veilwalk._native import ParameterError

T = TypeVar("T")

Exact: TypeAlias = str | int | float | Fraction | Decimal
"""A number that is taken exactly. A float is the decimal that Python prints for it."""


def exact_text(name: str, value: Exact) -> str:
    """The number as a decimal or a fraction.

    >>> exact_text("epsilon", 0.1), exact_text("epsilon", Fraction(1, 3)), exact_text("epsilon", 1e-3)
    ('0.1', '1/3', '0.001')
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, bool):
        raise ParameterError(f"{name}: a truth value ({value}) is not a number")
    if isinstance(value, int):
        return str(value)
    # numpy's floats print as they are, without their type, when they are Python floats.
    if not isinstance(value, float | Decimal):
        try:
            value = float(value)
        except (TypeError, ValueError):
            kind = type(value).__name__
            raise ParameterError(
                f"{name}: a value of type {kind} is not a number; give a number, or a string such as "
                f'"0.5" or "1/3"'
            ) from None
    number = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    if not number.is_finite():
        raise ParameterError(f"{name}: {value} is not a finite number")
    return format(number, "f")


def exact_fraction(name: str, value: Exact) -> Fraction:
    """The number itself.

    >>> exact_fraction("d_in", 0.1), exact_fraction("d_in", "7/2")
    (Fraction(1, 10), Fraction(7, 2))
    """
    text = exact_text(name, value)
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f'{name}: {text!r} is not a number; give one such as 2.5 or "5/2"') from None


def text_or_digits(value: object) -> str | None:
    """A text as it is, a whole number as its digits; nothing for what is neither.

    >>> text_or_digits("12"), text_or_digits(12), text_or_digits(True), text_or_digits(1.0)
    ('12', '12', None, None)
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, bool):
        try:
            return str(value.__index__())  # type: ignore[attr-defined]
        except (AttributeError, TypeError):
            # An array has the method too, and cannot do it.
            pass
    return None


def is_unicode(text: str) -> bool:
    """Whether a string can be written down: half of a pair of surrogates cannot.

    >>> is_unicode("søl"), is_unicode("\\ud800")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def written(what: str, of_what: str, value: object, error: type[ValueError]) -> str:
    """A text, or the digits of an integer, that can be written down; an error for anything else.

    >>> written("label", "a state is labelled", 7, ParameterError)
    '7'
    """
    text = text_or_digits(value)
    if text is None:
        kind = type(value).__name__
        raise error(f"a {what} of type {kind}; {of_what} by a string or an integer")
    if not is_unicode(text):
        raise error(f"the {what} {text!r} is not Unicode; {of_what} by a string or an integer")
    return text


def path_text(name: str, value: object) -> str:
    """A path as a string.

    >>> path_text("ledger", b"spent.ledger")
    'spent.ledger'
    """
    try:
        return os.fsdecode(value)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(f"{name}: a value of type {type(value).__name__}; give a path") from None


def several(name: str, values: Iterable[T]) -> list[T]:
    """The values as a list. A text is refused: it would be taken for its letters.

    >>> several("keep", ("day", "hour"))
    ['day', 'hour']
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ParameterError(f"{name}: {values!r} is a single value; give a list, such as [{values!r}]")
    return list(values)


def whole_number(name: str, value: object, least: int) -> int:
    """A whole number of any kind, such as NumPy's."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise ParameterError(f"{name}: {value!r}; give a whole number from {least} up")
    return number


def fraction(text: str) -> Fraction:
    """The value of a string that the library wrote."""
    return Fraction(text)
