"""Options of a command line: their names, and how their values are read. Every start of `quire` imports this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple


class Usage(Exception):
    """The command line is wrong; the text is a sentence that names the faulty part."""


class MissingArgument(Usage):
    """An argument is missing; the text is its name."""


class Surplus(Usage):
    """There are too many arguments; the text is the first surplus one."""


class Option(NamedTuple):
    name: str  # without the dashes
    value: str = ""  # placeholder of its value in the help; "" = no value
    meaning: str = ""
    short: str = ""  # one letter
    choices: tuple[str, ...] = ()  # all possible values; empty: any
    also: tuple[str, ...] = ()  # other accepted names, not in the help
    several: bool = False  # repeated values are joined by commas


COMMON: Final = (
    Option("workspace", "PATH", "act on the workspace that holds PATH, not on the current folder's", "C"),
    Option("state-dir", "DIR", "keep journal and lock in DIR"),
    Option("agent", "NAME", "who calls, not whose work is meant (QUIRE_AGENT)"),
    Option("session", "ID", "the caller's agent session (QUIRE_SESSION)"),
    Option("timeout", "SECONDS", "give up after so long; 30 if not said"),
    Option("json", "", "print the reply as one JSON object"),
    Option("no-pager", "", "do not page what is longer than the terminal (QUIRE_PAGER, PAGER)"),
    Option("help", "", "show this text", "h"),
)
"""Options that every command has."""


def stretch(after: str, until: str) -> tuple[Option, Option]:
    """Return the options `--since` and `--until` with these help texts."""
    since = Option("since", "POINT", after, also=("from", "after"))
    return since, Option("until", "POINT", until, also=("to", "before"))


VERSION_OPTION: Final = Option("version", "", "show the version")


def is_number(text: str) -> bool:
    """Return True for a non-negative decimal number of at most 20 digits."""
    return text.isascii() and text.isdigit() and len(text) <= 20


def kind_of(text: str) -> str:
    """Return the journal's name of a record kind; `text` may also be as `quire log` prints it (`file written`). Raises
    Usage for `first seen`, which is no kind.
    """
    kind = "_".join(text.replace("-", " ").split())
    if kind == "first_seen":
        raise Usage("--kind: what is `first seen` is an 'outside written' that was there when the journal began.")
    return "capture_failed" if kind == "not_captured" else kind


def chosen(what: str, given: str, choices: Sequence[str]) -> str:
    """Return `given` if it is one of `choices`. Raises Usage, which lists the choices, if not."""
    if given in choices:
        return given
    from quire_journal.model import did_you_mean

    raise Usage(f"{what} is {either(choices)}, not {given!r}.{did_you_mean(given, choices)}")


def either(choices: Sequence[str]) -> str:
    """Return the choices as a phrase: `skip, markers or abort`."""
    *first, last = choices
    return f"{', '.join(first)} or {last}" if first else last


def is_point(text: str) -> bool:
    """Return True if `text` is a version, `seq:N`, a number or a time."""
    from quire_journal.history import is_typed_time
    from quire_journal.model import parse_version_token

    return parse_version_token(text) is not None or text.startswith("seq:") or is_number(text) or is_typed_time(text)


def end_of(text: str) -> str:
    """Return a POINT in the daemon's form, for the end of a range: a time of day still to come today is allowed. Raises
    Usage for an invalid time.
    """
    return point_of(text, end=True)


def point_of(text: str, end: bool = False) -> str:
    """Return a POINT in the daemon's form: `2d` becomes a time. `end` allows a time of day still to come today. Raises
    Usage for an invalid time.
    """
    if not (text[:1].isdigit() or text.startswith(("now", "today", "yesterday"))):
        return text  # most points are versions or names, and the import is slow
    from datetime import UTC, datetime

    from quire_client.cli import NoMoment, point

    try:
        return point(text, datetime.now(UTC), end=end)
    except NoMoment as wrong:
        raise Usage(str(wrong)) from None
