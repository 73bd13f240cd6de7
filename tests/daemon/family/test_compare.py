"""The comparison with neighbours: two worktrees of a repository, and the notes in their state folders."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from quire_daemon.family.bell import Bell, ring
from quire_daemon.family.compare import Comparer, Elsewhere
from quire_daemon.family.note import ChangedFile, HeldLease, Note, encoded
from quire_daemon.family.told import lease_told, told
from quire_daemon.watch.git.merge_bases import MergeBases
from quire_journal.workspaces.family import family_of, note_file
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import Place, place_of

TEXT = b"".join(b"line %d\n" % n for n in range(1, 41))
MINUTE_NS = 60_000_000_000


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


class Checkouts:
    """A repository with `auth.ts` in `site`, its worktree `fix-2`, and the comparison that `site` makes."""

    def __init__(self, folder: Path) -> None:
        site = folder / "site"
        site.mkdir()
        (site / "auth.ts").write_bytes(TEXT)
        git(site, "init")
        git(site, "add", "-A")
        git(site, "commit", "-m", "one")
        git(site, "worktree", "add", "-b", "fix", "../fix-2")
        self.here, self.there = place_of(site), place_of(folder / "fix-2")
        for place in (self.here, self.there):
            settle(place)
        self.family, self.bases = family_of(site), MergeBases(site)
        self.comparer = Comparer(site, self.here.state, self.family, self.bases)

    def write(self, place: Place, data: bytes, path: str = "auth.ts") -> None:
        (place.root / path).write_bytes(data)

    def note(self, *paths: str, leases: tuple[HeldLease, ...] = (), family: str | None = None) -> None:
        """What the daemon of `fix-2` would leave."""
        files = []
        for path in paths or ("auth.ts",):
            file = self.there.root / path
            data = file.read_bytes() if file.exists() else b""
            sha256 = hashlib.sha256(data).hexdigest() if data else ""
            files.append(ChangedFile(path, sha256, not file.exists(), 5, "codex", "x1"))
        head = MergeBases(self.there.root).head()
        said = encoded(Note(self.family if family is None else family, head, "fix", files, leases))
        note_file(self.there.state).write_bytes(said + b" " * (len(os.listdir(self.there.state)) % 7))

    def found(self, *touched: str, rung: bool = True, around: bool = True) -> dict[str, Elsewhere]:
        known = self.comparer.run(touched, [self.there.state] if rung else [], around)
        return {path: one for path, (one,) in known.files.items()}


@pytest.fixture
def checkouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkouts:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    return Checkouts(tmp_path)


def verdict(one: Elsewhere) -> tuple[tuple[tuple[int, int], ...], int]:
    assert one.preview is not None
    return one.preview.lines, one.preview.conflicts


def test_a_change_elsewhere_is_told_with_its_lines(checkouts: Checkouts) -> None:
    checkouts.write(checkouts.there, TEXT.replace(b"line 12\n", b"line twelve\n"))
    checkouts.note()
    one = checkouts.found()["auth.ts"]
    assert verdict(one) == (((12, 12),), 0)
    said = told(one, 0, 5 + 3 * MINUTE_NS)
    assert said["message"] == (
        "auth.ts line 12 is also changed in fix-2 by codex/x1, 3 minutes ago; a merge of both is clean."
    )


def test_lines_put_in_elsewhere_are_told_by_the_line_behind_them(checkouts: Checkouts) -> None:
    checkouts.write(checkouts.there, TEXT.replace(b"line 12\n", b"new\nline 12\n"))
    checkouts.note()
    message = told(checkouts.found()["auth.ts"], None, 5)["message"]
    assert message.startswith("auth.ts the place before line 12 is also changed in fix-2")
    assert message.endswith("just now; whether a merge of both is clean is not known.")


def test_a_change_here_makes_it_a_conflict_and_another_resolves_it(checkouts: Checkouts) -> None:
    checkouts.write(checkouts.there, TEXT.replace(b"line 12\n", b"line twelve\n"))
    checkouts.note()
    checkouts.found()
    checkouts.write(checkouts.here, TEXT.replace(b"line 12\n", b"line 12b\n"))
    one = checkouts.found("auth.ts", rung=False, around=False)["auth.ts"]
    assert verdict(one) == (((12, 12),), 1)
    assert told(one, 1, 5)["message"].endswith("just now; a merge of both conflicts in 1 hunk.")
    checkouts.write(checkouts.here, TEXT.replace(b"line 12\n", b"line twelve\n"))
    assert checkouts.found("auth.ts", rung=False, around=False) == {}


def test_commits_on_either_side_are_compared_with_the_merge_base(checkouts: Checkouts) -> None:
    checkouts.write(checkouts.there, TEXT.replace(b"line 12\n", b"line twelve\n"))
    git(checkouts.there.root, "commit", "-am", "two")
    checkouts.write(checkouts.here, b"first\n" + TEXT)
    git(checkouts.here.root, "commit", "-am", "three")
    checkouts.note()
    assert verdict(checkouts.found()["auth.ts"]) == (((13, 13),), 0)
    git(checkouts.here.root, "-c", "commit.gpgsign=false", "merge", "fix")
    assert checkouts.found(rung=False, around=False) == {}, "what was merged is no news"


def test_bytes_that_are_not_those_of_the_note_wait_for_the_next_note(checkouts: Checkouts) -> None:
    checkouts.write(checkouts.there, TEXT + b"more\n")
    checkouts.note()
    checkouts.write(checkouts.there, TEXT + b"more and more\n")
    assert checkouts.found() == {}


def test_a_new_and_a_removed_file_are_told(checkouts: Checkouts) -> None:
    checkouts.write(checkouts.there, b"new\n", "new.ts")
    (checkouts.there.root / "auth.ts").unlink()
    checkouts.note("new.ts", "auth.ts")
    found = checkouts.found()
    assert verdict(found["new.ts"]) == (((1, 0),), 0)
    assert told(found["auth.ts"], 0, 5)["message"].startswith("auth.ts is removed in fix-2 by codex/x1, just now")


def test_no_link_or_pipe_of_a_neighbour_is_followed_or_waited_for(checkouts: Checkouts) -> None:
    root = checkouts.there.root
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("/etc/passwd")
    (root / "up").symlink_to("..")
    (root / "large").write_bytes(b"x" * (5 << 20))
    note = {"family": checkouts.family, "head": checkouts.bases.head()}
    note["files"] = [[path, "1" * 64, False, 5] for path in ("pipe", "link", "up/site/auth.ts", "large")]
    note_file(checkouts.there.state).write_text(json.dumps(note))
    assert checkouts.found() == {}


@pytest.mark.parametrize("head", ["", "--output=/tmp/x", "HEAD", "0" * 40, "x" * 90])
def test_a_head_that_is_none_leaves_the_verdict_open(head: str, checkouts: Checkouts) -> None:
    data = TEXT + b"more\n"
    checkouts.write(checkouts.there, data)
    files = [["auth.ts", hashlib.sha256(data).hexdigest(), False, 5]]
    note_file(checkouts.there.state).write_text(json.dumps({"family": checkouts.family, "head": head, "files": files}))
    assert checkouts.found()["auth.ts"].preview is None


def test_a_note_of_another_family_and_a_forgotten_checkout_tell_nothing(checkouts: Checkouts) -> None:
    checkouts.write(checkouts.there, TEXT + b"more\n")
    checkouts.note()
    assert checkouts.found()
    checkouts.note(family="git:/elsewhere")
    assert checkouts.found() == {}
    checkouts.note()
    assert checkouts.found()
    (checkouts.there.state / "workspace.json").unlink()
    assert checkouts.found() == {}


def test_a_lease_elsewhere_is_told_and_binds_nobody(checkouts: Checkouts) -> None:
    lease = HeldLease(9, "auth.ts", "file", "exclusive", 99, "bob", "s2", "the rewrite")
    checkouts.note(leases=(lease,))
    known = checkouts.comparer.run([], [], True)
    assert known.leases == {checkouts.there.root: (lease,)}
    said = lease_told(checkouts.there.root, "auth.ts", lease)
    assert said["message"].startswith(
        "bob/s2 has a lease (exclusive) on auth.ts in fix-2: the rewrite. It binds nobody"
    )


def test_a_bell_tells_who_rang_and_a_missing_one_is_passed_over(tmp_path: Path) -> None:
    bell = Bell(tmp_path / "a.bell")
    ring([tmp_path / "gone.bell", tmp_path / "a.bell"], "fix-2-0123")
    ring([tmp_path / "a.bell"], "../../etc")
    ring([tmp_path / "a.bell"], "..")
    assert bell.rung() == {"fix-2-0123"}
    bell.close()
    assert not (tmp_path / "a.bell").exists()


def test_nobody_waits_for_a_bell_that_nobody_hears(tmp_path: Path) -> None:
    bell = Bell(tmp_path / "a.bell")
    for _ in range(2_000):
        ring([tmp_path / "a.bell"], "fix-2")
    assert bell.rung() == {"fix-2"}
    bell.close()
