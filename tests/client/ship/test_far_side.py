"""The stores of the far side, each by the one contract suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from contracts.far_side import FarSideContract, J
from quire_client.ship.address import FarSide, from_here, open_far_side
from quire_client.ship.folder import STALE_S
from quire_client.ship.memory import MemoryObjects
from quire_client.ship.port import FarSideUnreachable


class TestMemory(FarSideContract):
    @pytest.fixture(autouse=True)
    def fresh(self) -> None:
        self.far = FarSide.of(MemoryObjects())

    def opened(self) -> FarSide:
        return self.far


class TestFolder(FarSideContract):
    @pytest.fixture(autouse=True)
    def fresh(self, tmp_path: Path) -> None:
        self.root = tmp_path

    def opened(self) -> FarSide:
        return open_far_side(str(self.root))

    def test_nothing_half_written_is_told(self) -> None:
        segments = self.opened().segments
        segments.put(J, 1, b"x")
        (self.root / "segments" / J / ".new-00").write_bytes(b"of a killed shipper")
        assert list(segments.numbers(J)) == [1]
        assert sorted(path.name for path in (self.root / "segments" / J).iterdir()) == [".new-00", "000000000001"]

    def test_what_a_killed_shipper_left_is_removed_after_a_day(self) -> None:
        self.opened().segments.put(J, 1, b"x")
        old, young = (self.root / "segments" / J / f".new-{n}" for n in ("old", "young"))
        for path in (old, young):
            path.write_bytes(b"of a killed shipper")
        two_days_ago = old.stat().st_mtime - 2 * STALE_S
        os.utime(old, (two_days_ago, two_days_ago))
        self.opened().segments.put(J, 2, b"y")
        assert (old.exists(), young.exists()) == (False, True)


def test_a_relative_path_is_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert from_here("../far") == str(tmp_path.parent / "far")
    assert [from_here(one) for one in ("/far", "s3://b/p", "")] == ["/far", "s3://b/p", ""]


def test_a_folder_that_is_not_there_is_unreachable_and_not_made(tmp_path: Path) -> None:
    far = open_far_side(str(tmp_path / "not-mounted"))
    for act in (
        lambda: far.segments.put(J, 1, b"x"),
        lambda: far.segments.get(J, 1),
        lambda: list(far.segments.numbers(J)),
    ):
        with pytest.raises(FarSideUnreachable, match="not-mounted"):
            act()
    assert not (tmp_path / "not-mounted").exists()


@pytest.mark.parametrize("address", ["ftp://host/x", "relative/folder", ""])
def test_an_address_that_is_none_is_told(address: str) -> None:
    with pytest.raises(FarSideUnreachable):
        open_far_side(address)
