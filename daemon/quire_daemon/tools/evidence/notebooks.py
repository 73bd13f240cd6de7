"""Whether two notebooks differ by one announced change of a cell."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from quire_daemon.core import Cell
from quire_daemon.tools.evidence.effort import Effort

_BY_NUMBER: Final = re.compile(r"cell-(\d{1,6})")


def fits_cell(account: Cell, before: bytes, found: bytes, effort: Effort) -> bool:
    """True if the notebooks differ only by this cell's change and the outputs that it clears."""
    for data in (before, found):
        effort.spend(4 * len(data), (data.count(b",") + data.count(b"[") + data.count(b"{")) // 2)
    old, new = _notebook(before), _notebook(found)
    if old is None or new is None or {**old, "cells": ()} != {**new, "cells": ()}:
        return False
    was, now = old["cells"], new["cells"]
    at = _cell_at(account.cell, was)
    if account.mode == "insert":
        at = 0 if at is None and not account.cell else -1 if at is None else at + 1
        return at >= 0 and len(now) == len(was) + 1 and was == [*now[:at], *now[at + 1 :]] and _holds(account, now[at])
    if at is None:
        return False
    if account.mode == "delete":
        return bool(now == [*was[:at], *was[at + 1 :]])
    if len(now) != len(was) or was[:at] != now[:at] or was[at + 1 :] != now[at + 1 :]:
        return False
    return _holds(account, now[at]) and was[at].get("id") == now[at].get("id")


def _holds(account: Cell, cell: Any) -> bool:
    source = cell.get("source")
    text = "".join(map(str, source)) if isinstance(source, list) else source
    return text == account.source and account.type in ("", cell.get("cell_type"))


def _cell_at(named: str, cells: Sequence[Any]) -> int | None:
    found = next((at for at, cell in enumerate(cells) if named and cell.get("id") == named), None)
    number = _BY_NUMBER.fullmatch(named)
    if found is None and number is not None and int(number[1]) < len(cells):
        return int(number[1])
    return found


def _notebook(data: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    cells = found.get("cells") if isinstance(found, dict) else None
    return found if isinstance(cells, list) and all(isinstance(cell, dict) for cell in cells) else None
