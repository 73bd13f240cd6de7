"""Upcasters: functions that convert a stored event body of an old form to the current form. Appended fields with a
default need none. Any other change gives the event a new tag (`file_written@2`) and an upcaster, as records, whose
hashes are chained, are not rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, Final

import msgspec

Upcaster = Callable[[list[Any]], list[Any]]

UPCASTERS: Final[Mapping[tuple[str, int], Upcaster]] = {}
"""(kind without version, version of the stored body) → upcaster to version + 1."""


def parse_tag(tag: str) -> tuple[str, int]:
    """Return kind and version of a tag `kind@version`; the whole tag and 1 for any other form."""
    kind, _, version = tag.partition("@")
    return (kind, int(version)) if version.isascii() and version.isdigit() and len(version) < 5 else (tag, 1)


def make_tag(kind: str, version: int) -> str:
    return kind if version == 1 else f"{kind}@{version}"


def lift(
    tag: str, body: bytes, known: Container[str], upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS
) -> tuple[str, bytes] | None:
    """Return tag and body of an event, upcast until the tag is in `known`; None if no upcaster leads there. Raises
    `msgspec.MsgspecError` if the body is no array.
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
