"""The commands around a commit beside names, bytes and states of git that are out of the ordinary."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import quire_client
from live import Live, caught_up, eventually, ok, quire

pytestmark = pytest.mark.real

BASE = b"one\n\ntwo\n\nthree\n\nfour\n\nfive\n"
NAMES = (
    *("a b.txt", 'q"uote.txt', "tab\there.txt", "new\nline.txt", "ü.txt", "-dash.txt", "--flag", "sub dir/x y.py"),
    *("b\\slash.txt", ":colon.txt", "...", "$(touch pwned).txt", "crlf.txt", "no end.txt"),
)
LATIN = b"lat\xe9n.txt"


class Checkout:
    def __init__(self) -> None:
        self.at = Live()
        self.at.state_dir = Path()
        self.git("init", "-qb", "main", ".")
        for name, value in (("user.name", "A"), ("user.email", "a@example.org")):
            self.git("config", name, value)

    def git(self, *words: str, given: bytes | None = None) -> str:
        ran = subprocess.run(["git", *words], cwd=self.at.root, input=given, capture_output=True)
        assert ran.returncode == 0, ran
        return os.fsdecode(ran.stdout)

    def begin(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "base", "--allow-empty")
        with quire_client.connect(self.at.root, agent="tester") as client:
            eventually("the first capture", lambda: client.status()["capture"]["finished"])

    def write(self, agent: str, path: str, text: str) -> None:
        with quire_client.connect(self.at.root, agent=agent, session="s1") as client:
            known = client.call("read_file", {"path": path})
            base = {"base": known["version"]} if known.get("ok") else {}
            ok(client.call("write_file", {"path": path, "content": text, **base}))

    def delete(self, agent: str, path: str) -> None:
        with quire_client.connect(self.at.root, agent=agent, session="s1") as client:
            base = client.call("read_file", {"path": path})["version"]
            ok(client.call("delete_file", {"path": path, "base": base}))

    def said(self, *words: str, status: int = 0) -> str:
        with quire_client.connect(self.at.root, agent="tester") as client:
            caught_up(client)
        ran = quire(*words, cwd=self.at.root)
        assert ran.returncode == status, ran
        return os.fsdecode(ran.stdout)

    def stage_of(self, writer: str, status: int = 0) -> None:
        patch = self.said("patch", "--writer", writer, status=status)
        if patch:
            self.git("apply", "--cached", "--whitespace=nowarn", given=os.fsencode(patch))

    def foreign(self, writer: str) -> set[str]:
        """The files that `check-staged` names."""
        ran = quire("check-staged", "--writer", writer, cwd=self.at.root)
        rows = [row for row in ran.stdout.decode().splitlines() if not row.startswith("    ")]
        assert ran.returncode == bool(rows), ran
        return {row.rpartition(": ")[0] for row in rows}


@pytest.fixture
def checkout() -> Iterator[Checkout]:
    found = Checkout()
    yield found
    found.at.close()


def test_any_name_and_any_line_end_is_staged_and_checked(checkout: Checkout) -> None:
    ends = {"crlf.txt": BASE.replace(b"\n", b"\r\n"), "no end.txt": BASE[:-1]}
    for name in NAMES:
        checkout.at.write(name, ends.get(name, BASE))
    latin = os.path.join(os.fsencode(checkout.at.root), LATIN)
    Path(os.fsdecode(latin)).write_bytes(BASE)
    checkout.at.write("c.sql", "-- head\nselect 1;\n\n\n-- tail\n++ end\n")
    checkout.begin()
    for name in NAMES:
        text = checkout.at.read(name).decode().replace("one", "ONE")
        checkout.write("ann", name, text)
        checkout.write("ben", name, text.replace("five", "FIVE"))
    checkout.write("ann", "c.sql", "select 1;\n\n\n-- tail\n++ end\n")
    checkout.write("ben", "c.sql", "select 1;\n\n\n++ END\n++ more\n")
    Path(os.fsdecode(latin)).write_bytes(BASE.replace(b"two", b"TWO"))
    checkout.stage_of("ann")
    staged = {name: checkout.git("show", f":./{name}") for name in NAMES}
    assert staged == {name: ends.get(name, BASE).replace(b"one", b"ONE").decode() for name in NAMES}
    assert checkout.git("show", ":c.sql") == "select 1;\n\n\n-- tail\n++ end\n"
    assert checkout.foreign("ann") == set()
    checkout.git("add", "-A")
    shown = {name.replace("\t", " ").replace("\n", " ") for name in NAMES}
    assert checkout.foreign("ann") == shown | {"c.sql", "lat%E9n.txt"}
    assert checkout.said("commit-message").split() == ["Agent:", "ann/s1", "Agent:", "ben/s1"]
    assert not (checkout.at.root / "pwned").exists()


def test_files_without_lines_and_whole_files_are_checked_too(checkout: Checkout) -> None:
    for name in ("ben gone.txt", "ann gone.txt"):
        checkout.at.write(name, BASE)
    checkout.at.write("bin", b"\0\1")
    checkout.at.write("mode.sh", "true\n")
    checkout.begin()
    checkout.delete("ben", "ben gone.txt")
    checkout.delete("ann", "ann gone.txt")
    checkout.write("ben", "empty of ben.txt", "")
    checkout.write("ann", "ann new.txt", "x\n")
    checkout.at.write("bin", b"\0\2")
    (checkout.at.root / "mode.sh").chmod(0o755)
    checkout.stage_of("ann")
    assert checkout.git("diff", "--cached", "--name-status").split("\n")[:-1] == ["D\tann gone.txt", "A\tann new.txt"]
    checkout.git("add", "-A")
    assert checkout.foreign("ann") == {"ben gone.txt", "empty of ben.txt", "bin", "mode.sh"}


def edited(checkout: Checkout, path: str) -> None:
    """Ann changes the first line, ben the last one."""
    text = checkout.at.read(path).decode().replace("one", "ONE")
    checkout.write("ann", path, text)
    checkout.write("ben", path, text.replace("five", "FIVE"))


def test_on_a_detached_head_and_in_a_merge(checkout: Checkout) -> None:
    checkout.at.write("f", BASE)
    checkout.at.write("other", BASE)
    checkout.begin()
    checkout.git("checkout", "-qb", "side")
    checkout.at.write("other", BASE.replace(b"one", b"side"))
    checkout.git("commit", "-qam", "side")
    checkout.git("checkout", "-q", "--detach", "main")
    checkout.at.write("other", BASE.replace(b"one", b"main"))
    checkout.git("commit", "-qam", "main")
    edited(checkout, "f")
    checkout.stage_of("ann")
    assert checkout.git("show", ":f") == BASE.decode().replace("one", "ONE")
    checkout.git("commit", "-qm", "ann's")
    ran = subprocess.run(["git", "merge", "-q", "side"], cwd=checkout.at.root, capture_output=True)
    assert ran.returncode == 1, "other conflicts"
    assert checkout.foreign("ann") == {"other"}, "unmerged"
    assert "FIVE" in checkout.said("patch", "--writer", "ben", "f")
    checkout.said("review")
    checkout.said("commit-message")


def test_beside_a_submodule_and_in_a_sparse_checkout(checkout: Checkout) -> None:
    for path in ("in/f", "out/g"):
        checkout.at.write(path, BASE)
    checkout.git("init", "-q", os.fspath(checkout.at.top / "lib"))
    lib = ["-C", os.fspath(checkout.at.top / "lib"), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    checkout.git(*lib, "commit", "-qm", "lib", "--allow-empty")
    checkout.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", os.fspath(checkout.at.top / "lib"), "lib"
    )
    checkout.begin()
    checkout.git("sparse-checkout", "set", "--cone", "in")
    edited(checkout, "in/f")
    checkout.git("-C", "lib", *lib[2:], "commit", "-qm", "more", "--allow-empty")
    checkout.stage_of("ann")
    assert checkout.git("show", ":in/f") == BASE.decode().replace("one", "ONE")
    assert checkout.git("diff", "--cached", "--name-only").split() == ["in/f"]
    assert "out/g" not in checkout.said("patch", "--writer", "outside"), "what git took out is nobody's removal"
    checkout.git("add", "lib")
    assert checkout.foreign("ann") == set()
    assert "out/g" not in checkout.said("review")
    checkout.said("why", "HEAD")


def test_a_renamed_file_is_its_renamers_and_its_lines_are_their_writers(checkout: Checkout) -> None:
    checkout.at.write("old", BASE)
    checkout.begin()
    with quire_client.connect(checkout.at.root, agent="ann", session="s1") as client:
        base = client.call("read_file", {"path": "old"})["version"]
        ok(client.call("move_file", {"path": "old", "to": "new", "base": base}))
    checkout.write("ben", "new", BASE.decode().replace("five", "FIVE"))
    checkout.stage_of("ann")
    assert checkout.git("ls-files").split() == ["new"]
    assert checkout.git("show", ":new") == BASE.decode()
    assert checkout.foreign("ann") == set()
    checkout.git("add", "-A")
    assert checkout.foreign("ann") == {"new"}


def test_who_wrote_nothing_stages_what_is_others(checkout: Checkout) -> None:
    checkout.at.write("f", BASE)
    checkout.begin()
    edited(checkout, "f")
    checkout.git("add", "f")
    assert checkout.foreign("codex/new") == {"f"}


def test_what_is_only_intended_to_be_added_is_not_staged(checkout: Checkout) -> None:
    checkout.begin()
    checkout.write("ann", "mine", "1\n")
    checkout.write("ben", "theirs", "2\n")
    checkout.git("add", "-N", "mine", "theirs")
    assert checkout.foreign("ann") == set()
    checkout.stage_of("ann")
    assert checkout.git("diff", "--cached", "--name-only").split() == ["mine"]


def test_in_a_folder_of_a_repository(checkout: Checkout) -> None:
    """The workspace is the checkout's folder `part`."""
    top = checkout.at.root
    checkout.at.write("part/f", BASE)
    checkout.at.write("beside", BASE)
    checkout.git("add", "-A")
    checkout.git("commit", "-qm", "base")
    checkout.at.root = top / "part"
    with quire_client.connect(checkout.at.root, agent="tester") as client:
        eventually("the first capture", lambda: client.status()["capture"]["finished"])
    edited(checkout, "f")
    (top / "beside").write_bytes(BASE.replace(b"one", b"beside"))
    checkout.git("add", "../beside")
    patch = checkout.said("patch", "--writer", "ann")
    checkout.git("apply", "--cached", given=patch.encode())
    assert checkout.git("show", ":part/f") == BASE.decode().replace("one", "ONE")
    assert checkout.foreign("ann") == set()
    checkout.git("add", "f")
    assert checkout.foreign("ann") == {"f"}
