"""Links and empty folders are made where nothing is, and taken back only while they are what was made."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire_daemon.core.decision import FileNow, Make
from quire_daemon.workspace.confine import Beneath
from quire_daemon.workspace.entries import make, unmake
from quire_daemon.workspace.types import FileVanished, SwapDone, SwapLost
from quire_journal.model.events import FOLDER, LINK
from quire_journal.model.refusals import Refusal


@pytest.fixture
def beneath(tmp_path: Path) -> Iterator[Beneath]:
    (tmp_path / "work").mkdir()
    fd = os.open(tmp_path / "work", os.O_RDONLY | os.O_DIRECTORY)
    yield Beneath(fd, use_openat2=True)
    os.close(fd)


def link(path: str = "l", target: bytes = b"\xff") -> Make:
    return Make(1, path, LINK, target, 0o777, FileNow(path, "missing"))


def folder(mode: int = 0o750) -> Make:
    return Make(1, "d", FOLDER, b"", mode, FileNow("d", "missing"))


def test_a_link_leads_where_it_is_to_and_a_folder_has_its_mode(tmp_path: Path, beneath: Beneath) -> None:
    assert isinstance(make(beneath, link()), SwapDone)
    assert os.readlink(os.fsencode(tmp_path / "work/l")) == b"\xff"
    assert isinstance(make(beneath, folder(0o2777)), SwapDone)
    assert stat.S_IMODE((tmp_path / "work/d").stat().st_mode) == 0o2777
    assert isinstance(unmake(beneath, link()), SwapDone)
    assert isinstance(unmake(beneath, folder()), SwapDone)
    assert os.listdir(tmp_path / "work") == []


@pytest.mark.parametrize("write", [link("d"), folder()])
def test_nothing_is_replaced(write: Make, tmp_path: Path, beneath: Beneath) -> None:
    (tmp_path / "work/d").write_text("mine")
    assert make(beneath, write) == SwapLost("exists")
    assert (tmp_path / "work/d").read_text() == "mine"


def test_what_others_made_of_it_since_is_left(tmp_path: Path, beneath: Beneath) -> None:
    make(beneath, link())
    os.unlink(tmp_path / "work/l")
    assert unmake(beneath, link()) == SwapLost("missing")
    (tmp_path / "work/l").symlink_to("elsewhere")
    assert unmake(beneath, link()) == SwapLost("changed")
    make(beneath, folder())
    (tmp_path / "work/d/new").write_text("theirs")
    assert unmake(beneath, folder()) == SwapLost("changed")
    assert (tmp_path / "work/d/new").read_text() == "theirs"


def test_no_link_on_the_way_is_followed_out(tmp_path: Path, beneath: Beneath) -> None:
    (tmp_path / "work/out").symlink_to(tmp_path)
    with pytest.raises((Refusal, FileVanished)):
        make(beneath, link("out/l"))
    assert not (tmp_path / "l").is_symlink()
