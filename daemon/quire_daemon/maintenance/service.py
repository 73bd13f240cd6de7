"""Services: tools about the daemon and the journal as a whole. They are not decisions on files.

A service runs in the loop, and must return at once: what takes longer goes to a worker thread by
`ServiceHost.start_job`, whose result comes back into the loop. It answers its call exactly once, by
`ServiceHost.answer`, now or later; only where the daemon ends before that, the caller hears of that end instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from quire_daemon.clock import Clock
from quire_daemon.commit import Recorder
from quire_daemon.config import LiveSettings
from quire_daemon.core import Call, Decision, Tool, World
from quire_daemon.core.replies import Reply
from quire_daemon.maintenance.export_session import ExportSessions
from quire_daemon.maintenance.gc import Collector
from quire_daemon.watch import Outside
from quire_daemon.workers import Failed, Job

P = TypeVar("P", bound=msgspec.Struct)


class ServiceHost(Protocol):
    """What a service may ask of the daemon that it runs in."""

    root: Path
    state_dir: Path
    in_force: LiveSettings
    outside: Outside
    clock: Clock
    recorder: Recorder
    exporting: ExportSessions
    collector: Collector
    progress: dict[str, dict[str, Any]]  # of what takes long, by service: what `status` tells of it

    @property
    def stopping(self) -> bool:
        """Does the daemon end?"""

    def answer(self, call: Call, body: dict[str, Any]) -> None:
        """Send the reply of `call`."""

    def start_job(self, work: Job, what: str, failed: Failed | None = None) -> None:
        """Run `work` on a worker thread, and in the loop what it returns. `failed` is told of an error of either.

        Where there is no `failed`, it is logged by the name `what`.
        """

    def told(self, what: str, error: Exception) -> dict[str, Any]:
        """The reply that tells a caller of an error: logged, and what follows from it is done."""

    def settle(self) -> None:
        """Commit everything that is noted, so that the store holds all that happened."""

    def coverage(self) -> dict[str, Any]:
        """The part of `health` that says what the journal does not see."""

    def health(self) -> dict[str, Any]:
        """What `status` tells."""

    def look_at(self, paths: Sequence[str]) -> None:
        """Compare these paths (as on disk) with the journal soon."""

    def stop(self) -> None:
        """End the daemon after this turn."""


class NoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of a service that takes none."""


class Service(msgspec.Struct, Generic[P], frozen=True):
    """A service: its arguments, and what runs in the loop. The table is in `maintenance/table.py`."""

    name: str
    params: type[P]
    run: Callable[[Call, ServiceHost], None]
    asks: Sequence[str] = ()  # as `Tool.asks`
    reply: type[msgspec.Struct] = Reply  # as `Tool.reply`

    def tool(self) -> Tool[P]:
        """The tool as which calls of this service are taken."""
        return Tool(self.name, self.params, lambda params: (), _not_a_decision, asks=self.asks, reply=self.reply)


def _not_a_decision(params: msgspec.Struct, world: World) -> Decision:
    raise AssertionError("a service is run, not decided")
