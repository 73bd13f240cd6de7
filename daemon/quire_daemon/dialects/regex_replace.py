"""The `regex_replace` tool: replaces the matches of a regular expression (seed 001).

Patterns are those of Python's `re`, on the text with LF line ends; `^` and `$` match at each line. The search runs in
another process (`quire_daemon.workers.regex.job`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from quire_daemon.config import Settings
from quire_daemon.core.replies import ReplacedReply
from quire_daemon.dialects.base import Dialect, NamedFile, Plan, Sight, own_text
from quire_daemon.dialects.text import replaced, require_few
from quire_daemon.workers.regex import (
    NO_TEXT,
    Answer,
    BadPattern,
    BadReplacement,
    NeedsSearch,
    Replacements,
    ResultTooLarge,
    Search,
    SearchFailure,
    TimedOut,
)
from quire_journal.model import Refusal, limits

SHOWN_CHARS: Final = 80


class RegexParams(NamedFile, frozen=True, kw_only=True):
    """Arguments of the `regex_replace` tool: a file, a pattern, its replacement, and how often to replace."""

    pattern: str
    replacement: str  # with \\1, \\g<name> for groups
    count: int = 0  # most replacements, from the top; 0: all

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.count < 0:
            raise ValueError(f"`count` is {self.count}; it must be a number of replacements, or 0 for all")


def planning(found: Mapping[Search, Answer]) -> Callable[[RegexParams, Sight, Settings], Plan]:
    """Return a `plan` function that takes search results from `found`. If the result of its search is not in `found`,
    the function raises `NeedsSearch`; if the search failed, or made no or too many replacements, `Refusal`.
    """

    def plan(params: RegexParams, sight: Sight, settings: Settings) -> Plan:
        text, most = sight.text, settings.limits.edit_bytes
        search = Search(params.pattern, params.replacement, params.count, text.normalised, most)
        answer = found.get(search)
        if answer is None:
            raise NeedsSearch(search)
        if not isinstance(answer, Replacements) or not answer.made:
            raise _nothing_made(refusal(params, answer, most))
        require_few(answer.made)
        splices, final_break = replaced(text, answer.edits)
        warnings = (*((_BEYOND,) if answer.beyond else ()), *_foreign(params))
        return Plan(splices, 1, final_break, warnings, {"replacements_made": answer.made})

    return plan


_FOREIGN_GROUP: Final = re.compile(r"\$!?(?:[0-9&]|<\w+>|\{\w+\})")

_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\0(?![0-9])")
r"""`\0`: the whole match in other languages, a NUL character in `re`."""

_FOREIGN_CLASS: Final = re.compile(r"\[:\^?[a-z]+:\]")
"""A POSIX character class such as `[:alpha:]`, which `re` reads as a set of characters."""


def _foreign(params: RegexParams) -> Iterator[dict[str, Any]]:
    """Yield a warning for each syntax of other languages that `re` reads differently."""
    found = _FOREIGN_GROUP.search(params.replacement)
    if found is not None and ("(" in params.pattern or "&" in found[0]):
        message = f"{found[0]} in `replacement` was written as it stands; what a group matched is \\1 or \\g<name>."
        yield {"type": "not_a_group", "message": message}
    if _NUL.search(params.replacement):
        message = "\\0 in `replacement` was written as a NUL character; what the pattern matched is \\g<0>."
        yield {"type": "not_a_group", "message": message}
    if said := _no_class(params.pattern):
        yield {"type": "not_a_class", "message": said}


def _no_class(pattern: str) -> str:
    found = _FOREIGN_CLASS.search(pattern)
    return f"{found[0]} is no class of characters here; it is \\d, \\s, \\w, [a-z] and so on." if found else ""


_BEYOND: Final[dict[str, Any]] = {
    "type": "matched_behind_end",
    "message": "The pattern matches once more behind the final line break, where no line is; that made another line.",
}


def _nothing_made(refused: Refusal) -> Refusal:
    refused.details["replacements_made"] = 0
    return refused


def refusal(params: RegexParams, answer: Answer, most_bytes: int) -> Refusal:
    """Build the refusal of a search that failed or matched nothing. `most_bytes` is the size limit of the file."""
    pattern = params.pattern if len(params.pattern) <= SHOWN_CHARS else params.pattern[:SHOWN_CHARS] + "…"
    match answer:
        case BadPattern(why, position):
            message = f"The pattern {pattern!r} is no regular expression: {why}{_at(position)}."
            if why.startswith("unknown extension ?<"):
                message += " A group is named as in (?P<name>...)."
            return Refusal("invalid_regex", message, "fix_pattern", argument="pattern", **_position(position))
        case BadReplacement(why, position):
            message = f"`replacement` cannot be used with the pattern {pattern!r}: {why}{_at(position)}."
            return Refusal(
                "invalid_replacement", message, "fix_replacement", argument="replacement", **_position(position)
            )
        case ResultTooLarge(size):
            message = f"The file would have {size} bytes; the limit for editing is {most_bytes}."
            return Refusal("file_too_large", message, sizeBytes=size, limit=most_bytes)
        case TimedOut(limit_ms):
            message = f"The pattern {pattern!r} was stopped after {limit_ms} ms; repeats in repeats cost most."
            return Refusal("regex_timeout", message, "simplify_pattern", argument="pattern", limit_ms=limit_ms)
        case SearchFailure(_, limit) if limit:
            return limits.refusal(limit, "regex_replace")
        case SearchFailure(why):
            message = f"The search for {pattern!r} came to no end: {why}. Nothing was changed."
            return Refusal("regex_failed", message, "simplify_pattern", argument="pattern")
        case Replacements():
            message = f"The pattern {pattern!r} matches nothing in the file."
            if NO_TEXT in params.pattern:
                message += " U+FFFD is shown for bytes that are not UTF-8; it never matches."
            if "\\r" in params.pattern:
                message += " Every line end is matched as LF, which is \\n."
            if said := _no_class(params.pattern):
                message += f" {said}"
            return Refusal("pattern_not_found", message, "re-read_file", argument="pattern")


def _at(position: int | None) -> str:
    return "" if position is None else f", at position {position}"


def _position(position: int | None) -> dict[str, int]:
    return {} if position is None else {"position": position}


REGEX_REPLACE: Final = Dialect(
    "regex_replace", RegexParams, planning({}), stale="stale_base", proof=own_text, reply=ReplacedReply
)
