"""From the kernel's events to the table of who wrote which file."""

from __future__ import annotations

import errno

from quire_daemon.ops.process_tree import Process
from quire_daemon.watch.fanotify.event_reader import RECYCLED_S, SURE_S, EventReader, Folders, Line, Processes
from quire_daemon.watch.fanotify.kernel import CREATED, MODIFIED, OF_A_FOLDER, OVERFLOW, RENAMED, KernelEvent
from quire_daemon.watch.fanotify.write_table import WriteOf, WriteTable

DAEMON = 7
AGES_S = 1000.0
"""Later than anything is remembered of a process."""


class Kernel:
    """Folders by their handles, as a test says."""

    def __init__(self, **folders: str) -> None:
        self.folders = {handle.encode(): path.encode() for handle, path in folders.items()}
        self.asked: list[bytes] = []
        self.ignored: list[bytes] = []
        self.limit: OSError | None = None

    def path_of(self, folder: bytes) -> bytes | None:
        self.asked.append(folder)
        if self.limit:
            raise self.limit
        return self.folders.get(folder)

    def ignore(self, folder: bytes) -> None:
        self.ignored.append(folder)

    def ignore_none(self) -> None:
        self.ignored.clear()


class Machine:
    """A kernel, its processes, and the reader of its events."""

    def __init__(self, **folders: str) -> None:
        self.kernel = Kernel(**folders)
        self.running: dict[int, Line] = {}
        self.folders = Folders(self.kernel)
        self.table: WriteTable[Line] = WriteTable()
        processes = Processes(lambda pid: self.running.get(pid, ()), lambda pid: "")
        self.reader = EventReader(self.folders, processes, self.table, (DAEMON,))
        self.now_s = 1.0

    def runs(self, pid: int, name: str, *above: Process, start: int = 100) -> Process:
        """A process begins, or runs another program."""
        self.running[pid] = (Process(pid, start, name, f"/bin/{name}"), *above)
        return self.running[pid][0]

    def tell(
        self, mask: int, pid: int, folder: str, name: str, file: str = "F", to: tuple[str, str] = ("", "")
    ) -> None:
        """An event is read a second after the last."""
        self.now_s += 1
        event = KernelEvent(mask, pid, folder.encode(), name.encode(), file.encode(), to[0].encode(), to[1].encode())
        self.reader.take([event], self.now_s)

    def writers(self, path: str) -> list[str] | None:
        """Who wrote there, by their names."""
        found = self.table.writes(path, 0.0, self.now_s)
        if found is None or None in [one.who for one in found]:
            return None
        return list(dict.fromkeys(one.who[0].name for one in found if one.who))


def test_a_write_is_of_the_process_and_all_that_it_descends_from() -> None:
    one = Machine(R="", S="src")
    shell = one.runs(20, "bash")
    sed = one.runs(21, "sed", shell)
    one.tell(MODIFIED, 21, "S", "f")
    assert one.table.writes("src/f", 0.0, one.now_s) == [WriteOf("src/f", (sed, shell), one.now_s, one.now_s)]


def test_a_write_outside_is_ignored_and_its_folder_resolved_once() -> None:
    one = Machine(R="")
    one.runs(20, "make")
    for number in range(5):
        one.tell(MODIFIED, 20, "X", f"{number}.o")
    assert len(one.table) == 0
    assert one.kernel.asked == [b"X"]


def test_writes_of_the_daemon_are_not_reported() -> None:
    one = Machine(R="")
    one.runs(DAEMON, "quired")
    one.tell(MODIFIED, DAEMON, "R", "f")
    assert one.writers("f") == []


def test_what_is_in_gits_folder_and_in_ours_is_ignored() -> None:
    one = Machine(G=".git/objects/ab", Q="sub/.quire")
    one.runs(20, "git")
    one.tell(MODIFIED, 20, "G", "cdef")
    one.tell(MODIFIED, 20, "Q", "tmp")
    assert len(one.table) == 0
    assert one.kernel.ignored == [b"G", b"Q"]


def test_folders_that_turn_out_to_be_ignored_are_dropped_with_what_is_below_them() -> None:
    one = Machine(R="", N="node_modules/a", D="node_modules/a/b", S="src")
    one.runs(20, "npm")
    one.tell(MODIFIED, 20, "N", "index.js")
    one.tell(MODIFIED, 20, "S", "f")
    assert one.folders.unasked == {b"node_modules/a", b"src"}
    one.folders.ignore([b"node_modules"])
    assert one.kernel.ignored == [b"N"]
    one.tell(MODIFIED, 20, "N", "more.js")
    one.tell(MODIFIED, 20, "D", "more.js")
    assert one.kernel.ignored == [b"N", b"D"]
    assert one.writers("node_modules/a/more.js") == []
    assert one.writers("src/f") == ["npm"]


def test_changed_rules_are_asked_about_anew() -> None:
    one = Machine(R="", N="made")
    one.runs(20, "sh")
    one.tell(MODIFIED, 20, "N", "f")
    one.folders.ignore([b"made"])
    one.tell(MODIFIED, 20, "R", ".gitignore")
    assert one.kernel.ignored == []
    one.tell(MODIFIED, 20, "N", "f")
    assert one.writers("made/f") == ["sh"]


def test_a_folder_that_moved_lies_elsewhere_from_then_on() -> None:
    one = Machine(R="", S="old")
    one.runs(20, "mv")
    one.tell(MODIFIED, 20, "S", "f")
    one.kernel.folders[b"S"] = b"new"
    one.tell(RENAMED | OF_A_FOLDER, 20, "R", "old", "S", to=("R", "new"))
    one.runs(21, "sed")
    one.tell(MODIFIED, 21, "S", "g", "G")
    assert sorted(one.writers("new/g") or ()) == ["mv", "sed"]
    assert one.writers("old/f") == ["mv"]


def test_a_file_moved_into_the_checkout_is_attributed_to_the_process_that_moved_it() -> None:
    one = Machine(R="", X="")
    del one.kernel.folders[b"X"]
    one.runs(20, "vim")
    one.runs(21, "mv")
    one.tell(MODIFIED, 20, "X", "f")
    one.tell(RENAMED, 21, "X", "f", to=("R", "f"))
    assert one.writers("f") == ["mv"]


def test_a_process_that_is_gone_makes_its_file_unknown_and_no_other() -> None:
    one = Machine(R="")
    one.runs(20, "sed")
    one.tell(MODIFIED, 20, "R", "f", "F")
    one.tell(MODIFIED, 21, "R", "g", "G")
    assert one.writers("g") is None
    assert one.writers("f") == ["sed"]


def test_a_process_of_another_namespace_is_unknown() -> None:
    one = Machine(R="")
    one.tell(MODIFIED, 0, "R", "f")
    assert one.writers("f") is None


def test_a_process_that_was_read_a_moment_ago_may_be_gone_by_now() -> None:
    read: dict[int, Line] = {20: (Process(20, 100, "sed", ""),)}
    processes = Processes(lambda pid: read.get(pid, ()), lambda pid: "")
    line = processes.line(20, 1.0)
    del read[20]
    assert processes.line(20, 1.0 + RECYCLED_S / 2) == line
    assert processes.line(20, 1.0 + RECYCLED_S * 2) is None


def test_a_process_keeps_the_ancestors_that_have_ended_since() -> None:
    shell, agent = Process(19, 90, "bash", ""), Process(10, 10, "claude", "")
    read: dict[int, Line] = {20: (Process(20, 100, "sh", ""), shell, agent)}
    processes = Processes(lambda pid: read.get(pid, ()), lambda pid: "")
    processes.line(20, 1.0)
    read[20] = (Process(20, 100, "sed", ""), Process(1, 1, "init", ""))
    assert processes.line(20, 1.0 + 2 * SURE_S) == (Process(20, 100, "sed", ""), shell, agent)


def test_a_process_that_runs_another_program_is_told_by_that_at_once() -> None:
    read: dict[int, Line] = {20: (Process(20, 100, "bash", ""),)}
    processes = Processes(lambda pid: read.get(pid, ()), lambda pid: read[pid][0].name)
    processes.line(20, 1.0)
    read[20] = (Process(20, 100, "sed", ""),)
    assert processes.line(20, 1.0 + SURE_S / 2) == read[20]


def test_another_process_with_the_same_pid_is_another() -> None:
    read: dict[int, Line] = {20: (Process(20, 100, "sed", ""), Process(10, 10, "claude", ""))}
    processes = Processes(lambda pid: read.get(pid, ()), lambda pid: "")
    processes.line(20, 1.0)
    read[20] = (Process(20, 200, "vim", ""),)
    assert processes.line(20, AGES_S) == (Process(20, 200, "vim", ""),)


def test_lost_events_make_what_was_before_unknown() -> None:
    one = Machine(R="")
    one.runs(20, "sed")
    one.tell(MODIFIED, 20, "R", "f")
    one.reader.take([KernelEvent(OVERFLOW, 0)], one.now_s)
    assert one.writers("f") is None


def test_where_folders_cannot_be_opened_what_was_before_is_unknown() -> None:
    one = Machine(R="")
    one.runs(20, "sed")
    one.kernel.limit = OSError(errno.EMFILE, "too many open files")
    one.tell(MODIFIED, 20, "R", "f")
    assert one.writers("f") is None


def test_events_of_a_folder_itself_and_of_files_without_a_name_say_nothing() -> None:
    one = Machine(R="")
    one.runs(20, "sed")
    one.tell(MODIFIED, 20, "R", ".")
    one.tell(MODIFIED, 20, "", "")
    one.tell(CREATED | OF_A_FOLDER, 20, "R", "made", "D")
    assert len(one.table) == 1
