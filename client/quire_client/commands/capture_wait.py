"""Waits for the first capture, with a progress bar or lines that tell how far it is."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import Progress
from quire_client.commands.base import Invocation

if TYPE_CHECKING:
    from quire_client.api import Client

PAUSE_S: Final = 0.1
TOLD_S: Final = 1.5
SHORT_S: Final = 0.5


def captured(client: Client, call: Invocation, most_s: float = math.inf) -> dict[str, Any]:
    """Wait for the first capture, and return the last reply of `status`: once every file is in the journal, a scan
    failed and is to be retried, or `most_s` seconds have passed.
    """
    until = time.monotonic() + most_s
    told = time.monotonic() - TOLD_S + SHORT_S
    with Progress("Recording files", call.person_watches) as bar:
        while True:
            reply = client.status()
            capture = reply.get("capture") or {}
            if not reply.get("ok") or capture.get("finished", True) or capture.get("waits_for"):
                return reply
            if time.monotonic() >= until:
                return reply
            done, total = int(capture.get("done") or 0), int(capture.get("total") or 0)
            bar.update(done, total)
            if not call.person_watches and time.monotonic() - told >= TOLD_S:
                told = time.monotonic()
                call.say(f"Recording files: {done:,} of {total:,}." if total else "Recording files.")
            time.sleep(PAUSE_S)
