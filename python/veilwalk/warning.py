"""What is allowed, and should not be overlooked."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_HERE = str(Path(__file__).parent)


class PrivacyWarning(UserWarning):
    """Something that was asked for and gives protection up, such as a release from a seed."""


def warn(message: str, category: type[UserWarning] = PrivacyWarning) -> None:
    """Warns at the line of the user's own code."""
    # The second frame is that of whoever called this.
    depth = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)
