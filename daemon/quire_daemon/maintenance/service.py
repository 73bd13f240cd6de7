"""Services: tools for the daemon and the journal as a whole, not decisions on files.

A service runs in the loop and returns at once; long work goes to a worker thread by `ServiceHost.start_job`. It answers
its call exactly once, by `ServiceHost.answer`; if the daemon ends before, the caller is told so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec

from quire_daemon.clock import Clock
from quire_daemon.commit import Recorder
from quire_daemon.config import LiveSettings
from quire_daemon.core import Call, Decision, Tool, World
from quire_daemon.core.replies import Reply
from quire_daemon.maintenance.export_session import ExportSessions
from quire_daemon.maintenance.gc import Collector
from quire_daemon.maintenance.head_signer import HeadSigner
from quire_daemon.watch import Outside
from quire_daemon.workers import Failed, Job

P = TypeVar("P", bound=msgspec.Struct)


if TYPE_CHECKING:
    from quire_daemon.maintenance.outbox import Outbox


class ServiceHost(Protocol):
    """The part of the daemon that services use."""

    root: Path
    state_dir: Path
    in_force: LiveSettings
    outside: Outside
    clock: Clock
    recorder: Recorder
    exporting: ExportSessions
    collector: Collector
    heads: HeadSigner
    outbox: Outbox
    progress: dict[str, dict[str, Any]]  # progress of long work, by service, for `status`

    @property
    def stopping(self) -> bool:
        """True if the daemon ends."""

    def answer(self, call: Call, body: dict[str, Any]) -> None:
        """Send the reply of `call`."""

    def start_job(self, work: Job, what: str, failed: Failed | None = None) -> None:
        """Run `work` on a worker thread, and its result in the loop. `failed` gets an error of either, which is else
        logged as `what`.
        """

    def told(self, what: str, error: Exception) -> dict[str, Any]:
        """Log an error, act on it, and return its reply."""

    def commit_noted(self) -> None:
        """Commit all noted events."""

    def coverage(self) -> dict[str, Any]:
        """The part of `health` about what the journal does not see."""

    def health(self) -> dict[str, Any]:
        """The reply of `status`."""

    def look_at(self, paths: Sequence[str]) -> None:
        """Compare these paths (as on disk) with the journal soon."""

    def stop(self) -> None:
        """End the daemon after this turn."""


class NoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of a service without arguments."""


class Service(msgspec.Struct, Generic[P], frozen=True):
    """A service: its arguments, and the function that runs in the loop."""

    name: str
    params: type[P]
    run: Callable[[Call, ServiceHost], None]
    asks: Sequence[str] = ()  # as in `Tool.asks`
    reply: type[msgspec.Struct] = Reply  # as `Tool.reply`

    def tool(self) -> Tool[P]:
        """The tool that represents this service in calls."""
        return Tool(self.name, self.params, lambda params: (), _not_a_decision, asks=self.asks, reply=self.reply)


def _not_a_decision(params: msgspec.Struct, world: World) -> Decision:
    raise AssertionError("a service is run, not decided")
