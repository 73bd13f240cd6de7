"""Times as people type them on the command line: which words are some, so that nothing else is called so."""

from __future__ import annotations

import re
from typing import Final

NOW: Final = "now"

DAYS: Final = {"today": 0, "yesterday": 1}
"""The beginning of the day that was so many days ago."""

PART: Final = r"(\d{1,9}) ?(weeks?|days?|hours?|minutes?|mins?|seconds?|secs?|[wdhms])"
"""A number and its unit."""

AGO: Final = re.compile(rf"{PART}(?: ?{PART})*(?: ago)?", re.ASCII)

CLOCK: Final = re.compile(r"(\d\d?):(\d\d)(?::(\d\d))?", re.ASCII)
"""A time of today."""

DATE: Final = re.compile(r"\d{4}-\d\d-\d\d([Tt ].*)?", re.ASCII)
"""What is taken for a day, or a moment of it, or for one that was typed wrong."""


def is_typed_time(text: str) -> bool:
    """Does `text` mean a time wherever a point is typed?"""
    forms = (AGO, CLOCK, DATE)
    return text == NOW or text in DAYS or any(form.fullmatch(text) for form in forms)
