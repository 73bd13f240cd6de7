"""Notifications to systemd over $NOTIFY_SOCKET (sd_notify(3)), if that is set."""

from __future__ import annotations

import os
import socket


def notify(state: str) -> None:
    """Send `state` to systemd, such as `READY=1`. Errors are ignored."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as door:
        try:
            door.sendto(state.encode(), address)
        except OSError:
            return


def watchdog_s() -> float:
    """Return half the unit's watchdog timeout in seconds; 0 without one."""
    asked, ours = os.environ.get("WATCHDOG_USEC", ""), str(os.getpid())
    return int(asked) / 2_000_000 if asked.isdigit() and os.environ.get("WATCHDOG_PID", ours) == ours else 0.0
