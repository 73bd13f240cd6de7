"""Services: tools for the daemon or the whole journal.

A service runs in the main loop and returns at once; long work goes to a thread by `ServiceHost.start_job`. It replies
exactly once, by `ServiceHost.answer`. If the daemon ends first, it sends the caller a reply that says so.
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
from quire_daemon.maintenance.outbox import Outbox
from quire_daemon.watch import Outside
from quire_daemon.workers import Failed, Job

P = TypeVar("P", bound=msgspec.Struct)


if TYPE_CHECKING:
    from quire_daemon.family import Family


class ServiceHost(Protocol):
    """What a service can use of the daemon."""

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
    family: Family
    progress: dict[str, dict[str, Any]]  # progress of long work, by service, for `status`

    @property
    def stopping(self) -> bool:
        """True if the daemon is stopping."""

    def answer(self, call: Call, body: dict[str, Any]) -> None:
        """Send the reply to `call`."""

    def start_job(self, work: Job, what: str, failed: Failed | None = None) -> None:
        """Run `work` on a worker thread, and the function that it returns in the main loop. An error of either goes to
        `failed`; without `failed` it is logged as `what`.
        """

    def told(self, what: str, error: Exception) -> dict[str, Any]:
        """Log `error`, and return the reply about it. `what` names the failed service."""

    def commit_noted(self) -> None:
        """Commit all pending records."""

    def coverage(self) -> dict[str, Any]:
        """Return which changes of files the journal may miss, as in the `status` reply."""

    def health(self) -> dict[str, Any]:
        """Return the reply to `status`."""

    def look_at(self, paths: Sequence[str]) -> None:
        """Schedule a comparison of the files at these paths with the journal."""

    def stop(self) -> None:
        """End the daemon after this pass of its main loop."""


class NoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of a service that takes none."""


class Service(msgspec.Struct, Generic[P], frozen=True):
    """A service: its name, arguments and reply, and the function that handles a call."""

    name: str
    params: type[P]
    run: Callable[[Call, ServiceHost], None]
    asks: Sequence[str] = ()  # as in `Tool.asks`
    reply: type[msgspec.Struct] = Reply  # as `Tool.reply`

    def tool(self) -> Tool[P]:
        """Return the `Tool` by which requests call this service."""
        return Tool(self.name, self.params, lambda params: (), _not_a_decision, asks=self.asks, reply=self.reply)


def _not_a_decision(params: msgspec.Struct, world: World) -> Decision:
    raise AssertionError("a service is run, not decided")
