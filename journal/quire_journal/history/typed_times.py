"""Typed times: the words for times on the command line. No checkpoint may have such a name."""

from __future__ import annotations

import re
from typing import Final

NOW: Final = "now"

DAYS: Final = {"today": 0, "yesterday": 1}
"""Word → number of days before today; the word means the beginning of that day."""

PART: Final = r"(\d{1,9}) ?(weeks?|days?|hours?|minutes?|mins?|seconds?|secs?|[wdhms])"

AGO: Final = re.compile(rf"{PART}(?: ?{PART})*(?: ago)?", re.ASCII)

CLOCK: Final = re.compile(r"(\d\d?):(\d\d)(?::(\d\d))?", re.ASCII)

DATE: Final = re.compile(r"\d{4}-\d\d-\d\d([Tt ].*)?", re.ASCII)


def is_typed_time(text: str) -> bool:
    """True if `text` means a time where the command line expects a point."""
    forms = (AGO, CLOCK, DATE)
    return text == NOW or text in DAYS or any(form.fullmatch(text) for form in forms)
