"""Exceptions of a client that got no reply from its daemon, by whether the request was sent."""

from __future__ import annotations


class NoDaemon(Exception):
    """No daemon was reached or started; nothing was sent. The text is a sentence with the reason."""


class NotSent(Exception):
    """The request was not sent: the daemon was not reached in time, or had ended. The text says which."""


class NoReply(Exception):
    """The request was sent and not answered, so its effect is unknown. The text gives the reason."""
