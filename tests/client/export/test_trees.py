"""A tree written into a folder: all of it or nothing, and never anywhere else, whatever the journal says."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import rights
from disks import mounted
from quire_client.export.tree import ExportStop, KeptFiles, Tree, Unwritable, bytes_of, export, fetch
from quire_journal.model.ids import journal_path

PART = 10


class FakeJournal:
    """A daemon that holds a few blobs and gives them in parts of `PART` bytes; pages of two entries."""

    def __init__(self, *entries: dict[str, Any]) -> None:
        self.blobs: dict[str, bytes] = {}
        self.entries = list(entries)

    def hold(self, data: bytes) -> str:
        address = hashlib.sha256(data).hexdigest()
        self.blobs[address] = data
        return address

    def file(self, path: str, data: bytes, mode: str = "0644", kind: str = "file") -> FakeJournal:
        entry = {"path": path, "kind": kind, "sha256": self.hold(data), "mode": mode, "sizeBytes": len(data)}
        self.entries.append(entry)
        return self

    def folder(self, path: str, mode: str = "0755") -> FakeJournal:
        self.entries.append({"path": path, "kind": "folder", "sha256": None, "mode": mode, "sizeBytes": 0})
        return self

    def call(self, tool: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
        given = dict(args or {})
        if tool == "tree":
            at = given.get("cursor", 0)
            rest = self.entries[at : at + 2]
            following = at + 2 if at + 2 < len(self.entries) else None
            return {"ok": True, "at": "seq:9", "time": None, "complete": True, "entries": rest, "next": following}
        told = []
        for address in given["sha256"][:2]:
            offset = given.get("offset", 0) if not told else 0
            data = self.blobs.get(address)
            if data is None:
                told.append({"sha256": address, "uncaptured": "not_held"})
                continue
            part = {"sha256": address, "content_base64": base64.b64encode(data[offset : offset + PART]).decode()}
            if offset + PART < len(data):
                return {"ok": True, "blobs": [*told, {**part, "next_offset": offset + PART}]}
            told.append(part)
        return {"ok": True, "blobs": told}


def beside(folder: Path) -> list[str]:
    """What is in the test's folder, but for its home."""
    return sorted(set(os.listdir(folder)) - {"home"})


def test_files_links_and_folders_come_out_as_they_were(tmp_path: Path) -> None:
    journal = FakeJournal().file("src/a.sh", b"0123456789" * 7, "0750").file("src/same", b"0123456789" * 7)
    journal.file("to", b"src/a.sh", kind="link").folder("empty/inner", "0500").folder("closed", "0000")
    journal.file(journal_path("\udcff"), b"bytes")
    target = tmp_path / "out"
    assert export(journal, fetch(journal), target) == []
    assert (target / "src/a.sh").read_bytes() == b"0123456789" * 7 == (target / "src/same").read_bytes()
    assert stat.S_IMODE((target / "src/a.sh").stat().st_mode) == 0o750
    assert os.readlink(target / "to") == "src/a.sh"
    assert stat.S_IMODE((target / "empty/inner").stat().st_mode) == 0o500
    assert stat.S_IMODE((target / "closed").stat().st_mode) == 0
    assert (target / "\udcff").read_bytes() == b"bytes"
    assert beside(tmp_path) == ["out"]


def test_what_is_not_held_is_left_out_and_named(tmp_path: Path) -> None:
    journal = FakeJournal({"path": "big", "kind": "file", "sha256": None, "mode": "0644", "uncaptured": "too_large"})
    journal.file("kept", b"x").file("dropped", b"y")
    del journal.blobs[hashlib.sha256(b"y").hexdigest()]
    missing = export(journal, fetch(journal), tmp_path / "out")
    assert [(entry["path"], entry["uncaptured"]) for entry in missing] == [
        ("big", "too_large"),
        ("dropped", "not_held"),
    ]
    assert os.listdir(tmp_path / "out") == ["kept"]


def test_an_empty_folder_is_filled_and_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir(mode=0o700)
    export(FakeJournal(), fetch(FakeJournal().file("a", b"1")) and Tree("seq:1", None, True), target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o700


@pytest.mark.parametrize("what", ["file", "filled folder", "link"])
def test_nothing_is_written_over_what_is_there(what: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    if what == "file":
        target.write_text("mine")
    elif what == "link":
        (tmp_path / "elsewhere").mkdir()
        target.symlink_to("elsewhere")
    else:
        target.mkdir()
        (target / "mine").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Unwritable, match="is there already"):
        export(FakeJournal().file("a", b"1"), fetch(FakeJournal().file("a", b"1")), target)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("top", ["bare.git/", "deep/store/", ""])
def test_a_bare_repository_is_left_out(tmp_path: Path, top: str) -> None:
    """Git runs its hooks, and obeys its settings, whoever made it."""
    journal = FakeJournal().folder(f"{top}refs")
    for path in ("HEAD", "config", "hooks/post-update", "objects/ab/cd"):
        journal.file(f"{top}{path}", path.encode())
    journal.file("beside/HEAD", b"a file")
    missing = export(journal, fetch(journal), tmp_path / "out")
    assert {entry["uncaptured"] for entry in missing} == {"reserved_name"}
    assert len(missing) == (5 if top else 6)
    assert [*map(str, (tmp_path / "out").rglob("HEAD"))] == ([str(tmp_path / "out/beside/HEAD")] if top else [])


@pytest.mark.parametrize("path", [".git/hooks/post-checkout", "sub/.GIT/config", ".Quire/id", "a/.git", "%/.git/%ff"])
def test_what_would_be_gits_or_quires_own_is_left_out_and_named(path: str, tmp_path: Path) -> None:
    journal = FakeJournal().file("good", b"1").file(path, b"2", kind="file")
    (left_out,) = export(journal, fetch(journal), tmp_path / "out")
    assert (left_out["path"], left_out["uncaptured"]) == (path, "reserved_name")
    assert [str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*")] == ["good"]


@pytest.mark.parametrize("path", ["../out", "a/../../b", "/etc/x", "a//b", "./a", "", "a\0b", "%/..%2Fb", "..", "a/"])
def test_a_path_that_leads_elsewhere_is_refused_and_nothing_is_left(path: str, tmp_path: Path) -> None:
    journal = FakeJournal().file("good", b"1").file(path, b"2")
    with pytest.raises(Unwritable, match="not a path inside"):
        export(journal, fetch(journal), tmp_path / "out")
    assert beside(tmp_path) == []


@pytest.mark.parametrize("path", ["n" * 300, "good/below"])
def test_an_entry_that_the_disk_refuses_is_named(path: str, tmp_path: Path) -> None:
    journal = FakeJournal().file("good", b"1").file(path, b"2")
    with pytest.raises(Unwritable, match=f"{path} cannot be written"):
        export(journal, fetch(journal), tmp_path / "out")
    assert beside(tmp_path) == []


def test_no_file_is_written_through_a_link(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    journal = FakeJournal().file("l", str(elsewhere).encode(), kind="link").file("l/x", b"planted")
    with pytest.raises(Unwritable):
        export(journal, fetch(journal), tmp_path / "out")
    assert os.listdir(elsewhere) == []
    assert beside(tmp_path) == ["elsewhere"]


class Raced(FakeJournal):
    """While the bytes are asked for another program does something."""

    def __init__(self, does: Callable[[], object]) -> None:
        super().__init__()
        self.file("a/x", b"1").folder("b")
        self.does = does

    def call(self, tool: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
        if tool == "blobs":
            self.does()
        return super().call(tool, args)


def test_an_export_whose_folder_is_swapped_for_a_link_changes_nothing_behind_the_link(tmp_path: Path) -> None:
    """Its mode was changed, and the link got the name of the export."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "b").mkdir(parents=True)
    (elsewhere / "b/mine").write_text("mine")
    elsewhere.chmod(0o750)
    (elsewhere / "b").chmod(0o500)

    def swap() -> None:
        (made,) = tmp_path.glob(".out.*")
        made.rename(tmp_path / "taken")
        made.symlink_to(elsewhere)

    journal = Raced(swap)
    with pytest.raises(Unwritable, match="another program moved what was made beside it"):
        export(journal, fetch(journal), tmp_path / "out")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (elsewhere, elsewhere / "b")] == [0o750, 0o500]
    assert sorted(map(os.fspath, elsewhere.rglob("*"))) == [f"{elsewhere}/b", f"{elsewhere}/b/mine"]
    assert not (tmp_path / "out").exists()
    assert os.listdir(tmp_path / "taken") == []


def test_an_export_over_whose_folder_something_is_mounted_leaves_that_alone(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").write_text("mine")
    with ExitStack() as block:

        def mount() -> None:
            (made,) = tmp_path.glob(".out.*")
            (made / "a").mkdir()
            block.enter_context(mounted(made / "a", "--bind", elsewhere))

        journal = Raced(mount)
        with pytest.raises(Unwritable, match="cannot be written there"):
            export(journal, fetch(journal), tmp_path / "out")
        assert os.listdir(elsewhere) == ["mine"]


def test_bytes_that_are_not_those_of_their_address_are_not_written(tmp_path: Path) -> None:
    journal = FakeJournal().file("a", b"1")
    journal.blobs = dict.fromkeys(journal.blobs, b"2")
    with pytest.raises(Unwritable, match="are others"):
        export(journal, fetch(journal), tmp_path / "out")
    assert beside(tmp_path) == []


def test_a_refusal_is_passed_on() -> None:
    class Refusing(FakeJournal):
        def call(self, tool: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
            return {"ok": False, "error": "not_found", "message": "There is no checkpoint."}

    with pytest.raises(ExportStop) as stopped:
        fetch(Refusing(), "nowhere")
    assert stopped.value.reply["error"] == "not_found"


def exported(out: Path) -> None:
    """An export into `out`, where something comes between its end and its rename; what is left beside it."""
    journal = FakeJournal().file("closed/a", b"1").folder("closed", "0000").folder("closed/in", "0000")

    class Late(FakeJournal):
        def call(self, tool: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
            if tool == "blobs":
                (out / "theirs").write_text("")
                out.chmod(0o300)
            return journal.call(tool, args)

    try:
        export(Late(), fetch(journal), out)
    except Unwritable as error:
        print(error)
    print(os.listdir(out.parent))


def test_an_export_that_cannot_be_renamed_leaves_nothing_whatever_the_modes_of_its_folders(tmp_path: Path) -> None:
    """Nobody can look into them but root; and what was to be in the place of a folder has that one's mode already."""
    out = tmp_path / "in" / "out"
    out.mkdir(parents=True)
    try:
        printed = rights.printed(rights.be_anybody, lambda: exported(out))
    finally:
        out.chmod(0o755)
    assert printed.splitlines() == [f"{out}: Directory not empty.", "['out']"]


def test_a_reply_without_any_of_the_bytes_that_were_asked_for_ends_it() -> None:
    """It was asked for again and again."""

    class Empty(FakeJournal):
        def call(self, tool: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
            return {"ok": True, "blobs": []}

    with pytest.raises(Unwritable, match=f"no bytes came for {'0' * 64}"):
        list(bytes_of(Empty(), ["0" * 64]))


def test_each_address_is_asked_for_once() -> None:
    journal = FakeJournal()
    one, other = journal.hold(b"1"), journal.hold(b"x" * 25)
    assert list(bytes_of(journal, [one, other, one])) == [(one, b"1"), (other, b"x" * 25)]


def test_bytes_of_an_earlier_tree_are_not_fetched_again(tmp_path: Path) -> None:
    kept = KeptFiles(tmp_path / "kept")
    journal = FakeJournal().file("a", b"1").file("b", b"2")
    export(journal, fetch(journal), tmp_path / "one", kept)
    (tmp_path / "one" / "a").write_bytes(b"by a command")
    later = FakeJournal().file("a", b"1").file("c", b"3")
    asked: list[str] = []
    ask = later.call

    def call(tool: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
        asked.extend((args or {}).get("sha256", ()))
        return ask(tool, args)

    later.call = call  # type: ignore[method-assign]
    export(later, fetch(later), tmp_path / "two", kept)
    assert ((tmp_path / "two" / "a").read_bytes(), (tmp_path / "two" / "c").read_bytes()) == (b"1", b"3")
    assert asked == [hashlib.sha256(b"3").hexdigest()]
