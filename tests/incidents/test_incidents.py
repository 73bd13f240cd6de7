"""What other tools lost for their users, played here to the end without loss.

The 25 most telling complaints about tools that keep versions of a working tree. Each that concerns capture, undo or
restore is a test in this folder with its number in the name; its docstring says where and what happened: below, on a
real disk; what decisions alone show in `test_decided.py`; what git had to do with in `test_without_git.py`. The others,
and the parts of some that are about size and speed, are held elsewhere:

| no. | complaint | held by |
|---|---|---|
| 1-12, 14-16, 18, 24 | lost, reverted, not captured, falsely stale | here |
| 13 | a hard reset by one agent takes the others' edits | here; that git's commands are captured: `e2e/test_watcher.py`
(a checkout of another branch) | | 17 | undo must need no git, and its cost made a vendor remove it | here that it needs
no git; that it costs nothing until it is asked for: 21 | | 19 | stores of hundreds of gigabytes, orphans of dead runs,
the home folder taken for a workspace | nothing of a run is left behind: `campaigns/test_kill9.py`,
`daemon/workspace/test_workspace_disk.py`; quotas: `daemon/test_gc_collector.py` | | 20 | a store for each task, which outlives it |
equal bytes are stored once, whoever wrote them: `journal/storage/test_blobs.py`; what may go: `journal/maintenance/test_retention.py` | |
21 | large trees: minutes, a frozen screen, or no checkpoint at all | here that a checkpoint costs one record, whatever
the tree; its times: `scripts/bench` | | 22 | an operation every few seconds although nothing happened | here that
nothing is recorded when nothing changed; thinning what was: `journal/maintenance/test_retention.py` | | 23 | a change that the
watcher missed stays unseen for hours | here; trees that changed while no daemon ran: `campaigns/test_real_checkout.py`, `daemon/core/test_reconcile.py` | | 25 | a lost overflow signal | here; under readers and bursts: `campaigns/test_grep_storm.py`, `e2e/test_watcher.py` |
"""  # noqa: E501  a table's row is one line

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from scenes import lying_in, without_git_and_home, write

from live import Live, caught_up, eventually, journaled, log, ok, refused, sha256, stop, verified

LARGEST = 100_000
"""Bytes of a file that the shared daemon still captures."""


def git(folder: Path, *args: str) -> str:
    """What git says; it writes nothing that it was not asked to write."""
    options = ["--no-optional-locks", "-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    return subprocess.run(["git", *options, *args], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path, message: str) -> str:
    """Everything in `folder` as one commit; its name."""
    git(folder, "add", "-A", ".")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD").strip()


def of_git(folder: Path) -> dict[str, str]:
    """All that git keeps, file by file: HEAD, index, refs, reflogs, stash, configuration, hooks, objects."""
    files = (path for path in (folder / ".git").rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def untouched(folder: Path, *names: str) -> dict[str, tuple[bytes, int, int]]:
    """Bytes, inode and time of files: when all are as before, nobody has written them, not even with equal bytes."""
    stats = {name: (folder / name).stat() for name in names}
    return {name: ((folder / name).read_bytes(), st.st_ino, st.st_mtime_ns) for name, st in stats.items()}


@pytest.fixture(scope="module")
def shared() -> Iterator[Live]:
    """One daemon on one repository for all of these tests; each has a folder of its own in it."""
    if not shutil.which("git"):
        pytest.skip("there is no git")
    one = Live()
    try:
        os.environ["GIT_CONFIG_GLOBAL"] = os.environ["GIT_CONFIG_SYSTEM"] = os.devnull
        one.write(".quire.toml", f'[capture]\nmax_bytes = {LARGEST}\n[policy]\nforbidden_globs = ["*.barred"]\n')
        git(one.root, "init", "-q", "-b", "main")
        commit(one.root, "begun")
        with without_git_and_home():
            one.connect("boss")
        yield one
        verified(one.connect("boss"))
    finally:
        one.close()


@dataclass
class Scene:
    """The folder of one test, and who works in it."""

    at: Live
    name: str
    ann: Any
    ben: Any

    @property
    def folder(self) -> Path:
        """Where it is on disk."""
        return self.at.root / self.name

    def path(self, name: str) -> str:
        """The name of a file of this folder, as tools have it."""
        return f"{self.name}/{name}"

    def plant(self, **files: str) -> None:
        """Files that came from outside and are captured; then a checkpoint by the name of the folder."""
        for name, content in files.items():
            self.at.write(self.path(name), content)
        self.checkpoint()

    def checkpoint(self) -> None:
        """One by the name of the folder, of everything until now."""
        caught_up(self.ann)
        ok(self.ann.call("checkpoint", {"name": self.name, "move": True}))

    def read(self, name: str) -> str:
        """What is on disk."""
        return self.at.read(self.path(name)).decode()


@pytest.fixture
def scene(shared: Live, request: pytest.FixtureRequest) -> Iterator[Scene]:
    """A folder for this test. What all of them leave behind, the journal's own check must find sound."""
    name = "t" + request.node.name.split("_")[1]
    while (shared.root / name).exists():
        name += "x"
    with shared.connect("ann", name) as ann, shared.connect("ben", name) as ben:
        pid = shared.daemon_pid()
        yield Scene(shared, name, ann, ben)
        assert shared.daemon_pid() == pid, "the daemon died and was started again"


@pytest.mark.real
def test_01_restore_never_cleans_what_the_agent_only_read(scene: Scene) -> None:
    """github/copilot-cli #1675: a restore ran `git clean` and took a gigabyte that a script had made, and more."""
    ignored = {"run.log": "ignored\n", "cache/big.bin": "ignored\n"}
    scene.plant(**{".gitignore": "*.log\ncache/\n", "kept.py": "kept\n", "output.csv": "untracked\n", **ignored})
    bystanders = [".gitignore", "output.csv", "later.csv", "large.csv", *ignored]
    scene.at.write(scene.path("later.csv"), "made by a script, later\n")
    scene.at.write(scene.path("large.csv"), "x" * (LARGEST + 1))
    for name in bystanders:
        scene.ann.call("read_file", {"path": scene.path(name)})
    write(scene.ann, scene.path("kept.py"), "changed\n")
    write(scene.ann, scene.path("made.py"), "made\n")
    before = untouched(scene.folder, *bystanders)
    for tool, args in (
        ("undo", {"last": 2}),
        ("redo", {}),
        ("rollback", {"to": scene.name}),
        ("undo", {}),
        ("restore", {"at": scene.name, "path": scene.name}),
    ):
        ok(scene.ann.call(tool, args))
        assert untouched(scene.folder, *bystanders) == before, tool
    assert scene.read("kept.py") == "kept\n"
    # Everything by everyone since then: what came into view later was there before, for all that is known.
    ok(scene.ann.call("rollback", {"to": scene.name, "writer": "*", "path": scene.name}))
    del before["later.csv"]
    assert untouched(scene.folder, *before) == before


@pytest.mark.real
def test_02_what_was_not_captured_is_refused_and_not_deleted(scene: Scene) -> None:
    """google-gemini/gemini-cli #13331: capture had silently failed, and the restore then emptied the folder."""
    scene.plant(**{".env": "TOKEN=1\n", "large.bin": "x" * (LARGEST + 1), "small.py": "small\n"})
    later = {".env": "TOKEN=2\n", "large.bin": "y" * (LARGEST + 2), "small.py": "SMALL\n"}
    for name, content in later.items():
        scene.at.write(scene.path(name), content)
    caught_up(scene.ann)
    before = untouched(scene.folder, *later)
    for name in (".env", "large.bin"):
        refused(scene.ann.call("restore", {"at": scene.name, "path": scene.path(name)}), "uncaptured")
    refused(scene.ann.call("restore", {"at": "seq:1", "path": scene.name}), "not_found")
    refused(scene.ann.call("rollback", {"to": "seq:1"}), "not_found")
    assert untouched(scene.folder, *later) == before
    reply = ok(scene.ann.call("restore", {"at": scene.name, "path": scene.name}))
    assert {f["path"]: f["skipped"] for f in reply["files"]} == {
        scene.path(".env"): "uncaptured",
        scene.path("large.bin"): "uncaptured",
        scene.path("small.py"): None,
    }
    assert lying_in(scene.folder) == {name: text.encode() for name, text in (later | {"small.py": "small\n"}).items()}
    (scene.folder / ".env").unlink()
    caught_up(scene.ann)
    refused(scene.ann.call("restore", {"at": scene.name, "path": scene.path(".env")}), "uncaptured")
    assert not (scene.folder / ".env").exists()


@pytest.mark.real
def test_03_taking_gitignore_back_deletes_nothing_that_it_hid_or_shows(scene: Scene) -> None:
    """cline/cline #14367: a restore put .gitignore back first, and then cleaned away what had been ignored."""
    scene.plant(**{".gitignore": "old/\n", "app.py": "app\n", "old/notes.txt": "older than the checkpoint\n"})
    write(scene.ann, scene.path(".gitignore"), "new/\n")  # shows old/, hides new/
    notes = scene.path("old/notes.txt")
    eventually("what is no longer ignored is captured", lambda: journaled(scene.ann, notes))
    scene.at.write(scene.path("new/notes.txt"), "hidden when it was made\n")
    caught_up(scene.ann)  # told only after the restore, it would have been seen to be made
    write(scene.ann, scene.path("app.py"), "APP\n")
    names = ["old/notes.txt", "new/notes.txt"]
    before = untouched(scene.folder, *names)
    ok(scene.ann.call("restore", {"at": scene.name, "path": scene.name}))
    assert (scene.read(".gitignore"), scene.read("app.py")) == ("old/\n", "app\n")
    hidden = scene.path("new/notes.txt")
    eventually("what is no longer ignored is captured", lambda: journaled(scene.ann, hidden))
    assert untouched(scene.folder, *names) == before
    reply = refused(scene.ann.call("undo", {"from": scene.name, "writer": "outside", "path": scene.name}), "conflict")
    assert {f["path"]: f["skipped"] for f in reply["files"]} == {
        notes: "creation_not_seen",
        hidden: "creation_not_seen",
    }
    assert untouched(scene.folder, *names) == before


@pytest.mark.real
def test_04_rollback_leaves_commits_and_all_of_git_where_they_are(scene: Scene) -> None:
    """cline/cline #13550: a restore reset the branch, and commits made after the checkpoint fell off it."""
    scene.plant(**{"one.py": "at the checkpoint\n"})
    commit(scene.at.root, "before")
    write(scene.ann, scene.path("one.py"), "committed\n")
    after = commit(scene.at.root, "after the checkpoint")
    write(scene.ann, scene.path("one.py"), "not committed\n")
    before = of_git(scene.at.root)
    ok(scene.ann.call("rollback", {"to": scene.name}))
    assert scene.read("one.py") == "at the checkpoint\n"
    assert of_git(scene.at.root) == before
    assert git(scene.at.root, "show", f"HEAD:{scene.path('one.py')}") == "committed\n"
    assert git(scene.at.root, "rev-parse", "main").strip() == after


@pytest.mark.real
def test_06_a_checkpoint_holds_what_was_made_the_moment_before(scene: Scene) -> None:
    """unarbos/arbos PR #390: the checkpoint was empty. Here the folders are so new that nobody watches them yet."""
    for n in range(12):
        names = [f"{n}/{k}/deep/f.txt" for k in range(6)]
        scene.plant(**{name: f"{name}\n" for name in names})
        for name in names:
            held = ok(scene.ann.call("read_file", {"path": scene.path(name), "at": scene.name}))
            assert held["content"] == f"{name}\n"


@pytest.mark.real
def test_07_the_working_tree_is_never_stashed_or_reset(scene: Scene) -> None:
    """anthropics/claude-code #68315: a session's tree was found stashed and hard-reset, again and again."""
    scene.plant(**{"staged.py": "s\n", "dirty.py": "d\n", "stashed.py": "x\n", "mine.py": "m\n"})
    commit(scene.at.root, "seven")
    scene.at.write(scene.path("stashed.py"), "in the user's stash\n")
    git(scene.folder, "stash", "push", "-q", "--", "stashed.py")
    scene.at.write(scene.path("staged.py"), "in the index\n")
    git(scene.folder, "add", "staged.py")
    scene.at.write(scene.path("dirty.py"), "neither\n")
    scene.at.write(scene.path("new.py"), "untracked\n")
    caught_up(scene.ann)
    bystanders = ["staged.py", "dirty.py", "stashed.py", "new.py"]
    repository, files = of_git(scene.at.root), untouched(scene.folder, *bystanders)
    status = git(scene.folder, "status", "--porcelain", ".")
    write(scene.ann, scene.path("mine.py"), "M\n")
    for tool, args in (
        ("checkpoint", {"name": "seven"}),
        ("undo", {}),
        ("redo", {}),
        ("rollback", {"to": scene.name}),
        ("undo", {}),
        ("restore", {"at": scene.name, "path": scene.path("mine.py")}),
        ("log", {}),
        ("status", {}),
        ("verify", {}),
    ):
        ok(scene.ann.call(tool, args))
    assert scene.read("mine.py") == "m\n"
    assert untouched(scene.folder, *bystanders) == files
    assert of_git(scene.at.root) == repository
    assert git(scene.folder, "status", "--porcelain", ".") == status


@pytest.mark.real
def test_09_undo_spares_what_the_user_made_meanwhile_and_an_empty_turn_changes_nothing(scene: Scene) -> None:
    """anomalyco/opencode #46783, #32529: undo deleted a file of the user's; undo of a turn without changes broke."""
    scene.plant(**{"gone.py": "gone\n"})
    ann, path = scene.ann, scene.path
    for name in ("a.py", "b.py"):
        ok(ann.call("write_file", {"path": path(name), "content": f"{name}\n"}, turn="first"))
    ok(ann.call("delete_file", {"path": path("gone.py")}, turn="first"))
    scene.at.write(path("users.md"), "by the user, in between\n")
    scene.at.write(path("gone.py"), "by the user, where the agent had deleted\n")
    scene.at.write(path("b.py"), "b.py\nby the user, in the agent's new file\n")
    ok(ann.call("read_file", {"path": path("a.py")}, turn="second"))
    before = lying_in(scene.folder)
    refused(ann.call("undo", {"turn": "second"}), "not_found")
    assert lying_in(scene.folder) == before
    reply = ok(ann.call("undo", {"turn": "first"}))
    assert {f["path"] for f in reply["files"] if f["conflicts"]} == {path("b.py"), path("gone.py")}
    del before["a.py"]
    assert lying_in(scene.folder) == before


@pytest.mark.real
@pytest.mark.parametrize(
    "command",
    [["reset", "-q", "--hard"], ["stash", "-q", "--include-untracked"], ["checkout", "-q", "-f", "other"]],
    ids=lambda command: command[0],
)
def test_13_what_one_agents_git_wipes_out_is_in_the_journal(scene: Scene, command: list[str]) -> None:
    """intent #671, stella #5287: a hard reset, a branch switch or a stash by one took the others' uncommitted edits."""
    repository = scene.folder
    for name in ("anns.py", "users.py"):
        scene.at.write(scene.path(name), "committed\n")
    git(repository, "init", "-q", "-b", "main")
    commit(repository, "begun")
    git(repository, "switch", "-q", "-c", "other")
    scene.at.write(scene.path("users.py"), "on the other branch\n")
    commit(repository, "other")
    git(repository, "switch", "-q", "main")
    caught_up(scene.ann)
    write(scene.ann, scene.path("anns.py"), "ann's, not committed\n")
    scene.at.write(scene.path("users.py"), "the user's, not committed\n")
    scene.at.write(scene.path("new.py"), "new, not even added\n")
    caught_up(scene.ann)
    before = lying_in(repository)
    point = f"seq:{ok(scene.ann.call('status', {}))['seq']}"
    git(repository, *command)
    assert lying_in(repository) != before
    repository_before = of_git(repository)
    caught_up(scene.ben)
    ok(scene.ben.call("restore", {"at": point, "path": scene.name}))
    assert lying_in(repository) == before
    assert of_git(repository) == repository_before


@pytest.mark.real
def test_15_what_a_shell_did_is_captured_and_can_be_undone(scene: Scene) -> None:
    """anthropics/claude-code #94657, #87575: of 96 shell calls that edited, none was tracked, and nothing said so."""
    scene.plant(**{"sed.py": "old\n", "moved.py": "moved\n", "removed.py": "removed\n", "formatted.py": "a=1\n"})
    before = lying_in(scene.folder)
    script = (
        "sed -i s/old/new/ sed.py; mv moved.py renamed.py; rm removed.py; echo 'a = 1' >formatted.py; cp sed.py new.py"
    )
    subprocess.run(["sh", "-ec", script], cwd=scene.folder, check=True)
    after = lying_in(scene.folder)
    caught_up(scene.ann)
    records = log(scene.ann, path=scene.name, since=scene.name)
    assert {record["writer"]["type"] for record in records} == {"outside"}
    assert {sha256(data) for data in after.values()} <= {record["sha256"] for record in records}
    ok(scene.ann.call("rollback", {"to": scene.name, "writer": "outside", "path": scene.name}))
    assert lying_in(scene.folder) == before
    ok(scene.ann.call("undo", {}))
    assert lying_in(scene.folder) == after


@pytest.mark.real
def test_16_a_repository_in_the_repository_is_a_folder_like_others(scene: Scene) -> None:
    """gemini-cli #4115, Roo-Code #8164, #8433, #10636: checkpoints were silently off where a nested repository was."""
    scene.plant(**{"vendor/lib/lib.py": "lib\n"})
    nested = scene.folder / "vendor" / "lib"
    git(nested, "init", "-q")
    commit(nested, "nested")
    scene.at.write(scene.path("work/.git"), "gitdir: ../elsewhere\n")  # a worktree or a submodule, and a broken one
    scene.at.write(scene.path("work/tree.py"), "tree\n")
    scene.checkpoint()
    before, repository = lying_in(scene.folder), of_git(nested)
    write(scene.ann, scene.path("vendor/lib/lib.py"), "LIB\n")
    scene.at.write(scene.path("work/tree.py"), "TREE\n")
    caught_up(scene.ann)
    assert ok(scene.ann.call("status", {}))["coverage"] == {"state": "full", "reasons": []}
    ok(scene.ann.call("restore", {"at": scene.name, "path": scene.name}))
    assert (lying_in(scene.folder), of_git(nested)) == (before, repository)


@pytest.mark.real
def test_18_one_file_that_cannot_be_captured_is_told_and_the_rest_is_captured(scene: Scene) -> None:
    """zed-industries/zed #56336, #59100: one repository without a snapshot: no checkpoint, and no reason given."""
    scene.folder.mkdir()
    os.mkfifo(scene.folder / "fifo")
    (scene.folder / "circle").symlink_to("circle")
    scene.plant(**{".env": "TOKEN=1\n", "large.bin": "x" * (LARGEST + 1), "other/.git": "rubbish", "other/f": "f\n"})
    failed = {r["path"]: r["why"] for r in log(scene.ann, path=scene.name, kind="capture_failed")}
    assert failed == {
        scene.path("fifo"): "not_a_file",
        scene.path(".env"): "secret",
        scene.path("large.bin"): "too_large",
    }
    scene.at.write(scene.path("other/f"), "F\n")
    os.unlink(scene.folder / "circle")
    caught_up(scene.ann)
    reply = ok(scene.ann.call("restore", {"at": scene.name, "path": scene.name}))
    assert scene.read("other/f") == "f\n"
    assert {f["path"] for f in reply["files"] if f["skipped"] == "uncaptured"} >= {
        scene.path(".env"),
        scene.path("large.bin"),
    }
    assert (scene.folder / "fifo").is_fifo()


@pytest.mark.real
def test_18_one_file_that_may_not_be_written_now_does_not_keep_the_others_from_coming_back(scene: Scene) -> None:
    """zed-industries/zed #56336: all or nothing, and no word of which; here one is told, and the others are there."""
    (scene.at.top / "elsewhere").write_text("outside of the workspace\n")
    old = {"a.py": "a\n", "held.log": "log\n", "key.barred": "k\n", "link.py": "l\n"}
    scene.plant(**old)
    for name in old:
        scene.at.write(scene.path(name), f"{name}, later\n")
    (scene.folder / "link.py").unlink()
    (scene.folder / "link.py").symlink_to(scene.at.top / "elsewhere")
    with (scene.folder / "held.log").open("a") as held:
        held.write("a server writes on\n")
        held.flush()
        reply = ok(scene.ann.call("restore", {"at": scene.name, "path": scene.name}))
    done = {f["path"].partition("/")[2]: bool(f["skipped"]) for f in reply["files"]}
    assert done == {"a.py": False, "held.log": True, "key.barred": True, "link.py": True}
    assert scene.read("a.py") == "a\n"
    assert scene.read("held.log").endswith("a server writes on\n")
    assert scene.read("key.barred") == "key.barred, later\n"
    assert scene.read("link.py") == "outside of the workspace\n"
    ok(scene.ann.call("restore", {"at": scene.name, "path": scene.path("held.log")}))
    assert scene.read("held.log") == "log\n"


@pytest.mark.real
def test_18_a_file_in_the_place_of_a_folder_does_not_keep_the_others_from_coming_back(scene: Scene) -> None:
    """zed-industries/zed #56336, the same once more: what cannot be made is told, and the others are made."""
    scene.plant(**{"a.py": "a\n", "folder/b.py": "b\n"})
    scene.at.write(scene.path("a.py"), "A\n")
    shutil.rmtree(scene.folder / "folder")
    scene.at.write(scene.path("folder"), "a file now\n")
    caught_up(scene.ann)
    reply = scene.ann.call("restore", {"at": scene.name, "path": scene.name})
    assert scene.read("folder") == "a file now\n"
    assert {f["path"]: f["skipped"] for f in ok(reply)["files"]} == {
        scene.path("a.py"): None,
        scene.path("folder/b.py"): "occupied",
    }
    assert scene.read("a.py") == "a\n"


@pytest.mark.real
def test_18_a_link_that_is_as_it_was_is_no_file_left_alone(scene: Scene) -> None:
    """zed-industries/zed #59100: whoever is told of trouble where there is none learns to ignore what is told."""
    scene.folder.mkdir()
    (scene.folder / "link").symlink_to("a.py")
    scene.plant(**{"a.py": "a\n"})
    assert ok(scene.ann.call("restore", {"at": scene.name, "path": scene.name}))["unchanged"]


@pytest.mark.real
def test_22_where_nothing_changed_nothing_is_recorded(scene: Scene) -> None:
    """jj-vcs/jj #7001, tkellogg/dura #64: an operation every few seconds, until the log slowed everything down."""
    scene.plant(**{"f.txt": "f\n", "g.txt": "g\n"})
    path = scene.folder / "f.txt"
    for _ in range(3):
        path.touch()
        path.write_text("f\n")
        shutil.copyfile(path, path.with_suffix(".tmp"))
        path.with_suffix(".tmp").replace(path)
        caught_up(scene.ann)
    assert not log(scene.ann, path=scene.path("f.txt"), since=scene.name)
    assert not log(scene.ann, path=scene.path("g.txt"), since=scene.name)


@pytest.mark.real
def test_23_a_change_that_the_watcher_does_not_see_is_found_by_the_next_call_and_question(
    scene: Scene,
) -> None:
    """jj-vcs/jj PR #10130: entries that were once put off were never looked at again; 90 changed files, nine hours."""
    scene.plant(**{".gitignore": "build/\n", "build/other": "never named\n"})  # no watch on build/
    for name in ("build/edited", "build/undone", "build/asked"):
        write(scene.ann, scene.path(name), "ann\n")
        scene.at.write(scene.path(name), "ann\nunseen\n")
    edited = scene.path("build/edited")
    reply = refused(scene.ann.call("delete_file", {"path": edited}), "stale_base")
    assert "outside" in str(reply)
    refused(scene.ann.call("undo", {"path": scene.path("build/undone")}), "conflict")
    assert scene.read("build/undone") == "ann\nunseen\n"
    assert sha256(b"ann\nunseen\n") in journaled(scene.ann, scene.path("build/asked"))


@pytest.mark.real
def test_24_stale_is_what_has_other_bytes_whatever_its_time_says(scene: Scene) -> None:
    """claude-code #48390, #3513, #12330, #11976: "modified since read" by time: false alarms, and asked-for bytes."""
    scene.plant(**{"touched.py": "one\ntwo\n", "sly.py": "one\ntwo\n"})
    shown = {name: ok(scene.ann.call("read_file", {"path": scene.path(name)})) for name in ("touched.py", "sly.py")}
    os.utime(scene.folder / "touched.py", ns=(2 * 10**18, 2 * 10**18))
    (scene.folder / "touched.py").write_text("one\ntwo\n")  # saved again, unchanged
    sly = scene.folder / "sly.py"
    before = sly.stat()
    sly.write_text("one\nTWO\n")
    os.utime(sly, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (sly.stat().st_size, sly.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    for name, fresh in (("touched.py", True), ("sly.py", False)):
        content = shown[name]["content"].replace("one", "ONE")
        base = shown[name]["version"]
        reply = scene.ann.call("write_file", {"path": scene.path(name), "content": content, "base": base})
        assert (reply["ok"], reply.get("error")) == (fresh, None if fresh else "write_conflict"), name
    assert (scene.read("touched.py"), scene.read("sly.py")) == ("ONE\ntwo\n", "one\nTWO\n")


@pytest.mark.real
def test_25_an_overflow_of_the_watch_is_told_and_survived_and_our_own_files_are_no_events(scene: Scene) -> None:
    """buck2 PR #1453, trusty-tools PR #5582, #6570 and four more: the overflow was dropped, or of one's own making."""
    scene.plant(**{"f.txt": "f\n", "g.txt": "g\n", "lost.txt": "lost\n"})
    last = ok(scene.ann.call("status", {}))["seq"]
    for n in range(5):
        write(scene.ann, scene.path("f.txt"), f"{n}\n")
        caught_up(scene.ann)
    since = log(scene.ann, since=f"seq:{last}")
    assert {(r["path"], r["writer"]["type"]) for r in since} == {(scene.path("f.txt"), "write_file")}

    queue = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if queue > 100_000:
        pytest.skip("the kernel's queue is too long to be filled in a test")
    pid = scene.at.daemon_pid()
    stop(pid)
    try:
        touched = [os.fspath(scene.folder / name) for name in ("f.txt", "g.txt")]
        for n in range(queue // 2 + 1000):
            for path in touched:
                os.utime(path, ns=(n, n))
        scene.at.write(scene.path("lost.txt"), "written after the queue was full\n")
        scene.at.write(scene.path("folder/new.txt"), "so was this\n")
    finally:
        os.kill(pid, signal.SIGCONT)
    eventually("the overflow is on record", lambda: log(scene.ann, kind="watch_lost"))
    lost, new = scene.path("lost.txt"), scene.path("folder/new.txt")
    eventually("a scan finds what was lost", lambda: len(journaled(scene.ann, lost)) == 2 and journaled(scene.ann, new))
    scene.at.write(new, "seen again\n")
    caught_up(scene.ann)
    assert sha256(b"seen again\n") in journaled(scene.ann, new)
