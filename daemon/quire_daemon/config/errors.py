"""Error messages for invalid settings files. Each names file, line and key."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from quire_journal.model import LONGEST_GUESS, did_you_mean

_AT_LINE: Final = re.compile(r" \(at line (?P<line>\d+), column (?P<column>\d+)\)$")
_AT_END: Final = " (at end of document)"
_PLACE: Final = re.compile(r" - at `\$\.?(?P<place>[^`]*)`$")
_FIELD: Final = re.compile(r"Object contains unknown field `(?P<given>[^`]*)`")
_VALUE: Final = re.compile(r"Invalid enum value '(?P<given>[^']*)'")
_TYPE: Final = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<given>[^`]*)`")
_HEADER: Final = re.compile(r"\s*\[+\s*(?P<section>[^\]]+?)\s*\]")
_KEY: Final = re.compile(r"\s*(?P<key>[\w.\"' -]+?)\s*=")
_WORDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": 'a text in "quotes"',
    "bool": "true or false",
    "array": "a list in [brackets]",
    "object": "a table",
}


class BadSettings(Exception):
    """An invalid settings file; the message names file, line and problem."""


def wrong_at(name: str, text: str | None, dotted: str, said: str) -> BadSettings:
    """Return an error with the message `said` and the line of the key `dotted` in the settings file `name`."""
    return BadSettings(f"{name}: line {line_of(text, dotted)}: {said}")


def not_toml(name: str, text: str, error: Exception) -> BadSettings:
    """Return the error for content that is not TOML."""
    said = str(error)
    found = _AT_LINE.search(said)
    where = f"line {found['line']}, column {found['column']}" if found else f"line {max(1, len(text.splitlines()))}"
    return BadSettings(f"{name}: {where}: not valid TOML: {_AT_LINE.sub('', said).removesuffix(_AT_END)}")


def not_fitting(
    name: str, text: str | None, settings: type[msgspec.Struct], error: msgspec.ValidationError
) -> BadSettings:
    """Return the error for TOML that does not fit the struct `settings`."""
    said = str(error)
    place = _PLACE.search(said)
    dotted = re.sub(r"\[\.*\d*\]", "", place["place"]) if place else ""
    if field := _FIELD.match(said):
        given = field["given"]
        takes = _keys_below(settings, dotted)
        key = f"{dotted}.{given}" if dotted else given
        there = f"`[{dotted}]` takes" if dotted else "There are"
        told = f"there is no key `{key[:LONGEST_GUESS]}`.{did_you_mean(given, takes)} {there} {', '.join(takes)}"
        return wrong_at(name, text, key, told)
    if wrong := _TYPE.match(said):
        wanted = " or ".join(_WORDS.get(word, word) for word in wrong["wanted"].split(" | "))
        subject = f"what stands in {dotted}" if place and place["place"].endswith("]") else dotted
        return wrong_at(name, text, dotted, f"{subject} must be {wanted}, not {_WORDS.get(wrong['given'], 'that')}")
    if value := _VALUE.match(said):
        return wrong_at(name, text, dotted, f"{dotted} cannot hold {value['given'][:LONGEST_GUESS]!r}")
    return wrong_at(name, text, dotted, said)


def line_of(text: str | None, dotted: str) -> int:
    """Return the line (from 1) that sets the key `dotted` (`limits.edit_bytes`) or begins its section; 1 if not
    found.
    """
    wanted, section, last = dotted.split("."), [""], 1
    for number, line in enumerate((text or "").splitlines(), 1):
        if header := _HEADER.match(line):
            section = _parts(header["section"])
            if section == wanted:
                return number
        elif key := _KEY.match(line):
            found = [part for part in section if part] + _parts(key["key"])
            if found == wanted[: len(found)]:  # shorter: `edit = 3`, or a table within the line
                return number
        if section == wanted[: len(section)]:
            last = number if last == 1 else last
    return last


def _parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def _keys_below(struct: Any, dotted: str) -> list[str]:
    for step in dotted.split(".") if dotted else ():
        struct = next(field.type for field in msgspec.structs.fields(struct) if field.encode_name == step)
    return [field.encode_name for field in msgspec.structs.fields(struct)]
