"""Ops: what the operating system is asked and told: timers, limits, the process tree, the daemon's own log, systemd."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.ops import fault_injection as fault_injection, systemd as systemd
    from quire_daemon.ops.address_space import (
        NEEDED as NEEDED,
        bound_malloc as bound_malloc,
        give_back as give_back,
        memory_left as memory_left,
    )
    from quire_daemon.ops.daemon_log import Log as Log
    from quire_daemon.ops.process_tree import (
        Process as Process,
        ProcessId as ProcessId,
        ProcessTree as ProcessTree,
        pid_start as pid_start,
    )
    from quire_daemon.ops.timers import Chore as Chore, Chores as Chores
else:
    __getattr__ = face(
        __name__,
        address_space="NEEDED bound_malloc give_back memory_left",
        daemon_log="Log",
        process_tree="Process ProcessId ProcessTree pid_start",
        timers="Chore Chores",
    )
