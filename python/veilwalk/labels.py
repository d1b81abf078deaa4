"""Labels of states."""

from __future__ import annotations

from typing import TypeAlias

from veilwalk._native import ChainError
from veilwalk.exact import written

State: TypeAlias = str | int
"""A state by its label; an integer stands for the label with its digits."""


def label_text(value: object) -> str:
    """A label as text; an integer is its digits."""
    return written("label", "a state is labelled", value, ChainError)
