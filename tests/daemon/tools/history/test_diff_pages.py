"""Pages of `diff`: the next one goes on with the comparison of the page before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.tools.history.diff import MAX_FILES
from quire_journal.storage import MemoryStore, ReadTransaction

HEAD = "1" * 40
MANY = MAX_FILES + 3


class CountingStore(MemoryStore):
    """A store that counts the reads of versions."""

    reads = 0

    @contextmanager
    def reading(self) -> Iterator[ReadTransaction]:
        with super().reading() as reading:
            yield Counted(reading, self)


class Counted:
    def __init__(self, reading: ReadTransaction, store: CountingStore) -> None:
        self._reading, self._store = reading, store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reading, name)

    def scan(self, table: str, *args: Any, **named: Any) -> Iterator[tuple[bytes, bytes]]:
        for pair in self._reading.scan(table, *args, **named):
            self._store.reads += table == "versions"
            yield pair


class CountingDaemon(MemoryDaemon):
    def _serve(self, began_ns: int) -> None:
        self.store = self._store = CountingStore(logs=True)
        super()._serve(began_ns)

    def page(self, **asked: Any) -> tuple[dict[str, Any], int]:
        """(the reply to `diff`, the number of versions that were read for it)."""
        before = self.store.reads
        reply = self.ask("diff", {"from": "seq:0", **asked})
        return reply, self.store.reads - before


@pytest.fixture
def daemon() -> CountingDaemon:
    daemon = CountingDaemon()
    daemon.git_answers.trees[HEAD] = {"0000": ("100644", b"old\n")}
    daemon.write_all({f"{number:04}": b"%d\n" % number for number in range(MANY)}, daemon.ann)
    return daemon


@pytest.mark.parametrize(
    ("asked", "passes"),  # over the versions of all files, which a patch of one writer needs for their names
    [({}, 0), ({"writer": "ann"}, 0), ({"from": f"commit:{HEAD}"}, 0), ({"writer": "ann", "alone": "apart"}, 1)],
)
def test_the_next_page_does_not_compare_again(daemon: CountingDaemon, asked: dict[str, Any], passes: int) -> None:
    first, many = daemon.page(**asked)
    second, few = daemon.page(cursor=first["next"], **asked)
    assert len(second["files"]) == MANY - MAX_FILES
    assert many >= (passes + 1) * MANY
    assert few <= passes * MANY + 20


def test_a_page_of_another_request_or_after_a_record_is_of_its_own_comparison(daemon: CountingDaemon) -> None:
    first, _ = daemon.page()
    daemon.write("new", b"new\n", daemon.ben)
    more, _ = daemon.page(cursor=first["next"])
    assert [one["path"] for one in more["files"]][-1] == "new"
    again, _ = daemon.page(cursor=first["next"], to=first["to"])
    assert "new" not in [one["path"] for one in again["files"]]
