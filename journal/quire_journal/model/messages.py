"""The wire format: one request frame and one reply frame, msgpack maps, of limited size (`MAX_MESSAGE`).

The arguments of a tool travel as a sealed body: the daemon routes a request before decoding them, and the tool reports
a malformed argument.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

MAX_MESSAGE: Final = 80 * 1024 * 1024
"""Bytes of one frame. The client refuses to send more; the daemon's socket cuts the connection."""

MOST_OP_BYTES: Final = 16
"""Largest operation id in bytes; a longer id is `schema_invalid`."""


class Caller(msgspec.Struct, frozen=True, omit_defaults=True):
    """The identity that a caller claims. The daemon adds uid and pid, which the kernel attests."""

    agent: str = ""
    agent_session: str = ""
    turn: str = ""
    tool_call: str = ""
    model: str = ""
    parent: str = ""  # of a subagent: the agent session that it is a child of
    guessed: bool = False  # the agent session is made up or from the environment: the agent process's own has priority


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call of a tool."""

    id: int  # echoed in the reply; the client's own counter
    tool: str
    args: msgspec.Raw = msgspec.Raw(b"\x80")
    caller: Caller = Caller()
    op: bytes = b""  # operation id, made by the client of MOST_OP_BYTES random bytes; `op_status` settles it
    deadline_ns: int = 0  # wall clock; a request looked at later is not performed. 0: none
    wire: int = 1  # the default stays 1 for good: it is left out, and both sides must take that for the same
    client: str = ""  # version of the client
    epoch: str = ""  # the run of the daemon that answered the client last, for the daemon's log


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to one request."""

    id: int
    body: dict[str, Any]
    epoch: str = ""  # which run of the daemon answered
    wire: int = 1
    daemon: str = ""  # version of the daemon


encode = msgspec.msgpack.Encoder().encode
decode_request = msgspec.msgpack.Decoder(Request).decode
decode_reply = msgspec.msgpack.Decoder(Reply).decode
