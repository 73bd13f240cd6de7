"""Empty files that a process makes ahead: what takes them, and that none is left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from swapping import in_tmp, settle

from checkout import put
from live import eventually
from quire_daemon.workspace import Swapped, Workspace
from quire_daemon.workspace.blanks import FROM, KEEP_S, Blanks
from quire_daemon.workspace.making_blanks import blank_name, make

pytestmark = pytest.mark.real


def identity(folder: Path) -> tuple[int, int]:
    seen = folder.stat()
    return seen.st_dev, seen.st_ino


def test_as_many_are_made_as_were_asked_for_and_nobody_else_can_read_them(tmp_path: Path) -> None:
    make(os.fspath(tmp_path), identity(tmp_path), "0.run.blank1", 3, os.getppid())
    assert {p.name for p in tmp_path.iterdir()} == {blank_name("0.run.blank1", n) for n in range(3)}
    assert {(p.stat().st_size, p.stat().st_mode & 0o777) for p in tmp_path.iterdir()} == {(0, 0o600)}


def test_in_another_folder_of_that_path_none_is_made(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    make(os.fspath(tmp_path / "other"), identity(tmp_path), "0.run.blank1", 3, os.getppid())
    assert [*(tmp_path / "other").iterdir()] == []


def test_where_the_daemon_has_ended_none_is_left(tmp_path: Path) -> None:
    make(os.fspath(tmp_path), identity(tmp_path), "0.run.blank1", 3, parent=1 if os.getppid() != 1 else 2)
    assert [*tmp_path.iterdir()] == []


def test_a_request_of_many_writes_takes_them(workspace: Workspace) -> None:
    """One that is not there yet is made where it is needed."""
    workspace.expect(FROM)
    eventually("all are made", lambda: len(in_tmp(workspace)) == FROM)
    names = [f"f{n}" for n in range(FROM + 2)]
    staged = workspace.stage_all([put(workspace, name, name.encode()) for name in names])
    assert len(in_tmp(workspace)) == len(names)
    for step in staged:
        assert isinstance(workspace.perform(step), Swapped)
    assert {(workspace.root / name).read_bytes() for name in names} == {name.encode() for name in names}
    assert {(workspace.root / name).stat().st_mode & 0o777 for name in names} == {0o644}
    settle(workspace)
    assert in_tmp(workspace) == []


def test_what_nobody_takes_goes_after_a_while(workspace: Workspace) -> None:
    workspace.expect(FROM)
    eventually("all are made", lambda: len(in_tmp(workspace)) == FROM)
    workspace.sweep(0.0)
    workspace.sweep(KEEP_S)
    assert len(in_tmp(workspace)) == FROM
    eventually("none is left", lambda: not workspace.sweep(KEEP_S + 1) and in_tmp(workspace) == [])


def test_while_they_are_still_being_made_nobody_waits_for_their_process(workspace: Workspace) -> None:
    workspace.expect(100 * FROM)
    eventually("one is made", lambda: in_tmp(workspace) != [])
    workspace.sweep(0.0)
    eventually("none is left", lambda: not workspace.sweep(KEEP_S + 1) and in_tmp(workspace) == [])


def test_with_the_workspace_they_go_while_they_are_being_made(tmp_path: Path) -> None:
    with_files = Workspace(tmp_path)
    with_files.expect(100 * FROM)
    eventually("one is made", lambda: in_tmp(with_files) != [])
    with_files.close()
    assert os.listdir(tmp_path / ".quire" / "tmp") == []


def test_few_files_are_worth_no_process(tmp_path: Path) -> None:
    blanks = Blanks(os.fspath(tmp_path), "run")
    blanks.tmp = os.open(tmp_path, os.O_RDONLY)
    blanks.expect(FROM - 1)
    assert (blanks.take(), blanks.drop()) == (None, [])
    os.close(blanks.tmp)
