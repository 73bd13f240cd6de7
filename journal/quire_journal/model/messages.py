"""Wire format: one request frame and one reply frame, msgpack maps, at most `MAX_MESSAGE`. The arguments of a tool are
a nested raw body: the daemon routes a request before decoding them, and the tool reports a malformed argument.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

MAX_MESSAGE: Final = 80 * 1024 * 1024
"""Maximum bytes of a frame. The client refuses to send more; the daemon's socket cuts the connection."""

MOST_OP_BYTES: Final = 16
"""Maximum length of an operation id; a longer id is `schema_invalid`."""


class Caller(msgspec.Struct, frozen=True, omit_defaults=True):
    """Identity that a caller claims. The daemon adds uid and pid, which the kernel attests."""

    agent: str = ""
    agent_session: str = ""
    turn: str = ""
    tool_call: str = ""
    model: str = ""
    parent: str = ""  # agent session of a subagent's parent
    guessed: bool = (
        False  # the agent session is invented or from the environment: that of the agent process has priority
    )


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    id: int  # echoed in the reply; the client's own counter
    tool: str
    args: msgspec.Raw = msgspec.Raw(b"\x80")
    caller: Caller = Caller()
    op: bytes = b""  # operation id, MOST_OP_BYTES random bytes; `op_status` gives its outcome
    deadline_ns: int = 0  # wall clock; after it the request is refused. 0: none
    wire: int = 1  # the default stays 1 forever: it is omitted, and both sides must read that as the same
    client: str = ""  # version of the client
    epoch: str = ""  # run of the daemon that answered the client last, for the daemon's log


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    id: int
    body: dict[str, Any]
    epoch: str = ""  # run of the daemon that answered
    wire: int = 1
    daemon: str = ""  # version of the daemon


encode = msgspec.msgpack.Encoder().encode
decode_request = msgspec.msgpack.Decoder(Request).decode
decode_reply = msgspec.msgpack.Decoder(Reply).decode
