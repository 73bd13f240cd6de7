"""Ops: timers, memory limits, process tree, systemd, and the daemon's own log."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.ops import fault_injection as fault_injection, systemd as systemd
    from quire_daemon.ops.address_space import *
    from quire_daemon.ops.daemon_log import *
    from quire_daemon.ops.process_tree import *
    from quire_daemon.ops.timers import *
    from quire_daemon.ops.write_counters import *
else:
    __getattr__ = face(
        __name__,
        address_space="NEEDED bound_malloc memory_left",
        daemon_log="Log",
        process_tree="Process ProcessId ProcessTree pid_start",
        timers="Chore Chores",
        write_counters="WriteCounters",
    )
