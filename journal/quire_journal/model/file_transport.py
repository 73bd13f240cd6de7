"""Requests and replies as files, for clients in a sandbox that cannot reach a socket.

    <workspace>/.quire/spool/    mode 0700; exists while a daemon serves it (`[spool] enabled = true` of the user)
        daemon                   flock held by the daemon; same text as the lock of the state folder
        CLIENT.caller            flock held by a client as long as its connection lasts
        CLIENT-ID.request        request frame, as on the socket; removed by the daemon on receipt
        CLIENT-ID.reply          its reply; removed by the client after reading
        .CLIENT-ID.new           incomplete request or reply, renamed when complete

CLIENT is 16 random hex digits, ID the number of the request. Both sides accept only regular files of their own user,
with one name, up to a size, and follow no links.
"""

from __future__ import annotations

import re
from typing import Final

SPOOL_FOLDER: Final = (".quire", "spool")
LOCK: Final = "daemon"
CALLER: Final = ".caller"
REQUEST: Final = re.compile(r"([0-9a-f]{16})-(\d{1,19})\.request")

MAX_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of a request or reply, which use the workspace's disk."""


def caller_file(client: str) -> str:
    return f"{client}{CALLER}"


def request_file(client: str, request_id: int) -> str:
    return f"{client}-{request_id}.request"


def reply_file(client: str, request_id: int) -> str:
    return f"{client}-{request_id}.reply"


def unfinished_file(name: str) -> str:
    return f".{name}.new"
