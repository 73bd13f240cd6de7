"""Short tokens of the latest plans, in memory: a full token can name thousands of batches."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from typing import Any, Final

import msgspec

from quire_journal.model import Refusal

MOST_KEPT: Final = 256

DIGITS: Final = 10
_SHORT: Final = re.compile(rf"[0-9a-f]{{{DIGITS}}}", re.ASCII)


class PlanTokens:
    """The full tokens of the `MOST_KEPT` latest undo plans, by short token."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, str] = OrderedDict()

    def shortened(self, reply: dict[str, Any]) -> dict[str, Any]:
        """Return the reply with a short token in place of the full one, which is kept."""
        token = reply.get("token") if reply.get("plan") else None
        if not isinstance(token, str):
            return reply
        short = hashlib.sha256(token.encode()).hexdigest()[:DIGITS]
        self._kept[short] = token
        self._kept.move_to_end(short)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return {**reply, "token": short}

    def meant(self, params: Any) -> Any:
        """Return the arguments with the full token for a short one. Raises `Refusal` if no such plan is kept."""
        short = getattr(params, "token", None)
        if not isinstance(short, str) or not _SHORT.fullmatch(short):
            return params
        token = self._kept.get(short)
        if token is None:
            raise Refusal("plan_stale", "No plan with this token is known any more; make a new plan.", "plan_again")
        return msgspec.structs.replace(params, token=token)
