"""The kernel names the processes that write in a checkout, however short they run.

Skipped where it may not be asked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire_daemon.clock import SystemClock
from quire_daemon.watch.fanotify.tracer import NOT_YET, Tracer, Writers
from quire_daemon.watch.ignore import Ignore

PATIENCE_S = 20.0
TRIES = 5


class Checkout:
    """A folder that is watched, and shells that write there."""

    def __init__(self, root: Path, elsewhere: Path) -> None:
        self.root, self.elsewhere = root, elsewhere
        self.tracer = Tracer(root, Ignore(root).ignored, SystemClock())
        self._tries = 0

    def begin(self) -> None:
        """Skips the test where the kernel does not tell."""
        self.tracer.begin()
        until_s = time.monotonic() + PATIENCE_S
        while NOT_YET in self.tracer.state and time.monotonic() < until_s:
            self.tracer.look()
            time.sleep(0.002)
        if self.tracer.state != "fanotify":
            pytest.skip(f"tracing: {self.tracer.state}")

    def run(self, command: str) -> int:
        """A shell runs it; the pid of that shell."""
        shell = subprocess.Popen(["bash", "-c", f"{command}\n:"], cwd=self.root)
        assert shell.wait() == 0
        return shell.pid

    def writers(self, path: str) -> Writers:
        """Who wrote there since this was asked last."""
        found = self.tracer.writers_of(path)
        self.tracer.looked(path, time.monotonic())
        return found

    def traced(self, before: str, command: str, *paths: str) -> list[set[str]]:
        """The names of those who wrote each path in `command`, which follows another one.

        Without the shell, which opens a file before it becomes another program. On a machine that has no time a process
        is missed now and then; the commands are run again then, in another folder.
        """
        for _ in range(TRIES):
            self._tries += 1
            inside = f"try{self._tries}"
            for folder in (self.root, self.elsewhere):
                (folder / inside).mkdir()
            self.run(f"cd {inside}; E={self.elsewhere}/{inside}; {before}")
            for path in paths:
                self.writers(f"{inside}/{path}")
            shell = self.run(f"cd {inside}; E={self.elsewhere}/{inside}; {command}")
            found = [self.writers(f"{inside}/{path}") for path in paths]
            if None not in found:
                assert {shell in {one.pid for one in w.line} for writers in found for w in writers or ()} == {True}
                return [{one.process.name for one in writers or ()} - {"bash"} for writers in found]
        pytest.fail("a process was missed each time")


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    for name in ("root", "elsewhere"):
        (tmp_path / name).mkdir()
    one = Checkout(tmp_path / "root", tmp_path / "elsewhere")
    try:
        one.begin()
        yield one
    finally:
        one.tracer.close()


@pytest.mark.campaign  # the machine must not be busy with other tests: a shell may be gone before it is read
def test_two_hundred_short_writers_are_known_with_the_shell_that_they_descend_from(checkout: Checkout) -> None:
    """Some may be gone before they can be read on a machine that has no time; none is taken for another."""
    ways = ('(echo 1 > "a$i")', 'sh -c "echo 1 > b$i"', 'cat /etc/hostname | tr 1 2 > "c$i"', 'cp /etc/hostname "d$i"')
    known = 0
    for way, letter in zip(ways, "abcd", strict=True):
        shell = checkout.run(f"for i in $(seq 50); do {way}; done")
        checkout.tracer.ask([f"{letter}{number}" for number in range(1, 51)])
        for number in range(1, 51):
            writers = checkout.tracer.writers_of(f"{letter}{number}")
            if writers is not None:
                assert {shell in {one.pid for one in writer.line} for writer in writers} == {True}
                known += 1
    assert known >= 150, known


def test_a_save_by_rename_is_of_whoever_wrote_the_temporary_file(checkout: Checkout) -> None:
    assert checkout.traced("echo a > f", "sed -i s/a/b/ f", "f") == [{"sed"}]
    assert checkout.traced("echo a > f", "sed s/b/c/ f > f.tmp; mv f.tmp f", "f") == [{"mv", "sed"}]


def test_a_pipeline_writes_by_its_last_program(checkout: Checkout) -> None:
    assert checkout.traced(":", "printf 'b\\na\\n' | sort | uniq > f", "f") == [{"uniq"}]


def test_what_python_writes_is_its_own(checkout: Checkout) -> None:
    subprocess.run([sys.executable, "-c", "open('f', 'w').write('a')"], cwd=checkout.root, check=True)
    writers = checkout.writers("f")
    assert writers
    assert [os.getpid() in {one.pid for one in writer.line} for writer in writers] == [True]
    assert writers[0].began_s <= writers[0].first_s <= writers[0].last_s <= time.monotonic()


def test_files_of_new_folders_are_traced_from_the_first(checkout: Checkout) -> None:
    assert checkout.traced(":", "mkdir -p new/deep; cp /etc/hostname new/deep/f", "new/deep/f") == [{"cp"}]


def test_deletions_moves_and_links_are_traced(checkout: Checkout) -> None:
    gone, old, new, link = checkout.traced("echo a > f; echo a > g", "rm f; mv g h; ln -s h l", "f", "g", "h", "l")
    assert (gone, old, new, link) == ({"rm"}, {"mv"}, {"mv"}, {"ln"})


def test_a_move_is_of_whoever_moved_where_the_journal_knew_the_old_name(checkout: Checkout) -> None:
    checkout.run("cp /etc/hostname f; cp /etc/hostname g")
    checkout.tracer.looked("f", time.monotonic())
    checkout.run("mv f f2; mv g g2")
    moved, written = checkout.tracer.writers_of("f2"), checkout.tracer.writers_of("g2")
    if moved is None or written is None:
        pytest.skip("this machine has no time")
    assert [one.process.name for one in moved] == ["mv"]
    assert {one.process.name for one in written} == {"cp", "mv"}


def test_what_is_in_a_folder_moves_with_it(checkout: Checkout) -> None:
    assert checkout.traced("mkdir old; echo a > old/f", "sed -i s/a/b/ old/f; mv old new", "new/f") == [{"mv", "sed"}]


def test_what_comes_from_elsewhere_is_of_whoever_moved_it(checkout: Checkout) -> None:
    write = "for i in 1 2 3; do cp /etc/hostname $E/f; done; mkdir $E/sub; echo 1 > $E/sub/f"
    moved = "mv $E/f f; mv $E/sub sub"
    assert checkout.traced(write, moved, "f", "sub/f") == [{"mv"}, {"mv"}]
    assert checkout.traced(f"{write}; {moved}", "cp /etc/hostname sub/f", "sub/f") == [{"cp"}]


def test_several_writers_are_all_told(checkout: Checkout) -> None:
    assert checkout.traced(":", "cp /etc/hostname f; sed -i s/a/b/ f; truncate -s 1 f", "f") == [
        {"cp", "sed", "truncate"}
    ]


def test_a_file_with_another_name_elsewhere_is_unknown(checkout: Checkout) -> None:
    checkout.run("echo a > f; ln f ../elsewhere/g")
    assert checkout.writers("f") is None


def test_writes_of_the_daemon_itself_are_nobodys(checkout: Checkout) -> None:
    (checkout.root / "f").write_text("a")
    assert checkout.writers("f") == ()


def test_when_the_process_ends_nothing_is_known_and_it_is_said(checkout: Checkout) -> None:
    checkout.run("echo a > f")
    process = checkout.tracer._process
    assert process is not None
    process.kill()
    process.wait()
    assert checkout.writers("f") is None
    assert checkout.tracer.state.startswith("off (the process that reads fanotify ended")


def test_with_the_setting_off_nothing_is_asked(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path, Ignore(tmp_path).ignored, SystemClock(), trace="off")
    tracer.begin()
    assert (tracer.state, tracer.writers_of("f")) == ("off ([watch] trace is off)", None)
