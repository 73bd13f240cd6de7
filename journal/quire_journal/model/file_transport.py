"""Requests and replies as files: what daemon and client agree upon, where a sandbox lets nobody reach a socket.

    <workspace>/.quire/spool/          mode 0700; there while a daemon serves it (`[spool] enabled = true` of the user)
        daemon                         flock held by the daemon; what it says of itself, as in the state folder's lock
        CLIENT.caller                  flock held by a client as long as its connection lasts
        CLIENT-ID.request              a request, the frame as on the socket; the daemon removes it when it takes it
        CLIENT-ID.reply                the reply to it; the client removes it when it has read it
        .CLIENT-ID.new                 either of them, not whole yet: it is renamed when it is

CLIENT is 16 hex digits that a client draws, ID the request's. Whoever can write here could as well read and write the
workspace's files: the folder is inside of it and belongs to its owner. Both sides take only regular files of their own
user, with one name, up to a size, and follow no link, neither in the folder nor on the way to it.
"""

from __future__ import annotations

import re
from typing import Final

SPOOL_FOLDER: Final = (".quire", "spool")
LOCK: Final = "daemon"
CALLER: Final = ".caller"
REQUEST: Final = re.compile(r"([0-9a-f]{16})-(\d{1,19})\.request")

MAX_BYTES: Final = 16 * 1024 * 1024
"""Of one request or reply: they pass through the workspace's disk."""


def caller_file(client: str) -> str:
    """The name of the file that a client holds."""
    return f"{client}{CALLER}"


def request_file(client: str, request_id: int) -> str:
    """The name of a request's file."""
    return f"{client}-{request_id}.request"


def reply_file(client: str, request_id: int) -> str:
    """The name of the file of the reply to it."""
    return f"{client}-{request_id}.reply"


def unfinished_file(name: str) -> str:
    """What the file is called until it is whole."""
    return f".{name}.new"
