"""From a path as the caller wrote it to a place in the workspace, or a refusal."""

from __future__ import annotations

import os
import subprocess
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from quire_daemon.config.settings import Policy
from quire_daemon.workspace.resolve import fold
from quire_daemon.workspace.types import FileVanished
from quire_daemon.workspace.workspace import Workspace
from quire_journal.model.refusals import Refusal


@pytest.fixture(params=["openat2", "walk"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    """A checkout in a folder of its own, once with the kernel's confinement and once with ours."""
    root = tmp_path / "checkout"
    root.mkdir()
    probed = Workspace(root)
    if request.param == "walk":
        protection = replace(probed.protection, openat2=False)
        probed.close()
        probed = Workspace(root, protection=protection)
    yield probed
    probed.close()


def place(workspace: Workspace, given: str, writing: bool = True, **policy: object) -> tuple[str, str]:
    found = workspace.place(given, writing=writing, policy=Policy(**policy))  # type: ignore[arg-type]
    return found.path, found.resolved_from


def refused(workspace: Workspace, given: str, writing: bool = True, **policy: object) -> str:
    with pytest.raises(Refusal) as caught:
        place(workspace, given, writing, **policy)
    return caught.value.code


@pytest.mark.parametrize("given", ["a/b", "./a/b", "a//b", "a/./b", "a/b/", "a/c/../b", "x/../a/b"])
def test_a_path_has_one_spelling(workspace: Workspace, given: str) -> None:
    """Dots, doubled slashes and `..` below the root are the same place, whether it exists or not."""
    assert place(workspace, given) == ("a/b", "")
    (workspace.root / "a").mkdir()
    (workspace.root / "a/b").write_bytes(b"")
    assert place(workspace, given) == ("a/b", "")


def test_the_workspace_itself_is_a_place(workspace: Workspace) -> None:
    """Globs and listings start there."""
    assert place(workspace, ".", writing=False) == (".", "")
    assert place(workspace, str(workspace.root), writing=False) == (".", "")
    assert workspace.look(".").kind == "folder"


@pytest.mark.parametrize("given", ["..", "../x", "a/../../x", "/etc/passwd", "/", "a/../../checkout-evil/x"])
def test_what_leads_out_is_refused(workspace: Workspace, given: str) -> None:
    """Also a sibling whose name begins like the workspace's."""
    assert refused(workspace, given, writing=False) == "outside_workspace"


def test_absolute_paths_inside_are_accepted_unless_forbidden(workspace: Workspace, tmp_path: Path) -> None:
    """Under the root as it was named, and under another way to it."""
    alias = tmp_path / "alias"
    alias.symlink_to(workspace.root)
    assert place(workspace, f"{workspace.root}/a") == ("a", "")
    assert place(workspace, f"{alias}/a") == ("a", "")
    assert refused(workspace, f"{workspace.root}-evil/a") == "outside_workspace"
    assert refused(workspace, f"{workspace.root}/a", allow_absolute_paths=False) == "outside_workspace"


def test_the_journal_is_asked_by_another_way_to_the_workspace_about_the_same_paths(
    workspace: Workspace, tmp_path: Path
) -> None:
    """What stands at its top was asked for as `/a`, which leads out."""
    alias = tmp_path / "alias"
    alias.symlink_to(workspace.root)
    asked = ("", "/", "/a", "/a/b", "/*.py")
    assert [workspace.below(f"{alias}{path}", Policy()) for path in asked] == [".", ".", "a", "a/b", "*.py"]


@pytest.mark.parametrize("given", ["", "a\0b", "x" * 256, "a/" * 2048 + "a", "\ud800"])
def test_what_is_no_path_at_all_is_a_bad_argument(workspace: Workspace, given: str) -> None:
    """The refusal names the argument."""
    with pytest.raises(Refusal) as caught:
        place(workspace, given)
    assert (caught.value.code, caught.value.details["argument"]) == ("schema_invalid", "path")


def test_bytes_outside_utf8_are_names_like_others(workspace: Workspace) -> None:
    """As surrogates, which is how Python spells them."""
    name = os.fsdecode(b"\xff\xfe-rf\n")
    (workspace.root / name).write_bytes(b"odd")
    assert place(workspace, name) == (name, "")
    assert workspace.read(name, 10).data == b"odd"


def test_a_link_leads_to_its_target_inside(workspace: Workspace) -> None:
    """Relative, absolute, through folders and through other links; the caller's way is told."""
    root = workspace.root
    (root / "real").mkdir()
    (root / "real/f").write_bytes(b"")
    (root / "relative").symlink_to("real/f")
    (root / "absolute").symlink_to(root / "real/f")
    (root / "folder").symlink_to("real")
    (root / "chain").symlink_to("folder/../relative")
    assert place(workspace, "relative") == ("real/f", "relative")
    assert place(workspace, "absolute") == ("real/f", "absolute")
    assert place(workspace, "folder/f") == ("real/f", "folder/f")
    assert place(workspace, "folder/new") == ("real/new", "folder/new")
    assert place(workspace, "chain") == ("real/f", "chain")
    assert workspace.read_link("relative") == b"real/f"


def test_links_out_of_the_workspace_are_refused(workspace: Workspace, tmp_path: Path) -> None:
    """Whatever way they point."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for name, target in (("up", "../outside"), ("absolute", str(outside)), ("proc", "/proc/self/root")):
        (workspace.root / name).symlink_to(target)
        assert refused(workspace, f"{name}/f", writing=False) == "outside_workspace"
        assert refused(workspace, name, writing=False) == "outside_workspace"


def test_links_that_lead_nowhere_are_not_written_through(workspace: Workspace) -> None:
    """A reader is told that there is nothing; a writer makes no file at the end of a link, and finds the link."""
    (workspace.root / "dangling").symlink_to("nowhere/f")
    (workspace.root / "chain").symlink_to("dangling")
    (workspace.root / "folder").symlink_to("nowhere")
    (workspace.root / "real").mkdir()
    (workspace.root / "real/dangling").symlink_to("../nowhere/")
    (workspace.root / "through").symlink_to("real")
    (workspace.root / "protected").symlink_to(".git/new")
    assert place(workspace, "dangling", writing=False) == ("nowhere/f", "dangling")
    assert place(workspace, "dangling") == ("dangling", "")
    assert place(workspace, "chain/") == ("chain", "")
    assert place(workspace, "through/dangling") == ("real/dangling", "through/dangling")
    assert refused(workspace, "folder/new") == "permission_denied"
    assert refused(workspace, "protected") == "permission_denied"


def test_circles_of_links_end(workspace: Workspace) -> None:
    """As in the kernel, after forty."""
    (workspace.root / "a").symlink_to("b")
    (workspace.root / "b").symlink_to("a")
    assert refused(workspace, "a", writing=False) == "permission_denied"


PROTECTED = [
    ".git",
    ".git/config",
    ".GIT/hooks/pre-commit",
    ".Git",
    "git~1/config",
    "GIT~1",
    ".git./config",
    ".git /config",
    ".git::$INDEX_ALLOCATION/config",
    ".g\u200cit/config",
    "sub/.git/config",
    ".quire/tmp/x",
    ".QUIRE/x",
    ".quire.toml",
    ".Quire.Toml",
    ".quireignore",
    "sub/.quireignore",
    "sub/.quire/workspace-id",
    "sub/deep/.Quire/tmp/x",
    "sub/.quire.toml",
    "sub/quire~1/x",
    "sub/.git",
]


@pytest.mark.parametrize("given", PROTECTED)
@pytest.mark.parametrize("writing", [True, False])
def test_protected_names_are_refused_in_every_disguise(workspace: Workspace, given: str, writing: bool) -> None:
    """Case, Unicode, and what Windows and macOS overlook in a name."""
    assert refused(workspace, given, writing) == "permission_denied"
    assert refused(workspace, f"x/../{given}", writing) == "permission_denied"


@pytest.mark.parametrize(
    "given", [".github/x", ".gitignore", "a/.gitmodules", "a.git", "a.git/HEAD", "git", "a/quire.toml", ".quires"]
)
def test_names_that_only_look_protected_are_not(workspace: Workspace, given: str) -> None:
    """The neighbours of protected names."""
    assert place(workspace, given) == (given, "")


def test_protected_files_are_known_by_inode(workspace: Workspace) -> None:
    """A link and a hard link to them are refused under whatever name they have."""
    root = workspace.root
    (root / ".git").mkdir()
    (root / ".git/config").write_bytes(b"")
    (root / "link").symlink_to(".git")
    (root / ".quire.toml").write_bytes(b"")
    os.link(root / ".quire.toml", root / "innocent.toml")
    assert refused(workspace, "link/config", writing=False) == "permission_denied"
    assert refused(workspace, "innocent.toml") == "permission_denied"


def test_the_git_folder_of_a_linked_worktree_is_protected(workspace: Workspace) -> None:
    """`.git` is a file there, and says where the folder is; one that was made later is seen too."""
    assert place(workspace, "meta/config") == ("meta/config", "")
    (workspace.root / "meta").mkdir()
    (workspace.root / ".git").write_text("gitdir: meta\n")
    assert refused(workspace, "meta/config") == "permission_denied"


def test_the_git_folder_that_a_link_leads_to_is_protected_under_its_own_name(workspace: Workspace) -> None:
    (workspace.root / "meta/hooks").mkdir(parents=True)
    (workspace.root / ".git").symlink_to("meta")
    assert refused(workspace, "meta/hooks/pre-commit") == "permission_denied"


IN_A_REPOSITORY = ["hooks/post-update", "config", "HEAD", "objects/new", "info/attributes", "deep/er/new"]


@pytest.mark.parametrize("inside", IN_A_REPOSITORY)
@pytest.mark.parametrize("at", ["bare.git", "deep/store", "."])
@pytest.mark.parametrize("writing", [True, False])
def test_a_bare_repository_is_protected_whatever_its_name(
    workspace: Workspace, at: str, inside: str, writing: bool
) -> None:
    """A hook in one is run, and its settings name programs. So is where a nested `.git` file points to."""
    subprocess.run(["git", "init", "-q", "--bare", workspace.root / at], check=True)
    assert refused(workspace, f"{at}/{inside}", writing) == "permission_denied"
    if at != ".":
        assert place(workspace, f"{at}.txt") == (f"{at}.txt", "")
        (workspace.root / at / "HEAD").unlink()
        assert place(workspace, f"{at}/{inside}") == (f"{at}/{inside}", "")


def test_the_separate_folder_of_a_nested_repository_is_protected(workspace: Workspace) -> None:
    root = workspace.root
    subprocess.run(["git", "init", "-q", "--separate-git-dir", root / "store", root / "nested"], check=True)
    for path in ("store/hooks/post-commit", "nested/.git", "nested/.git/config"):
        assert refused(workspace, path) == "permission_denied"
    assert place(workspace, "nested/f.txt") == ("nested/f.txt", "")


def test_a_git_folder_whose_objects_are_elsewhere_is_protected(workspace: Workspace) -> None:
    """As git keeps those of linked worktrees."""
    (workspace.root / "meta").mkdir()
    (workspace.root / "meta/HEAD").write_text("ref: refs/heads/main\n")
    assert place(workspace, "meta/x") == ("meta/x", "")
    (workspace.root / "meta/commondir").write_text("../store\n")
    assert refused(workspace, "meta/x") == "permission_denied"


def test_files_that_are_called_as_those_of_a_repository_are_not_one(workspace: Workspace) -> None:
    for path in ("docs/HEAD", "docs/objects", "docs/refs"):
        (workspace.root / path).parent.mkdir(exist_ok=True)
        (workspace.root / path).write_text("a chapter\n")
    assert place(workspace, "docs/config") == ("docs/config", "")


def test_forbidden_globs_hold_for_the_link_and_for_its_target(workspace: Workspace) -> None:
    """And for other cases of the name, for reading as for writing; "!" gives no right back."""
    root = workspace.root
    (root / "secrets").mkdir()
    (root / "secrets/key").write_bytes(b"")
    (root / "plain").symlink_to("secrets/key")
    (root / "prod.env").symlink_to("readme")
    (root / "readme").write_bytes(b"")
    globs = ("**/*.env", "secrets/", "!prod.env")
    for path in ("a.env", "x/y/b.ENV", "secrets/key", "Secrets/key", "plain", "prod.env"):
        assert refused(workspace, path, writing=False, forbidden_globs=globs) == "permission_denied"
    assert place(workspace, "readme", forbidden_globs=globs) == ("readme", "")
    assert place(workspace, "readme") == ("readme", "")  # other settings are seen at once
    assert refused(workspace, "Zone", forbidden_globs=("[Z-a]one",)) == "permission_denied"  # folded, it is no set


@pytest.mark.parametrize(
    ("glob", "path"), [("*a" * 30 + "b", "a" * 250), ("**/a/" * 20 + "b", "a/" * 1000 + "c"), ("*[!b]" * 30, "b" * 250)]
)
def test_forbidden_globs_of_many_stars_are_answered_at_once(workspace: Workspace, glob: str, path: str) -> None:
    """They stand in the checkout: whoever wrote that must not be able to stop the daemon."""
    began = time.process_time()
    assert place(workspace, path, forbidden_globs=(glob,)) == (path, "")
    assert time.process_time() - began < 2


def test_a_name_in_another_unicode_form_is_the_file_that_is_there(workspace: Workspace) -> None:
    """Archives made on macOS hold decomposed names; agents write composed ones."""
    on_disk = unicodedata.normalize("NFD", "résumé.txt")
    (workspace.root / on_disk).write_bytes(b"")
    assert place(workspace, unicodedata.normalize("NFC", on_disk)) == (on_disk, "")
    assert place(workspace, "Résumé.txt") == ("Résumé.txt", "")


def test_where_case_is_ignored_the_disk_spells_the_name(tmp_path: Path) -> None:
    """A second file that differs only in case must not be planned."""
    probed = Workspace(tmp_path)
    folding = Workspace(tmp_path, protection=replace(probed.protection, folds_case=True))
    (tmp_path / "Makefile").write_bytes(b"")
    assert place(folding, "MAKEFILE") == ("Makefile", "")
    assert place(probed, "MAKEFILE") == ("MAKEFILE", "")
    probed.close()
    folding.close()


def test_a_look_follows_nothing_and_opens_nothing(workspace: Workspace) -> None:
    """Every kind of thing has its word; a FIFO without a writer does not block."""
    root = workspace.root
    (root / "folder").mkdir()
    (root / "file").write_bytes(b"x")
    (root / "link").symlink_to("file")
    (root / "way").symlink_to("folder")
    os.mkfifo(root / "fifo")
    kinds = {name: workspace.look(name).kind for name in ("folder", "file", "link", "fifo", "none", "file/x", "way/x")}
    assert kinds == {
        "folder": "folder",
        "file": "file",
        "link": "link",
        "fifo": "special",
        "none": "missing",
        "file/x": "missing",
        "way/x": "missing",
    }
    seen = workspace.look("file").signature
    assert seen is not None
    assert (seen.size, seen.ino) == (1, (root / "file").stat().st_ino)


def test_no_read_leaves_by_a_link_that_came_after_the_place(workspace: Workspace, tmp_path: Path) -> None:
    """What `place` decided is not relied upon."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/f").write_bytes(b"secret")
    (workspace.root / "d").mkdir()
    (workspace.root / "d/f").write_bytes(b"")
    path, _ = place(workspace, "d/f")
    (workspace.root / "d").rename(workspace.root / "e")
    (workspace.root / "d").symlink_to(tmp_path / "outside")
    with pytest.raises(FileVanished):
        workspace.read(path, 100)


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_repository_cannot_bring_its_own_state_folder(tmp_path: Path, kind: str) -> None:
    """`.quire` as a link would have our temporary files written elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    root = tmp_path / "checkout"
    root.mkdir()
    if kind == "link":
        (root / ".quire").symlink_to("../elsewhere")
    else:
        (root / ".quire").write_bytes(b"")
    with pytest.raises(Refusal):
        Workspace(root)
    assert not list((tmp_path / "elsewhere").iterdir())


NAMES = st.sampled_from(["..", ".", "", "a", "b", "up", "in", "loop", ".git", "etc", "passwd", "\u00e9"])


@given(parts=st.lists(NAMES, min_size=1, max_size=7), absolute=st.booleans())
def test_no_path_is_placed_outside(tmp_path_factory: pytest.TempPathFactory, parts: list[str], absolute: bool) -> None:
    """Property: a place is relative, has no dots and no links in it, and is neither `.git` nor `.quire`."""
    root = tmp_path_factory.getbasetemp() / "placed"
    if not root.exists():
        (root / "a/b").mkdir(parents=True)
        (root / "up").symlink_to("..")
        (root / "in").symlink_to("a/b")
        (root / "loop").symlink_to("loop/a")
    with_close = Workspace(root)
    try:
        path, _ = place(with_close, ("/" if absolute else "") + "/".join(parts) or ".", writing=False)
    except Refusal:
        return
    finally:
        with_close.close()
    names = path.split("/")
    assert path == "." or not {"", ".", "..", ".git", ".quire"}.intersection(map(fold, names))
    assert os.path.realpath(root / path) == os.path.join(os.path.realpath(root), "" if path == "." else path).rstrip(
        "/"
    )
