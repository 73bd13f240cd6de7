"""Failures between a client and its daemon, by how much was sent. The text gives the reason.

This module imports nothing: an explanation must not depend on what failed.
"""

from __future__ import annotations


class NoDaemon(Exception):
    """No daemon was reached or started; nothing was sent. The text is a sentence with the reason."""


class NotSent(Exception):
    """Nothing was sent: the daemon was not reached in time, or had ended. The text says which."""


class NoReply(Exception):
    """The request was sent and not answered; its effect is unknown. The text gives the reason."""
