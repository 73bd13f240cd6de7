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
