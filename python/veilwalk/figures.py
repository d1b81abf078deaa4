"""Figures as the library gives them, whatever distances are counted in."""

from __future__ import annotations

import json
from typing import Any

_UNITS = {"nats": ("metres", "units"), "nat": ("metre", "unit")}


class Figures(dict[str, Any]):
    """A dict that is also asked for `mean_distance_nats` where it holds `mean_distance_metres`.

    >>> figures = read('{"radius_metres": 200.0, "loss_per_metre": 0.005}')
    >>> figures["radius_nats"], figures["loss_per_nat"], "radius_nats" in figures
    (200.0, 0.005, True)
    """

    def _other(self, key: str) -> str | None:
        for nats in ("nats", "nat"):
            if key == nats or key.endswith(f"_{nats}"):
                for word in _UNITS[nats]:
                    other = key[: -len(nats)] + word
                    if dict.__contains__(self, other):
                        return other
        return None

    def __missing__(self, key: str) -> Any:
        other = self._other(key)
        if other is None:
            raise KeyError(key)
        return dict.__getitem__(self, other)

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, key) or (isinstance(key, str) and self._other(key) is not None)


def read(text: str) -> Any:
    """What a JSON text holds, with every object as `Figures`."""
    return json.loads(text, object_hook=Figures)
