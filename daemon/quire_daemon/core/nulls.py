"""Null for what may be left out is the same as to leave it out, whatever its type within.

Some programs have to name every argument of a tool in each call, and say null where they mean nothing by it. What a
call needs is still missing then, and a name that the tool does not have is still unknown.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from quire_daemon.core.json_schema import flat


def without_nulls(params: type[msgspec.Struct], given: Any) -> dict[str, Any] | None:
    """`given` without the nulls of arguments, and of fields of objects in a list; None where it has none of these."""
    if not isinstance(given, dict):
        return None
    known = frozenset(params.__struct_encode_fields__)
    kept = {
        name: [_item(params, name, item) for item in value] if isinstance(value, list) else value
        for name, value in given.items()
        if value is not None or name not in known
    }
    return None if kept == given else kept


def _item(params: type[msgspec.Struct], name: str, item: Any) -> Any:
    if not isinstance(item, dict) or None not in item.values():
        return item
    known = _names_inside(params, name)
    return {field: value for field, value in item.items() if value is not None or field not in known}


@lru_cache(maxsize=64)
def _names_inside(params: type[msgspec.Struct], name: str) -> frozenset[str]:
    """The fields that an object in the list `name` can have: to work them out takes longer than most calls."""
    below = flat(params)["properties"].get(name, {}).get("items", {})
    return frozenset(below.get("properties", ()))
