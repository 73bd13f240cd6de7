"""Mounts below a checkout: what stands there, and whether it has changed."""

from __future__ import annotations

from pathlib import Path

from disks import mounted
from quire_daemon.watch.mounts import Mounts, mounted_below

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


def test_only_what_changes_below_the_checkout_is_news() -> None:
    table = Told()
    mounts = Mounts("/co", table)
    assert not mounts.take_news(), "nobody knows what was there before"
    table.set(a="disk")
    assert (mounts.take_news(), mounts.take_news()) == (True, False)
    table.set(a="disk")
    assert not mounts.take_news(), "something was mounted elsewhere"
    table.set(a="another")
    assert mounts.take_news()
    table.set()
    assert mounts.take_news()
    mounts.close()
    table.set(a="disk")
    assert not mounts.take_news()


def test_the_kernel_tells_what_comes_and_goes(tmp_path: Path) -> None:
    mounts = Mounts.below(tmp_path)
    (tmp_path / "sub").mkdir()
    assert not mounts.take_news()
    with mounted(tmp_path / "sub", "-t", "tmpfs", "tmpfs"):
        assert (mounts.take_news(), mounts.take_news()) == (True, False)
    assert mounts.take_news()
    mounts.close()
