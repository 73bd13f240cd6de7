"""Schedule for signing the journal's head: ten minutes after a new record, at each checkpoint, and at the daemon's end.
A worker thread signs (`quire_daemon.heads`). The event `head_signed` alone does not cause another signature.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from quire_daemon.commit import Recorder
from quire_daemon.config import LiveSettings
from quire_daemon.heads import (
    TOUCH_S,
    AgentFailure,
    HeadFolder,
    SignedHead,
    broken_folders,
    cosign,
    difference,
    private_key,
    sign_head,
)
from quire_daemon.ops import Log
from quire_daemon.workers import Breather, Failed, Job, Throttle
from quire_journal.model import CheckpointNamed, HeadSigned
from quire_journal.transparency import BadNote, NoteSignature, VerifierKey
from quire_journal.views.indexes import term_index

EVERY_S: Final = 600.0
"""Maximum number of seconds that a record stays unsigned while the daemon runs."""

AT_END_S: Final = 3.0
"""Maximum wait in seconds for the ssh-agent when the daemon ends."""

RETRY_S: Final = 60.0

Then = Callable[[SignedHead | None], None]
"""Callback with the newly signed head; None if nothing had to be signed."""


class SignerHost(Throttle, Protocol):
    in_force: LiveSettings
    recorder: Recorder
    log: Log

    def start_job(self, work: Job, what: str, failed: Failed | None = None) -> None: ...


class HeadSigner:
    def __init__(
        self, host: SignerHost, state: Path, tell: Callable[[str], None] = lambda broken: None, agent: str = ""
    ) -> None:
        """`tell` gets a sentence if the journal does not continue its last signed head. `agent` is the socket of the
        ssh-agent.
        """
        self._host, self._state, self._tell, self._agent = host, state, tell, agent
        self._folder = HeadFolder.of(state)
        self._open = self._runs = False
        self._waiting: deque[tuple[int, Then, Failed]] = deque()  # calls that wait for the end of a signature
        self._size = 0  # records that the last signed head covers
        self._own = 0  # seq of its `head_signed`
        self._looked = 0  # the newest record that was looked at for checkpoints
        self._since_s: float | None = None  # since when records wait
        self._not_before_s = float("-inf")
        self._wrong = ""  # why the last attempt failed
        self._without = ""  # why the user's own key did not sign
        self._known: list[str] = []  # reported breaks of the signed history

    def open(self) -> None:
        """Start the schedule, and check in a worker whether the journal continues its last signed head. If it does not,
        that is recorded.
        """
        self._open = True
        self._looked = self._host.recorder.journal.head
        with suppress(OSError, BadNote):
            head = self._folder.head()
            self._size = head.size if head is not None else 0
        store = self._host.recorder.journal.store

        def work() -> Callable[[], None]:
            broken = difference(store, self._folder, Breather(self._host))
            return self._start if broken else _nothing

        self._tell_of_broken()
        if self._folder.path.exists():
            self._host.start_job(work, "head")

    def tidy(self) -> None:
        """Sign if it is due. The main loop calls this about once a second."""
        if not self._open or self._runs or not self._host.in_force.now.signing.heads:
            return
        now_s = self._host.clock.mono_s()
        if not self._unsigned:
            self._since_s = None
            return
        if self._since_s is None:
            self._since_s = now_s
        if now_s >= self._not_before_s and (now_s - self._since_s >= EVERY_S or self._checkpoint_named()):
            self._start()

    def cover(self, seq: int, then: Then, failed: Failed) -> None:
        """Call `then` once a signed head covers record `seq` (0: every record), after signing one if needed. An error
        goes to `failed`.
        """
        if self._runs:
            self._waiting.append((seq, then, failed))
        elif self._unsigned and not 0 < seq <= self._size:
            self._start(then, failed)
        else:
            then(None)

    def at_end(self) -> None:
        """Sign unsigned records on this thread as the daemon ends, and record the signature."""
        if self._open and self._unsigned and self._host.in_force.now.signing.heads:
            self._note(self._sign(lambda: None, AT_END_S))

    def told(self) -> dict[str, Any]:
        broken = [one for one in self._broken() if one in self._known]  # without those not reported yet
        return {
            "records": self._size,
            **({"failed": wrong} if (wrong := self._wrong or self._without) else {}),
            **({"broken": broken} if broken else {}),
        }

    @property
    def _unsigned(self) -> bool:
        return self._host.recorder.journal.head > (self._own if self._own == self._size + 1 else self._size)

    def _broken(self) -> list[str]:
        return [f"{why} Kept in {folder.path}." for folder, why in broken_folders(self._state)]

    def _tell_of_broken(self) -> None:
        self._known = broken = self._broken()
        if broken:
            more = "`quire verify` tells more, until that folder is moved away."
            self._tell(f"The journal does not go on from its last signed head. {broken[-1]} {more}")

    def _checkpoint_named(self) -> bool:
        journal = self._host.recorder.journal
        after, self._looked = self._looked, journal.head
        if after >= journal.head:
            return False
        with journal.store.reading() as r:
            wanted = [[term_index.of_kind(CheckpointNamed.kind)]]
            return any(seqs for _, seqs in term_index.find(r, wanted, after, journal.head, reverse=True))

    def _start(self, then: Then | None = None, failed: Failed | None = None) -> None:
        self._runs = True

        def work() -> Callable[[], None]:
            signed = self._sign(Breather(self._host))
            return lambda: come(signed)

        def come(signed: SignedHead | None) -> None:
            self._note(signed)
            if then is not None:
                then(signed)
            self._go_on()

        def fail(error: Exception) -> None:
            self._since_s = float("-inf")  # due as soon as it may be repeated
            self._not_before_s = self._host.clock.mono_s() + RETRY_S
            known, self._wrong = self._wrong, f"no newer head could be signed: {error}"
            if failed is not None:
                failed(error)
            elif known != self._wrong:  # logged once: it may fail again each minute
                self._host.log.fault("head", error)
            self._go_on()

        self._host.start_job(work, "head", fail)

    def _go_on(self) -> None:
        self._runs = False
        while self._waiting and not self._runs:
            self.cover(*self._waiting.popleft())

    def _sign(self, pace: Callable[[], None], touch_s: float = TOUCH_S) -> SignedHead | None:
        journal = self._host.recorder.journal
        private = private_key(self._state, secrets.token_bytes(32))
        at_s = self._host.clock.now_ns() // 1_000_000_000
        cosigned = partial(self._cosigned, touch_s)
        return sign_head(journal.store, self._folder, private, journal.workspace_id, at_s, pace, cosigned)

    def _cosigned(self, touch_s: float, text: str) -> list[tuple[VerifierKey, NoteSignature]]:
        self._without = ""
        wanted = self._host.in_force.now.signing.ssh_key
        if not wanted:
            return []
        try:
            return [cosign(self._agent, wanted, text, touch_s)]
        except AgentFailure as error:
            self._without = f"the last head lacks the signature of signing.ssh_key: {error}"
            self._host.log.warning("head_cosign", reason=str(error))
            return []

    def _note(self, signed: SignedHead | None) -> None:
        self._wrong = ""
        if signed is None:
            return
        self._size = signed.head.size
        if signed.broken:
            self._tell_of_broken()
        if signed.new:
            self._since_s = None
            origin, size, root = signed.head
            self._own = self._host.recorder.note(HeadSigned(origin, size, root, signed.public, signed.broken))


def _nothing() -> None: ...
