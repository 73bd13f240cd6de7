"""Mounts below a checkout: which side of a folder a record stands on."""

from __future__ import annotations

import json
import os
from pathlib import Path

from disks import mounted
from quire_daemon.mounts import MOST_SIDES, KernelTable, Mounts, mounted_below

TABLE = rb"""21 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 21 0:26 / /work/co rw - tmpfs co rw
31 30 0:27 / /work/co/a\040b rw,nosuid shared:5 master:1 - tmpfs first rw
32 31 0:28 /part /work/co/a\040b rw - ext4 /dev/sdb1 rw
33 30 0:29 / /work/co/caf\303\251/x rw - tmpfs none rw
34 21 0:30 / /work/code rw - tmpfs none rw
"""


def test_what_is_mounted_below_a_checkout_is_what_is_seen_there() -> None:
    assert mounted_below("/work/co", TABLE) == {"a b": "ext4 /dev/sdb1 /part", "café/x": "tmpfs none /"}
    assert {*mounted_below("/work/co", b"nonsense\n\n1 2 3 4 /work/co/a\n")} == {"a"}


class Told:
    """A table that a test changes."""

    def __init__(self) -> None:
        self.mounted: dict[str, str] = {}
        self.is_news = True

    def set(self, **mounted: str) -> None:
        self.mounted, self.is_news = mounted, True

    def changed(self) -> bool:
        return self.is_news

    def read(self) -> bytes:
        self.is_news = False
        lines = (f"1 1 0:1 / /co/{at} rw - ext4 {what} rw" for at, what in self.mounted.items())
        return "\n".join(lines).encode()

    def close(self) -> None:
        """As the kernel's."""


def test_a_record_stands_on_the_side_that_its_folder_had_then(tmp_path: Path) -> None:
    table, file = Told(), tmp_path / "mounts"

    def daemon(newest: int) -> Mounts:
        mounts = Mounts("/co", table, file)
        mounts.look(newest)
        return mounts

    mounts = daemon(10)
    assert not mounts.take_news(), "nobody knows what was there before"
    table.set(a="one")
    mounts.look(20)
    assert (mounts.take_news(), mounts.take_news()) == (True, False)
    assert [mounts.hiding("a/b/f", seq) for seq in (20, 21)] == ["a", ""]
    assert [mounts.hiding(path, 20) for path in ("a", "ab/f", "f")] == ["", "", ""]
    table.set()
    mounts = daemon(30)  # it went while no daemon ran
    assert mounts.take_news()
    assert [mounts.hiding("a/f", seq) for seq in (20, 21, 30, 31)] == ["", "a", "a", ""]
    table.set(a="another")
    mounts.look(40)
    assert [mounts.hiding("a/f", seq) for seq in (20, 30, 40, 41)] == ["a", "a", "a", ""]
    table.set(a="one")
    mounts = daemon(50)
    assert [mounts.hiding("a/f", seq) for seq in (20, 30, 40, 50, 51)] == ["a", "", "a", "a", ""]
    table.set()
    mounts = daemon(60)
    mounts.forget("a")
    assert mounts.hiding("a/f", 50) == daemon(60).hiding("a/f", 50) == ""


def test_what_is_mounted_when_nothing_is_known_was_always_there(tmp_path: Path) -> None:
    table = Told()
    table.set(a="one")
    (tmp_path / "mounts").write_text("no JSON")
    mounts = Mounts("/co", table, tmp_path / "mounts")
    mounts.look(10)
    assert (mounts.hiding("a/f", 1), mounts.mounted("a"), mounts.mounted("b")) == ("", True, False)
    table.set()
    mounts.look(20)
    assert (mounts.hiding("a/f", 1), mounts.mounted("a")) == ("a", False)


def test_where_the_end_of_the_log_was_lost_new_records_stand_on_the_side_of_now(tmp_path: Path) -> None:
    table, file = Told(), tmp_path / "mounts"
    file.write_text(json.dumps({"a": [[0, ""], [50, "ext4 one /"]]}))
    table.set(a="one")
    mounts = Mounts("/co", table, file)
    mounts.look(30)
    assert [mounts.hiding("a/f", seq) for seq in (30, 31)] == ["a", ""]


def test_a_disk_that_comes_and_goes_for_years_is_not_remembered_for_years(tmp_path: Path) -> None:
    table, file = Told(), tmp_path / "mounts"
    mounts = Mounts("/co", table, file)
    for number in range(200):
        table.set(**{"a": "one"} if number % 2 else {})
        mounts.look(number)
    assert len(json.loads(file.read_text())["a"]) == MOST_SIDES
    assert mounts.hiding("a/f", 199) == "a"


def test_the_kernel_tells_when_something_is_mounted_and_what(tmp_path: Path) -> None:
    mount_point = tmp_path / "checkout" / "sub"
    mount_point.mkdir(parents=True)
    table = KernelTable()
    mounts = Mounts(os.fspath(mount_point.parent), table)
    mounts.look(1)
    assert not mounts.mounted("sub")
    with mounted(mount_point, "-t", "tmpfs", "disk"):
        mounts.look(2)
        assert (mounts.mounted("sub"), mounts.hiding("sub/f", 2)) == (True, "sub")
        assert not table.changed()
    mounts.look(3)
    assert (mounts.mounted("sub"), mounts.hiding("sub/f", 3)) == (False, "sub")
    mounts.close()
    mounts.look(4)
