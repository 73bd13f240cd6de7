"""`run`: a command's writes are its caller's as far as that is known, and its outcome stays."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from proc_folder import Kernel, counted, told
from quire_daemon.core.traced_writer import Ancestor
from quire_journal.model.events import CommandRan, WorkspaceScanned, WriteAttributed
from quire_journal.model.messages import Caller

OLD = lines("a = 1", "b = 2")
MADE = lines("a = 10", "b = 2")
RUN = 50
QUIRE = Ancestor(RUN, RUN, "quire", "/usr/bin/python3")


class Scene:
    """A person at a shell, who runs commands, and a kernel that says who writes if it is told."""

    def __init__(self, proc: Path) -> None:
        self.proc = proc
        told(proc, 1, 0, 1, "systemd", "/sbin/init")
        told(proc, 40, 1, 40, "bash", "/bin/bash")
        told(proc, RUN, 40, RUN, "quire", "/usr/bin/python3")
        self.kernel = Kernel()
        self.daemon = MemoryDaemon({"f": OLD, "g": OLD}, proc=proc, tracer=self.kernel)
        self.daemon.watch("captured")

    def run(self, action: str, caller: Caller | None = None, **args: Any) -> dict[str, Any]:
        return self.daemon.said("run", {"action": action, **args}, caller or Caller(), RUN)

    def begin(self, *command: str, caller: Caller | None = None) -> int:
        reply = self.run("begin", caller, command=[*command])
        assert reply["ok"], reply
        return int(reply["burst"])

    def end(self, burst: int, status: int = 0, caller: Caller | None = None) -> dict[str, Any]:
        reply = self.run("end", caller, burst=burst, status=status)
        assert reply["ok"], reply
        return reply

    def writes(self, path: str, data: bytes, *line: Ancestor) -> None:
        self.kernel.line = line
        self.daemon.outside(path, data)
        self.kernel.line = ()

    def child(self, pid: int = 60) -> Ancestor:
        return Ancestor(pid, int(self.daemon.clock.at_s * 100) + 100, "make", "/usr/bin/make")

    def head(self, path: str) -> tuple[str, str]:
        with self.daemon.history() as history:
            head = history.file(path)
            assert head is not None
            return history.named(head.writer), head.evidence

    def ran(self) -> list[CommandRan]:
        with self.daemon.history() as history:
            events = [record.event() for record in history.records()]
        return [event for event in events if isinstance(event, CommandRan)]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def _paths(reply: dict[str, Any], kind: str) -> list[str]:
    return [file["path"] for file in reply[kind]]


def test_the_first_command_waits_until_the_kernel_tells_who_writes(scene: Scene) -> None:
    """The first command after the start of the daemon wrote before that, and its writes had no writer."""
    scene.kernel.looks_to_start = 5
    scene.begin("./generate")
    assert scene.kernel.looks_to_start == 0


def test_a_command_may_wait_for_the_end_of_the_first_capture_or_is_told_to_have_begun_before(scene: Scene) -> None:
    """What it wrote before was captured as if it had been there."""
    refused = scene.run("begin", command=["make"], captured=True)
    assert (refused["error"], refused["suggested_action"], refused["capturing"]) == ("busy", "retry", True)
    early = scene.begin("make")
    scene.daemon.note(WorkspaceScanned("start", 1, 1))
    assert scene.end(early)["early"] is True
    later = scene.run("begin", command=["make"], captured=True)["burst"]
    assert "early" not in scene.end(later)


def test_what_a_child_of_the_run_writes_is_its_callers(scene: Scene) -> None:
    burst = scene.begin("make", "all")
    scene.writes("f", MADE, scene.child(), QUIRE)
    reply = scene.end(burst)
    assert scene.head("f") == ("the user", "traced")
    assert _paths(reply, "changed") == ["f"]
    assert (reply["by_others"], reply["doubtful"]) == ([], [])


def test_a_mode_that_the_command_names_is_probably_its_callers(scene: Scene) -> None:
    """The kernel tells of no changed modes: `quire run chmod +x f` said that others had changed it."""
    burst = scene.begin("chmod", "+x", "f")
    for path in ("f", "g"):
        os.chmod(scene.daemon.files.at(path), 0o755)
    scene.daemon.watch()
    reply = scene.end(burst)
    assert scene.head("f") == ("the user", "during")
    assert (_paths(reply, "changed"), _paths(reply, "by_others") + _paths(reply, "doubtful")) == (["f"], ["g"])


def test_what_git_moves_for_a_command_that_names_it_is_probably_its_callers(scene: Scene) -> None:
    burst = scene.begin("git", "mv", "f", "h")
    scene.daemon.outside_moves("f", "h", hint="git: index.lock was held")
    scene.daemon.outside_moves("g", "i", hint="git: index.lock was held")
    reply = scene.end(burst)
    assert scene.head("h") == ("the user", "during")
    assert (_paths(reply, "changed"), _paths(reply, "doubtful")) == (["f", "h"], ["g", "i"])
    (ran,) = scene.ran()
    assert ran.by_others == 2


def test_what_git_brings_back_is_of_no_command_that_names_it(scene: Scene) -> None:
    burst = scene.begin("sh", "-c", "git mv f h; git stash")
    scene.daemon.by_git("git: index.lock was held", h=MADE)
    scene.end(burst)
    assert scene.head("h")[0] == "outside"


def test_what_git_writes_for_a_run_is_gits_and_the_run_asked_for_it(scene: Scene) -> None:
    """`quire run -- git checkout side` told of no change, and of files that others may have changed."""
    burst = scene.begin("git", "checkout", "side")
    scene.daemon.by_git("git: index.lock was held", f=MADE, g=MADE)
    scene.daemon.outside("notes", MADE)
    reply = scene.end(burst)
    assert (reply["git"], _paths(reply, "by_git"), reply["by_git_count"]) == ("git checkout side", ["f", "g"], 2)
    assert (_paths(reply, "changed"), _paths(reply, "doubtful")) == ([], ["notes"])
    assert reply["message"].endswith(": 0 files changed by it, 2 by git checkout side, 1 by it or by others.")
    assert scene.ran() == [CommandRan(burst, 0, 1)]
    (run,) = (one for one in scene.daemon.ask("stories", {})["stories"] if one["form"] == "run")
    assert (run["files_count"], run["by_git"]) == (0, 2)


@pytest.mark.parametrize(
    ("command", "git"),
    [
        ("cd src && git -c a=b pull; make", "git -c a=b pull"),
        ("git stash; make; git stash pop", "git"),
        ("./release.sh", "git checkout: moving from main to side"),
    ],
)
def test_the_git_of_a_run_is_called_as_it_was_typed_if_it_is_one(scene: Scene, command: str, git: str) -> None:
    burst = scene.begin("sh", "-c", command)
    scene.kernel.line = (scene.child(), QUIRE)
    hint = "git: checkout: moving from main to side (HEAD main 1 -> side 2)"
    with scene.daemon.history() as history:
        (run,) = history.open_bursts()
    scene.daemon.by_git(hint, f=MADE)
    scene.daemon.note(WriteAttributed((scene.daemon.head_of("f"),), run.writer, "traced", burst))
    reply = scene.end(burst)
    assert (reply["git"], _paths(reply, "by_git"), reply["changed"]) == (git, ["f"], [])


def test_what_git_is_proved_to_have_written_for_a_run_is_taken_back_as_gits(scene: Scene) -> None:
    burst = scene.begin("git", "checkout", "side")
    with scene.daemon.history() as history:
        (run,) = history.open_bursts()
    scene.daemon.by_git("git: index.lock was held", f=MADE)
    scene.daemon.note(WriteAttributed((scene.daemon.head_of("f"),), run.writer, "traced", burst))
    scene.end(burst)
    reply = scene.daemon.ask("undo", {"git": "last"})
    assert reply["ok"], reply
    assert scene.daemon.text("f") == OLD


def test_what_git_writes_beside_a_run_that_calls_no_git_is_doubtful(scene: Scene) -> None:
    burst = scene.begin("make")
    scene.daemon.by_git("git: index.lock was held", f=MADE)
    reply = scene.end(burst)
    assert (reply["by_git"], _paths(reply, "doubtful")) == ([], ["f"])


def test_what_the_command_line_names_is_probably_its_callers(scene: Scene) -> None:
    burst = scene.begin("sed", "-i", "s/1/10/", "f")
    scene.writes("f", MADE)
    reply = scene.end(burst)
    assert scene.head("f") == ("the user", "during")
    assert _paths(reply, "changed") == ["f"]


def test_what_nothing_accounts_for_is_nobodys(scene: Scene) -> None:
    burst = scene.begin("sed", "-i", "s/1/10/", "f")
    scene.writes("g", MADE)
    reply = scene.end(burst)
    assert scene.head("g") == ("outside", "watched")
    assert (_paths(reply, "changed"), _paths(reply, "doubtful")) == ([], ["g"])


def test_what_another_process_wrote_moved_the_tree(scene: Scene) -> None:
    burst = scene.begin("sed", "-i", "s/1/10/", "f")
    vim = Ancestor(70, 45, "vim", "/usr/bin/vim")
    scene.writes("f", MADE, vim, Ancestor(41, 41, "bash", "/bin/bash"))
    reply = scene.end(burst)
    assert scene.head("f") == ("outside", "traced")
    assert (_paths(reply, "changed"), _paths(reply, "by_others")) == ([], ["f"])
    assert scene.ran() == [CommandRan(burst, 0, 1)]


def test_an_agents_edit_meanwhile_moved_the_tree(scene: Scene) -> None:
    burst = scene.begin("pytest")
    scene.daemon.ask("write_file", {"path": "g", "content": "new\n", "expectedSha256": _sha(OLD)})
    reply = scene.end(burst)
    assert [(file["path"], file["writer"]["agent"]) for file in reply["by_others"]] == [("g", "ann")]


def test_a_run_of_an_agent_is_the_agents(scene: Scene) -> None:
    aider = Caller("aider")
    burst = scene.begin("aider", "--yes", caller=aider)
    scene.writes("f", MADE, scene.child(), QUIRE)
    scene.end(burst, caller=aider)
    assert scene.head("f") == ("aider", "traced")


def test_a_run_within_an_agents_command_is_its_own_callers(scene: Scene) -> None:
    told(scene.proc, 30, 1, 30, "claude", "/usr/bin/claude")
    told(scene.proc, 31, 30, 31, "quire", "/usr/bin/python3")
    claude = Caller("claude-code", "s1", "t1", "c1")
    args = {"moment": "before", "tool": "Bash", "call": "c1", "command": "quire run --agent aider -- aider"}
    assert scene.daemon.said("native", args, claude, 31)["ok"]
    aider = Caller("aider")
    run = Ancestor(RUN, int(scene.daemon.clock.at_s * 100) + 50, "quire", "/usr/bin/python3")
    told(scene.proc, RUN, 30, run.start, "quire", "/usr/bin/python3")
    burst = scene.begin("aider", caller=aider)
    scene.writes("f", MADE, scene.child(), run, Ancestor(30, 30, "claude", "/usr/bin/claude"))
    scene.end(burst, caller=aider)
    assert scene.head("f") == ("aider", "traced")


def test_the_exit_status_stays(scene: Scene) -> None:
    burst = scene.begin("pytest")
    reply = scene.end(burst, 1)
    assert (reply["status"], reply["why"]) == (1, "failed")
    assert scene.ran() == [CommandRan(burst, 1)]


def test_an_end_whose_answer_was_lost_is_answered_again_and_recorded_once(scene: Scene) -> None:
    burst = scene.begin("sed", "-i", "s/1/10/", "f")
    scene.writes("f", MADE)
    first = scene.end(burst)
    again = scene.end(burst)
    assert _paths(again, "changed") == _paths(first, "changed") == ["f"]
    assert len(scene.ran()) == 1


def test_a_run_that_is_killed_ends_with_its_process_and_keeps_its_writes(scene: Scene) -> None:
    burst = scene.begin("sed", "-i", "s/1/10/", "f")
    scene.writes("f", MADE)
    told(scene.proc, RUN, 40, 99, "other", "/bin/other")
    for _ in range(5):
        scene.daemon.clock.at_s += 31
        scene.daemon.app.turn([])
    assert scene.head("f") == ("the user", "during")
    with scene.daemon.history() as history:
        ended = history.burst(burst)
    assert ended is not None
    assert ended.why == "process"


def test_a_run_in_an_exported_tree_claims_nothing_here(scene: Scene) -> None:
    with scene.daemon.history() as history:
        head = history.head()
    reply = scene.run("begin", command=["make"], at=f"seq:{head}")
    assert reply["upto"] == head
    scene.writes("f", MADE, scene.child(), QUIRE)
    ended = scene.run("end", burst=reply["burst"], status=2, upto=reply["upto"])
    assert scene.head("f") == ("outside", "watched")
    assert (ended["changed"], ended["by_others"], ended["doubtful"]) == ([], [], [])
    assert scene.ran() == [CommandRan(reply["burst"], 2, 0, head)]


def test_nobody_ends_the_run_of_another(scene: Scene) -> None:
    burst = scene.begin("make")
    reply = scene.run("end", Caller("codex"), burst=burst)
    assert (reply["ok"], reply["error"]) == (False, "permission_denied")
    assert scene.run("end", burst=1)["error"] == "not_found"


def test_a_run_needs_a_command(scene: Scene) -> None:
    assert scene.run("begin")["error"] == "schema_invalid"


def test_secrets_of_a_command_line_are_not_kept(scene: Scene) -> None:
    burst = scene.begin("deploy", "--token", "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    with scene.daemon.history() as history:
        begun = history.burst(burst)
    assert begun is not None
    assert "ghp_" not in begun.command + begun.label


def _sha(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


# ── by what it wrote, where the kernel does not tell who writes ──────────────


@pytest.fixture
def silent(scene: Scene) -> Scene:
    scene.kernel.reads = False
    counted(scene.proc, RUN, 1000)
    return scene


def _saved(scene: Scene, written: int, data: bytes = MADE) -> dict[str, Any]:
    """A run during which `f` changes, while the command writes so many bytes."""
    burst = scene.begin("sed", "-i", "s/1/10/", "f")
    counted(scene.proc, RUN, 1000 + written)
    scene.daemon.outside("f", data, time.time_ns())
    return scene.end(burst)


def test_a_command_that_wrote_as_much_as_a_change_takes_probably_made_it(silent: Scene) -> None:
    assert _paths(_saved(silent, len(MADE)), "changed") == ["f"]
    assert silent.head("f") == ("the user", "during")


def test_a_command_that_wrote_nothing_at_the_time_did_not_make_a_change(silent: Scene) -> None:
    reply = _saved(silent, 0)
    assert (_paths(reply, "changed"), _paths(reply, "doubtful")) == ([], ["f"])
    assert silent.head("f") == ("outside", "overlap")


def test_a_command_that_printed_a_little_did_not_write_much(silent: Scene) -> None:
    assert _paths(_saved(silent, 3), "doubtful") == ["f"]


def test_what_takes_no_writing_says_nothing_against_a_command(silent: Scene) -> None:
    """A file that is cut short, or removed."""
    burst = silent.begin("truncate", "-s", "6", "f", "g")
    silent.daemon.outside("f", OLD[:6], time.time_ns())
    assert _paths(silent.end(burst), "changed") == ["f"]
