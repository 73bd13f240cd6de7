"""Old shapes of events: functions that bring a stored body to the shape that is current.

Fields that are only appended, with a default, need none of this. A change that cannot be made so gives the
event a new tag, `file_written` becoming `file_written@2`, and a line here that turns a body of the old tag into one
of the next. Records are never rewritten: their hashes are chained.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, Final

import msgspec

Upcaster = Callable[[list[Any]], list[Any]]
"""The fields of a body of one version → the fields of the next version. Pure."""

UPCASTERS: Final[Mapping[tuple[str, int], Upcaster]] = {}
"""(kind without version, version of the stored body) → what makes version + 1 of it."""


def parse_tag(tag: str) -> tuple[str, int]:
    """Kind and version in a tag; a tag without `@` is version 1, and so is one that this version cannot read."""
    kind, _, version = tag.partition("@")
    return (kind, int(version)) if version.isascii() and version.isdigit() and len(version) < 5 else (tag, 1)


def make_tag(kind: str, version: int) -> str:
    """The tag of a version of a kind."""
    return kind if version == 1 else f"{kind}@{version}"


def lift(
    tag: str, body: bytes, known: Container[str], upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS
) -> tuple[str, bytes] | None:
    """Tag and body in the shape that `known` has; None when no upcaster leads there: the kind stays unknown.

    Raises `msgspec.MsgspecError` when the body is not an array.
    """
    kind, version = parse_tag(tag)
    if (kind, version) not in upcasters:
        return None
    fields: list[Any] = msgspec.msgpack.decode(body, type=list)
    while tag not in known:
        step = upcasters.get((kind, version))
        if step is None:
            return None
        fields = step(fields)
        version += 1
        tag = make_tag(kind, version)
    return tag, msgspec.msgpack.encode(fields)
