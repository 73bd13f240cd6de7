"""Those incidents that come of a need for git, in a folder that is no repository; and a kill half way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from scenes import lying_in, without_git_and_home, write

from live import Live, caught_up, ok, refused, verified


@pytest.fixture(scope="module")
def plain() -> Iterator[Live]:
    """A daemon on a folder that is no repository; its very first call was a checkpoint, named "first"."""
    one = Live()
    try:
        for n in range(60):
            one.write(f"tree/d{n % 6}/f{n}.txt", f"file {n}\n")
        with without_git_and_home():
            boss = one.connect("boss")
        ok(boss.call("checkpoint", {"name": "first"}))
        yield one
    finally:
        one.close()


@pytest.mark.real
def test_05_going_back_to_the_first_checkpoint_removes_nothing(plain: Live) -> None:
    """RooCodeInc/Roo-Code #6209, #7216: going back to the first checkpoint deleted nearly all of the code."""
    before = lying_in(plain.root)
    with plain.connect("ann", "05") as ann:
        write(ann, "tree/d0/f0.txt", "changed\n")
        write(ann, "tree/made.txt", "made\n")
        ann.call("restore", {"at": "first", "path": "."})
        now = lying_in(plain.root)
        assert {path: now.get(path) for path in before if path != "tree/d0/f0.txt"} == {
            path: data for path, data in before.items() if path != "tree/d0/f0.txt"
        }
        assert now["tree/made.txt"] == b"made\n"
        ann.call("rollback", {"to": "first"})
        assert lying_in(plain.root) == before


@pytest.mark.real
def test_06_a_checkpoint_without_a_git_identity_holds_every_byte(plain: Live) -> None:
    """unarbos/arbos PR #390: without an identity the checkpoint was empty, and the rewind that erased told success."""
    plain.write("six/mine.txt", "mine\n")
    plain.write("six/other.txt", "other\n")
    with plain.connect("ann", "06") as ann:
        caught_up(ann)
        ok(ann.call("checkpoint", {"name": "six"}))
        held = {
            name: ok(ann.call("read_file", {"path": f"six/{name}", "at": "six"})) for name in ("mine.txt", "other.txt")
        }
        assert {name: reply["content"] for name, reply in held.items()} == {
            "mine.txt": "mine\n",
            "other.txt": "other\n",
        }
        plain.write("six/mine.txt", "overwritten\n")
        plain.write("six/later.txt", "later\n")
        caught_up(ann)
        for tool, args in (("rollback", {"to": "six"}), ("restore", {"at": "six", "path": "six/later.txt"})):
            refused(ann.call(tool, args), "not_found")  # what brings nothing back is no success
        reply = ok(ann.call("restore", {"at": "six", "path": "six"}))
        assert [f["path"] for f in reply["files"] if f["action"] != "none"] == ["six/mine.txt"]
        assert lying_in(plain.root / "six") == {
            "mine.txt": b"mine\n",
            "other.txt": b"other\n",
            "later.txt": b"later\n",
        }


@pytest.mark.real
def test_17_undo_needs_no_git(plain: Live) -> None:
    """openai/codex #9203, #19205: undo needed a repository, then was removed, and users asked for it back."""
    plain.write("seventeen/f.txt", "one\ntwo\n")
    with plain.connect("ann", "17") as ann:
        write(ann, "seventeen/f.txt", "ONE\ntwo\n")
        plain.write("seventeen/f.txt", "ONE\ntwo\nby hand\n")
        ok(ann.call("undo", {}))
        assert plain.read("seventeen/f.txt") == b"one\ntwo\nby hand\n"
        ok(ann.call("redo", {}))
        assert plain.read("seventeen/f.txt") == b"ONE\ntwo\nby hand\n"
    assert not (plain.root / ".git").exists()


@pytest.mark.real
def test_05_a_restore_that_is_killed_half_way_is_finished_by_the_next_daemon(daemon: Any) -> None:
    """anthropics/claude-code #14002, and every tool here that cleans first and restores then: a part of the tree."""
    at = daemon()
    old = {f"f{n}.txt": f"{n}\n" for n in range(4)}
    for path, content in old.items():
        at.write(path, content)
    with at.fault("after_write", 2):
        ann = at.connect("ann")
    caught_up(ann)
    ok(ann.call("checkpoint", {"name": "start"}))
    for path in old:
        at.write(path, f"{path}, later\n")
    at.write("bystander.txt", "b\n")
    caught_up(ann)
    doomed = at.daemon_pid()
    reply = ann.call("restore", {"at": "start", "path": "."})
    assert reply["outcome"] == "unknown"
    assert at.died(doomed)
    assert 0 < sum(data.endswith(b"later\n") for data in lying_in(at.root).values()) < 4, "it did not die half way"
    with at.connect("ben") as ben:
        assert ok(ben.call("op_status", {"op": reply["op"]}))["outcome"] == "applied"
        assert lying_in(at.root) == {path: text.encode() for path, text in (old | {"bystander.txt": "b\n"}).items()}
        verified(ben)
