"""What long work is promised, on threads or without. A suite of an adapter is this class with `fresh` filled in."""

from __future__ import annotations

from collections.abc import Callable

from quire_daemon.workers.pool import Cancellation, Failed, Guarded, Job


class Loop:
    """What happens in the loop, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def guarded(self, what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001
            self.tell(f"{what} ended: {error}")

    def tell(self, said: str) -> None:
        self.told.append(said)


class JobsContract:
    """The promises of `quire_daemon.workers.pool.Jobs`."""

    def take(self, guarded: Guarded, work: Job, what: str, failed: Failed | None) -> None:
        """Start it, wait for its end, and take its result."""
        raise NotImplementedError

    def told(self, *jobs: tuple[Job, bool]) -> list[str]:
        """What the loop is told of these, one after the other. With True somebody wants to be told of an error."""
        loop = Loop()
        for number, (work, wants) in enumerate(jobs):
            failed: Failed | None = (lambda error: loop.tell(f"failed: {error}")) if wants else None
            self.take(loop.guarded, work, f"job {number}", failed)
        return loop.told

    def test_what_work_returns_is_called_when_results_are_taken(self) -> None:
        loop = Loop()
        self.take(loop.guarded, lambda: lambda: loop.tell("then"), "job", None)
        assert loop.told == ["then"]

    def test_whoever_wants_to_is_told_of_an_error_of_the_work_and_of_what_it_returned(self) -> None:
        assert self.told((_breaks_off, True), (_ends_badly, True)) == ["failed: broken", "failed: bad"]

    def test_other_errors_are_told_by_the_name_of_the_work_and_end_nothing(self) -> None:
        assert self.told((_breaks_off, False), (_ends_badly, False)) == ["job 0 ended: broken", "job 1 ended: bad"]

    def test_who_is_told_of_an_error_may_raise_it_again(self) -> None:
        loop = Loop()

        def again(error: Exception) -> None:
            loop.tell("failed")
            raise error

        self.take(loop.guarded, _breaks_off, "job", again)
        assert loop.told == ["failed", "job ended: broken"]

    def test_work_that_ends_because_the_daemon_stops_brings_nothing_and_fails_nobody(self) -> None:
        assert self.told((_stops, True), (_stops, False)) == []


def _breaks_off() -> Callable[[], None]:
    raise RuntimeError("broken")


def _ends_badly() -> Callable[[], None]:
    def then() -> None:
        raise RuntimeError("bad")

    return then


def _stops() -> Callable[[], None]:
    raise Cancellation
