"""What goes wrong between a client and its daemon, told by how much was sent. The text says why.

Nothing is imported here: what explains a failure must not load what could have failed.
"""

from __future__ import annotations


class NoDaemon(Exception):
    """No daemon could be reached or started; nothing was sent. The text is a sentence with the precise reason."""


class NotSent(Exception):
    """Nothing was sent: the daemon could not be reached in time, or had ended. The text says which."""


class NoReply(Exception):
    """The request was sent and no reply came; whether it was performed is unknown. The text says why."""
