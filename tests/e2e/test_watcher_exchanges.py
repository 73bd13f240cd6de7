"""Exchanges of files that the daemon makes itself are not told; whatever others do beside them is."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from watching import Start, Watch, exchange

from quire_daemon.workspace.types import Signature

pytestmark = pytest.mark.real


def beside(path: Path) -> Path:
    """A new file in a folder that nobody watches."""
    made = next(folder for folder in path.parents if folder.name == "root").parent / "beside"
    made.write_text("new")
    return made


def replace(path: Path) -> Signature:
    """Put a file in the place of that at `path`, in one step, as an edit does. Its signature."""
    exchange(path, beside(path))
    return Signature.of(path.stat())


@pytest.fixture
def edited(tmp_path: Path, watch: Start) -> tuple[Path, Watch]:
    """A watched folder with files in it."""
    root = tmp_path / "root"
    (root / "sub" / "made").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "sub/a-much-longer-name-than-that.txt", "sub/made/f"):
        (root / name).write_text("old")
    watched = watch(root)
    watched.catch_up()
    return root, watched


def test_an_exchange_that_the_caller_knows_of_is_not_told(edited: tuple[Path, Watch]) -> None:
    root, watched = edited
    for paths in (["a.txt"], ["sub/a-much-longer-name-than-that.txt", "b.txt"]):
        watched.woken.clear()
        with watched.watcher.quiet():
            for path in paths:
                watched.watcher.exchanged(path, replace(root / path))
        assert not watched.watcher.has_news()
        assert not watched.catch_up()
    replace(root / "a.txt")
    assert watched.catch_up().dirty == {"a.txt"}


def test_whatever_others_do_beside_known_exchanges_is_told(edited: tuple[Path, Watch]) -> None:
    """The same file, or another; before it, or after it."""
    root, watched = edited
    for other in ("a.txt", "b.txt"):
        for first in (False, True):
            with watched.watcher.quiet():
                if first:
                    replace(root / other)
                watched.watcher.exchanged("a.txt", replace(root / "a.txt"))
                if not first:
                    replace(root / other)
            assert other in watched.catch_up().dirty


def test_a_file_that_another_program_moves_over_an_exchanged_one_is_told(edited: tuple[Path, Watch]) -> None:
    """From where nobody watches: the kernel then makes one event of the end of the exchange and of the move."""
    root, watched = edited
    with watched.watcher.quiet():
        watched.watcher.exchanged("a.txt", replace(root / "a.txt"))
        beside(root / "a.txt").rename(root / "a.txt")
    assert watched.catch_up().dirty == {"a.txt"}


def test_also_one_that_has_the_number_of_the_inode_that_was_exchanged(edited: tuple[Path, Watch]) -> None:
    """The first that was moved there had set it free."""
    root, watched = edited
    with watched.watcher.quiet():
        ours = replace(root / "a.txt")
        beside(root / "a.txt").rename(root / "a.txt")
        theirs = (root / "a.txt").stat().st_ino
        watched.watcher.exchanged("a.txt", msgspec.structs.replace(ours, ino=theirs))
    assert watched.catch_up().dirty == {"a.txt"}


def test_known_exchanges_of_many_files_with_long_names_are_not_told_either(tmp_path: Path, watch: Start) -> None:
    root = tmp_path / "root"
    root.mkdir()
    names = [f"{n:0>240}" for n in range(200)]
    for name in names:
        (root / name).write_text("old")
    watched = watch(root)
    watched.catch_up()
    with watched.watcher.quiet():
        for name in names:
            watched.watcher.exchanged(name, replace(root / name))
    assert not watched.catch_up()


def test_an_exchange_outside_of_the_quiet_is_told(edited: tuple[Path, Watch]) -> None:
    root, watched = edited
    watched.watcher.exchanged("a.txt", replace(root / "a.txt"))
    assert watched.catch_up().dirty == {"a.txt"}
    with watched.watcher.quiet():
        pass
    with watched.watcher.quiet():
        replace(root / "a.txt")
    assert watched.catch_up().dirty == {"a.txt"}


def test_an_exchange_where_nothing_is_watched_hides_nothing(edited: tuple[Path, Watch]) -> None:
    root, watched = edited
    shutil.rmtree(root / "sub" / "made")
    watched.catch_up()
    with watched.watcher.quiet():
        watched.watcher.exchanged("sub/made/f", replace(root / "b.txt"))
    assert watched.catch_up().dirty == {"b.txt"}


def test_events_that_are_taken_for_our_own_and_are_not_are_told_as_lost(edited: tuple[Path, Watch]) -> None:
    """That cannot be, but where events of ours do not come: of another file with a name as long."""
    root, watched = edited
    with watched.watcher.quiet():
        watched.watcher.exchanged("a.txt", replace(root / "b.txt"))
    assert watched.catch_up().overflowed
