"""Where things are, which folders become workspaces, and how a moved one finds its journal."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import rights
from disks import mounted
from quire_daemon.commit.disk_space import Reserve
from quire_daemon.ops.daemon_log import Log
from quire_journal.workspaces.discover import adopt, checked, find_workspace
from quire_journal.workspaces.identity import read_identity, settle, workspace_id
from quire_journal.workspaces.layout import (
    SOCKET_PATH_MAX,
    Place,
    WorkspaceRefused,
    make_private_folder,
    open_own,
    place_of,
    require_own_kinds,
    runtime_dir,
    state_home,
)
from quire_journal.workspaces.lock import LockHolder, hold_lock, running, take_lock


def as_socket(path: Path) -> None:
    """A socket that nobody listens on."""
    with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(path.parent):  # its whole path may be too long for one
        one.bind(path.name)


def project(path: Path, git: bool = False) -> Path:
    path.mkdir(parents=True)
    if git:
        (path / ".git").mkdir()
    return path


def journaled(path: Path) -> Place:
    """A folder whose journal was begun."""
    place = checked(place_of(path))
    settle(place)
    return place


# -- names -------------------------------------------------------------------------------------------------------


def test_a_state_folder_is_named_after_the_workspace_and_its_real_path(tmp_path: Path) -> None:
    one, other = project(tmp_path / "a" / "site"), project(tmp_path / "b" / "site")
    assert place_of(one).state.name.startswith("site-")
    assert place_of(one).state.parent == tmp_path / "xdg" / "quire"
    assert place_of(one).state != place_of(other).state


def test_a_link_to_a_workspace_is_the_workspace(tmp_path: Path) -> None:
    root = project(tmp_path / "site")
    (tmp_path / "link").symlink_to(root)
    assert place_of(tmp_path / "link") == place_of(root)


def test_a_name_that_no_folder_should_have_is_tamed(tmp_path: Path) -> None:
    root = project(tmp_path / ("ümlaut \n" + "x" * 200))
    assert place_of(root).state.name.isascii()
    assert len(place_of(root).state.name) < 64


def test_the_socket_lies_in_the_runtime_folder_and_is_short(tmp_path: Path) -> None:
    deep = place_of(tmp_path, tmp_path.joinpath(*["state"] * 40))
    assert deep.socket.parent == Path(os.environ["XDG_RUNTIME_DIR"]) / "quire"
    assert len(os.fsencode(deep.socket)) <= SOCKET_PATH_MAX


@pytest.mark.parametrize("chosen", ["", "relative", "/does/not/exist", "/tmp/" + "x" * 100])
def test_a_runtime_folder_that_cannot_be_used_is_replaced_by_one_in_tmp(
    chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", chosen)
    assert runtime_dir() == Path(f"/tmp/quire-{os.getuid()}")


def as_nobodys(folder: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    folder.mkdir()
    os.chown(folder, 12345, 12345)


@pytest.mark.parametrize("made", [as_nobodys, Path.touch, lambda folder: folder.symlink_to("/tmp")])
def test_what_another_user_has_made_in_tmp_is_not_used_for_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Callable[[Path], None]
) -> None:
    """Everybody can, before we do: no daemon of ours could start then."""
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    tmp = project(tmp_path / "t")
    assert runtime_dir(tmp) == tmp / f"quire-{os.getuid()}"
    made(tmp / f"quire-{os.getuid()}")
    monkeypatch.setenv("XDG_STATE_HOME", "/tmp/x")
    instead = runtime_dir(tmp)
    assert instead == Path("/tmp/x/quire/run")
    monkeypatch.setenv("XDG_STATE_HOME", "/tmp/" + "x" * 80)
    assert runtime_dir(tmp) == tmp / f"quire-{os.getuid()}", "a socket's path would be too long: it is refused by name"


@pytest.mark.parametrize("made", [None, 0o755, 0o777])
def test_the_folder_of_all_state_folders_is_its_owners_alone(tmp_path: Path, made: int | None) -> None:
    """The names in it are those of his projects."""
    home = state_home()
    if made is not None:
        home.mkdir(parents=True)
        home.chmod(made)
    make_private_folder(place_of(tmp_path).state)
    assert home.stat().st_mode & 0o777 == 0o700
    assert place_of(tmp_path).state.stat().st_mode & 0o777 == 0o700


def test_a_relative_state_home_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "here")
    assert state_home() == tmp_path / "home" / ".local" / "state" / "quire"


def test_a_private_folder_is_nobody_elses(tmp_path: Path) -> None:
    loose = tmp_path / "loose"
    loose.mkdir(mode=0o755)
    make_private_folder(loose)
    assert loose.stat().st_mode & 0o777 == 0o700


def test_a_link_in_place_of_a_private_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project(tmp_path / "target"))
    with pytest.raises(WorkspaceRefused, match="is a link or a file"):
        make_private_folder(tmp_path / "link")


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: os.symlink("/nowhere/x", path), as_socket])
def test_something_else_in_place_of_our_file_is_named_without_waiting(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    put(tmp_path / "lock")
    for asked in (take_lock, Log.to, lambda path: open_own(path, os.O_WRONLY | os.O_TRUNC)):
        with pytest.raises(WorkspaceRefused, match=r"/lock is not a plain file"):
            asked(tmp_path / "lock")


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: os.symlink("/nowhere/x", path), as_socket])
@pytest.mark.parametrize(
    "name", ["reserve", "gc.begun", "journal", "journal/clean", "journal/db", "journal/db/data.mdb"]
)
def test_a_start_reports_anything_in_place_of_the_daemons_files(name: str, put: Callable[[Path], None]) -> None:
    """A FIFO kept it waiting for ever, and of a folder it said `Is a directory`."""
    with TemporaryDirectory() as folder:
        place = Place(Path(folder) / "site", Path(folder) / "state")
        (place.state / name).parent.mkdir(parents=True)
        require_own_kinds(place)
        put(place.state / name)
        if put is os.mkdir and name in ("journal", "journal/db"):
            require_own_kinds(place)
            return
        with pytest.raises(WorkspaceRefused, match=rf"/{name} is not a (folder|plain file)"):
            require_own_kinds(place)


def test_a_journal_may_lie_on_another_disk(tmp_path: Path) -> None:
    place = Place(tmp_path / "site", tmp_path / "state")
    for folder in (place.state, tmp_path / "elsewhere/db"):
        folder.mkdir(parents=True)
    (tmp_path / "elsewhere/db/data.mdb").touch()
    place.journal.symlink_to(tmp_path / "elsewhere")
    require_own_kinds(place)


# -- finding -----------------------------------------------------------------------------------------------------


def test_the_nearest_folder_with_a_journal_is_the_workspace(tmp_path: Path) -> None:
    outer = project(tmp_path / "repository", git=True)
    inner = project(outer / "parts" / "site")
    place = journaled(inner)
    deep = project(inner / "src" / "pages")
    assert find_workspace(deep) == place


def test_without_a_journal_the_top_of_the_checkout_is_the_workspace(tmp_path: Path) -> None:
    top = project(tmp_path / "repository", git=True)
    assert find_workspace(project(top / "src")).root == top


def test_a_worktree_of_git_is_a_checkout_too(tmp_path: Path) -> None:
    top = project(tmp_path / "worktree")
    (top / ".git").write_text("gitdir: elsewhere")
    assert find_workspace(top).root == top


def test_a_folder_becomes_a_workspace_only_where_it_is_named(tmp_path: Path) -> None:
    root = project(tmp_path / "notes")
    said = "in no workspace and in no git checkout; name the folder with -C PATH, or make this one a workspace"
    with pytest.raises(WorkspaceRefused, match=said):
        find_workspace(root)
    assert find_workspace(root, given=True).root == root


def test_a_state_folder_knows_its_workspace(tmp_path: Path) -> None:
    root, state = project(tmp_path / "site"), tmp_path / "state"
    settle(place_of(root, state))
    assert find_workspace(project(root / "src"), state) == place_of(root, state)


def test_a_state_folder_of_another_workspace_is_refused(tmp_path: Path) -> None:
    settle(place_of(project(tmp_path / "site"), tmp_path / "state"))
    with pytest.raises(WorkspaceRefused, match=r"holds the journal of .*/site, not of .*/other"):
        find_workspace(project(tmp_path / "other"), tmp_path / "state", given=True)


# -- refusing ----------------------------------------------------------------------------------------------------


def test_what_is_no_folder_is_no_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "missing"):
        with pytest.raises(WorkspaceRefused, match="is not a folder"):
            checked(place_of(path))


def test_a_folder_whose_path_is_not_utf8_is_no_workspace(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    with pytest.raises(WorkspaceRefused, match=r"/caf\\xe9 is not UTF-8, .*; rename the folder"):
        checked(place_of(folder))


def test_the_home_folder_and_what_holds_it_are_no_workspaces(tmp_path: Path) -> None:
    state = tmp_path.parent / f"{tmp_path.name}-state"
    with pytest.raises(WorkspaceRefused, match="is your home folder"):
        checked(place_of(tmp_path / "home", state))
    with pytest.raises(WorkspaceRefused, match="holds your home folder"):
        checked(place_of(tmp_path, state))
    with pytest.raises(WorkspaceRefused, match="the whole machine"):
        checked(place_of("/", state))


@pytest.mark.parametrize("folder", ["/etc", "/usr", "/usr/lib", "/usr/bin", "/tmp", "/var"])
def test_a_folder_of_the_system_is_no_workspace(folder: str) -> None:
    if not Path(folder).is_dir():
        pytest.skip(f"{folder} is not there")
    with pytest.raises(WorkspaceRefused, match="is a folder of the system"):
        find_workspace(folder, given=True)


def test_a_folder_in_the_home_folder_is_fine(tmp_path: Path) -> None:
    root = project(tmp_path / "home" / "site")
    assert checked(place_of(root)).root == root


def test_the_inside_of_dot_git_is_no_workspace(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceRefused, match=r"inside a \.git folder"):
        checked(place_of(project(tmp_path / "repository" / ".git" / "hooks")))


def test_workspaces_do_not_nest(tmp_path: Path) -> None:
    outer = project(tmp_path / "all")
    inner = project(outer / "site")
    journaled(inner)
    with pytest.raises(WorkspaceRefused, match=r"holds the workspace .*/all/site"):
        checked(place_of(outer))


def test_a_folder_inside_a_workspace_is_part_of_it(tmp_path: Path) -> None:
    outer = project(tmp_path / "all")
    journaled(outer)
    with pytest.raises(WorkspaceRefused, match=r"lies inside the workspace .*/all, which has a journal; use that one"):
        checked(place_of(project(outer / "site")))


def test_a_journal_whose_folder_is_gone_stands_in_nobodys_way(tmp_path: Path) -> None:
    outer = project(tmp_path / "all")
    inner = project(outer / "site")
    journaled(inner)
    (inner / ".quire" / "workspace-id").unlink()
    (inner / ".quire" / ".gitignore").unlink()
    (inner / ".quire").rmdir()
    inner.rmdir()
    assert checked(place_of(outer)).root == outer


def test_a_second_daemon_on_one_folder_is_refused_whatever_its_state_folder(tmp_path: Path) -> None:
    place = journaled(project(tmp_path / "site"))
    with hold_lock(place.lock) as lock:
        assert lock is not None
        lock.announce(LockHolder(1234, "", ""))
        with pytest.raises(WorkspaceRefused) as refused:
            checked(place_of(place.root, tmp_path / "state"))
    assert str(refused.value) == (
        f"A daemon (pid 1234) with another state folder, {place.state}, serves {place.root} already; "
        f"`quire down -C {place.root}` ends it."
    )
    assert checked(place_of(place.root, tmp_path / "state"))


def test_the_state_folder_lies_outside_the_workspace(tmp_path: Path) -> None:
    root = project(tmp_path / "site")
    with pytest.raises(WorkspaceRefused, match="lies inside the workspace"):
        checked(place_of(root, root / ".state"))
    with pytest.raises(WorkspaceRefused, match="lies inside the state folder"):
        checked(place_of(root, tmp_path))


def test_a_state_folder_that_git_tracks_is_refused(tmp_path: Path) -> None:
    """A clone could bring a journal made to hurt whoever opens it."""
    clone = project(tmp_path / "clone")
    state = project(clone / "state")
    (state / "data.mdb").touch()
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    for command in (["init", "-q"], ["add", "state"]):
        subprocess.run(["git", *command], cwd=clone, check=True, env=environment)
    with pytest.raises(WorkspaceRefused, match="is tracked by git"):
        checked(place_of(project(tmp_path / "site"), state))


def test_a_state_folder_in_a_checkout_that_git_does_not_track_is_fine(tmp_path: Path) -> None:
    """People keep their home folder in git."""
    clone = project(tmp_path / "clone")
    subprocess.run(["git", "init", "-q"], cwd=clone, check=True)
    assert checked(place_of(project(tmp_path / "site"), project(clone / "state")))


def test_a_state_folder_on_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire_journal.workspaces.discover._file_system", lambda path: "nfs4")
    with pytest.raises(WorkspaceRefused, match=r"is on a network file system \(nfs4\)"):
        checked(place_of(project(tmp_path / "site")))


def test_a_fifo_in_place_of_what_is_kept_in_the_state_folder_keeps_nobody_waiting(tmp_path: Path) -> None:
    place = place_of(project(tmp_path / "project"), tmp_path)
    for name in ("workspace.json", "reserve"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(WorkspaceRefused, match=r"workspace\.json is damaged"):
        read_identity(place)
    Reserve(tmp_path / "reserve", 4096).take()
    assert not (tmp_path / "reserve").exists(), "the next start takes it"


def test_a_damaged_description_is_a_reason_and_not_a_new_workspace(tmp_path: Path) -> None:
    place = journaled(project(tmp_path / "site"))
    place.identity_file.write_text('{"id": ')
    with pytest.raises(WorkspaceRefused, match="is damaged"):
        checked(place)


def test_a_folder_that_is_closed_to_us_is_a_reason_and_no_fault(tmp_path: Path) -> None:
    place, inside = journaled(project(tmp_path / "site")), tmp_path / "closed" / "inside"
    inside.mkdir(parents=True)
    for closed in (place.state, inside.parent):
        closed.chmod(0)

    def say() -> None:
        for folder in (place.root, inside):
            try:
                find_workspace(folder)
            except WorkspaceRefused as refused:
                print(refused)

    said = rights.printed(rights.be_anybody, say)
    for closed in (place.state, inside.parent):
        closed.chmod(0o700)
    assert said == f"{place.identity_file} cannot be read: Permission denied.\n{inside} is not a folder.\n"


# -- the id ------------------------------------------------------------------------------------------------------


def test_a_new_journal_leaves_its_id_in_the_workspace_and_hides_it_from_git(tmp_path: Path) -> None:
    place = place_of(project(tmp_path / "site"))
    identity = settle(place)
    assert workspace_id(place.root) == identity.id
    assert json.loads(place.identity_file.read_text())["root"] == str(place.root)
    assert (place.root / ".quire" / ".gitignore").read_text() == "*\n"


def test_settling_again_changes_nothing(tmp_path: Path) -> None:
    place = place_of(project(tmp_path / "site"))
    assert settle(place) == settle(place) == read_identity(place)


def test_a_mount_at_the_quire_folder_is_not_written(tmp_path: Path) -> None:
    """It may show any folder."""
    place = place_of(project(tmp_path / "site"), tmp_path / "state")
    elsewhere = project(tmp_path / "elsewhere")
    (place.root / ".quire").mkdir()
    with mounted(place.root / ".quire", "--bind", elsewhere):
        with pytest.raises(WorkspaceRefused, match="something is mounted there"):
            settle(place)
        assert os.listdir(elsewhere) == []


def test_a_link_in_place_of_the_quire_folder_is_not_followed(tmp_path: Path) -> None:
    root, target = project(tmp_path / "site"), project(tmp_path / "target")
    (root / ".quire").symlink_to(target)
    with pytest.raises(WorkspaceRefused, match=r"\.quire cannot be used"):
        settle(place_of(root))
    assert not list(target.iterdir())


def test_a_path_that_is_not_utf8_comes_back_as_it_was(tmp_path: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    place = place_of(project(root))
    settle(place)
    assert find_workspace(root).root == root
    identity = read_identity(place)
    assert identity is not None
    assert os.fsencode(identity.root).endswith(b"/caf\xe9")


# -- adopting ----------------------------------------------------------------------------------------------------


def moved(tmp_path: Path) -> tuple[Place, Path]:
    """A workspace as it was, and where its folder is now."""
    before = journaled(project(tmp_path / "before"))
    (before.state / "journal").mkdir()
    return before, before.root.rename(tmp_path / "after")


def test_a_moved_workspace_finds_its_journal_again(tmp_path: Path) -> None:
    before, after = moved(tmp_path)
    adopted = adopt(after)
    assert adopted == place_of(after)
    assert adopted.journal.is_dir()
    assert not before.state.exists()
    identity = read_identity(adopted)
    assert identity is not None
    assert identity.root == str(after)
    assert find_workspace(after) == adopted


def test_a_moved_workspace_gets_no_new_journal_unasked(tmp_path: Path) -> None:
    _, after = moved(tmp_path)
    with pytest.raises(WorkspaceRefused, match=r"was moved here from .*/before; run `quire adopt .*/after`"):
        checked(place_of(after))


def test_adopting_twice_is_as_good_as_once(tmp_path: Path) -> None:
    _, after = moved(tmp_path)
    assert adopt(after) == adopt(after)


def test_an_adoption_that_was_cut_off_before_the_rename_is_finished(tmp_path: Path) -> None:
    before, after = moved(tmp_path)
    fields = json.loads(before.identity_file.read_text())
    before.identity_file.write_text(json.dumps({**fields, "root": str(after)}))
    assert adopt(after).journal.is_dir()


def test_a_copy_is_not_the_workspace(tmp_path: Path) -> None:
    place = journaled(project(tmp_path / "site"))
    copy = project(tmp_path / "copy")
    (copy / ".quire").mkdir()
    (copy / ".quire" / "workspace-id").write_text(str(workspace_id(place.root)))
    with pytest.raises(WorkspaceRefused, match=r"/site is still there and has this journal; .*/copy is a copy"):
        adopt(copy)
    assert settle(checked(place_of(copy))).id == workspace_id(copy) != workspace_id(place.root)


def test_a_journal_that_a_daemon_holds_is_not_moved(tmp_path: Path) -> None:
    before, after = moved(tmp_path)
    with hold_lock(before.lock) as lock:
        assert lock is not None
        lock.announce(LockHolder(77, "e1", "/tmp/s"))
        with pytest.raises(
            WorkspaceRefused, match=r"A daemon runs on the journal of .*/before; stop it first \(`kill 77`\)"
        ):
            adopt(after)
    assert before.identity_file.exists()


def test_a_folder_without_an_id_has_nothing_to_adopt(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceRefused, match="there is nothing to adopt"):
        adopt(project(tmp_path / "site"))


def test_an_id_that_no_journal_has_is_said(tmp_path: Path) -> None:
    place = journaled(project(tmp_path / "site"))
    place.identity_file.unlink()
    with pytest.raises(WorkspaceRefused, match=r"No journal in .* has the id"):
        adopt(place.root)


def test_an_explicit_state_folder_stays_where_it_is(tmp_path: Path) -> None:
    settle(place_of(project(tmp_path / "before"), tmp_path / "state"))
    after = (tmp_path / "before").rename(tmp_path / "after")
    assert adopt(after, tmp_path / "state") == place_of(after, tmp_path / "state")
    assert checked(place_of(after, tmp_path / "state"))


# -- the lock ----------------------------------------------------------------------------------------------------


def test_who_holds_the_lock_is_who_runs(place: Place) -> None:
    make_private_folder(place.state)
    assert running(place) is None
    lock = take_lock(place.lock)
    assert lock is not None
    assert running(place) == LockHolder(0, "", "")
    lock.announce(LockHolder(7, "e1", "/tmp/s"))
    assert running(place) == LockHolder(7, "e1", "/tmp/s")
    lock.close()
    assert running(place) is None


def test_a_lock_is_held_once_and_what_an_earlier_holder_said_is_wiped(place: Place) -> None:
    make_private_folder(place.state)
    first = take_lock(place.lock)
    assert first is not None
    first.announce(LockHolder(7, "e1", "/tmp/s"))
    assert take_lock(place.lock, patience_s=0.02) is None
    first.close()
    with hold_lock(place.lock) as second:
        assert second is not None
        assert running(place) == LockHolder(0, "", "")


def test_the_import_costs_the_standard_library_only() -> None:
    code = (
        "import sys, quire_journal.workspaces.discover; "
        "print([m for m in ('msgspec', 'zmq', 'subprocess') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# -- a checkout that is seen elsewhere ---------------------------------------------------------------------------


def test_who_sees_the_checkout_elsewhere_finds_its_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container: the mount has another path, the state folder is the same."""
    home = journaled(project(tmp_path / "site"))
    mount = project(tmp_path / "workspace" / "src").parent
    with pytest.raises(WorkspaceRefused, match="in no workspace"):
        find_workspace(mount / "src")
    monkeypatch.setenv("QUIRE_PATH_MAP", f"{mount}={home.root}")
    assert find_workspace(mount / "src") == home
    assert place_of(mount) == home
    assert find_workspace(home.root) == home  # the real path is what it was


def test_a_map_that_cannot_be_read_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIRE_PATH_MAP", "/workspace")
    with pytest.raises(WorkspaceRefused, match="QUIRE_PATH_MAP cannot be used: '/workspace' is not of the form"):
        find_workspace(tmp_path)
