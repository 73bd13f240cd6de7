"""Resolution of a caller's path to one place in the workspace, or a refusal.

Links are followed only here, and only inside the workspace. Later opens (`Beneath`) fail on a link, so confinement does
not depend on this.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from quire_daemon.config import Policy, matches
from quire_daemon.workspace.confine import Beneath, refusal
from quire_daemon.workspace.types import FileBusy, FileVanished, Look, NoPath, NotRegular, Place
from quire_journal.model import RESERVED, Refusal, disguised as disguised_name, fold

_NO_DESCRIPTORS: Final = (errno.EMFILE, errno.ENFILE)
_MAX_LINKS: Final = 40  # the kernel's own limit
_MAX_PATH: Final = 4095  # bytes, PATH_MAX without its NUL
_MAX_NAME: Final = 255
_MAX_GITFILE: Final = 4096

_PROTECTED: Final = RESERVED | {".quire.toml", ".quireignore"}
"""Names that tools never touch at any depth: a folder below may be a workspace."""

_OWN_FILES: Final = (".quire", ".quire.toml", ".quireignore")


class _Route(msgspec.Struct, gc=False):
    done: list[str]
    named: str = ""  # the path with the first followed link in place
    dangling: bool = False  # a link has no target
    ends_in: str = ""  # path of the first link that is the last name
    look: Look | None = None  # of the whole path


class Places:
    def __init__(self, root: Path, beneath: Beneath, folds_case: bool) -> None:
        """`root`: absolute path, links not resolved. `folds_case`: the file system ignores case."""
        self._roots = tuple(dict.fromkeys((os.path.normpath(root), os.path.realpath(root))))
        self._beneath = beneath
        self._folds_case = folds_case
        self._own: tuple[tuple[int, int], frozenset[tuple[int, int]]] = ((0, 0), frozenset())
        self._globs: tuple[tuple[str, ...], tuple[Callable[[str], object], ...]] = ((), ())

    def place(self, given: str, writing: bool, policy: Policy, followed: bool = True) -> Place:
        """Return the place that `given` leads to, through links if `followed`. Raises Refusal (NoPath,
        outside_workspace, permission_denied).
        """
        self._check_shape(given)
        names = self._relative(given, policy)
        route = self._resolve(names, given) if followed else self._resolve_above(names, given)
        path = "/".join(route.done) or "."
        if writing and route.dangling:
            self._check_names(path, given, policy)
            if not route.ends_in:
                raise Refusal("permission_denied", f"{given} is below a link that leads to nothing.", path=given)
            path = route.ends_in  # no file is made at a link's target: the link itself is the place
            route = _Route(path.split("/"), route.named)
        for spelled in filter(None, (path, route.named)):
            self._check_names(spelled, given, policy)
        self._check_inodes(route, given)
        return Place(path, "" if route.named == path else route.named, route.look)

    def below(self, given: str, policy: Policy) -> str:
        """Return the absolute path `given` relative to the workspace; it need not exist.

        Raises Refusal (NoPath, outside_workspace).
        """
        self._check_shape(given)
        return "/".join(self._relative(given, policy)) or "."

    def _check_shape(self, given: str) -> None:
        if given and len(given) <= _MAX_NAME and given.isascii() and "\0" not in given:
            return
        problem = ""
        try:
            raw = os.fsencode(given)
        except UnicodeEncodeError:
            raw, problem = b"", "holds a lone surrogate"
        if not given:
            problem = "is empty"
        elif "\0" in given:
            problem = "holds a NUL"
        elif len(raw) > _MAX_NAME and (len(raw) > _MAX_PATH or any(len(name) > _MAX_NAME for name in raw.split(b"/"))):
            problem = "is too long for a file system"
        if problem:
            raise NoPath(problem)

    def _relative(self, given: str, policy: Policy) -> list[str]:
        if not given.startswith("/"):
            return given.split("/")
        below = self._below_root(given)
        if below is None or not policy.allow_absolute_paths:
            why = "leads out of the workspace" if below is None else "is absolute, which the settings forbid"
            raise Refusal("outside_workspace", f"{given} {why}.", path=given)
        return below

    def _below_root(self, absolute: str) -> list[str] | None:
        for root in self._roots:
            if absolute == root:
                return ["."]
            if absolute.startswith(root.rstrip("/") + "/"):
                return absolute[len(root.rstrip("/")) + 1 :].split("/")
        # another spelling of the workspace's path (a link above it, `..`)
        folder, _, name = absolute.rpartition("/")
        real = os.path.realpath(folder or "/")
        for root in self._roots:
            if real == root or real.startswith(root.rstrip("/") + "/"):
                below = real[len(root.rstrip("/")) + 1 :]
                return [*below.split("/"), name] if below else [name]
        return ["."] if os.path.realpath(absolute) in self._roots else None

    def _resolve(self, names: Sequence[str], given: str) -> _Route:
        plain = [name for name in names if name not in ("", ".")]
        if plain and ".." not in plain and not self._folds_case:
            path = "/".join(plain)
            look = self._beneath.look(path)
            if look.kind not in ("missing", "link"):
                return _Route(plain, look=look)
        return self._walk(deque(plain), given)

    def _resolve_above(self, names: Sequence[str], given: str) -> _Route:
        route = self._resolve(names[:-1], given)
        return _Route([*route.done, names[-1]])

    def _walk(self, todo: deque[str], given: str) -> _Route:
        route = _Route([])
        links = 0
        after_link: int | None = None  # names left after the last link: once fewer are left, the link was passed
        while todo:
            name = todo.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                if not route.done:
                    raise Refusal("outside_workspace", f"{given} leads out of the workspace.", path=given)
                route.done.pop()  # `done` has no links, so this is the parent folder
                continue
            path = "/".join([*route.done, name])
            kind = self._beneath.look(path).kind
            if kind == "link":
                links += 1
                if links > _MAX_LINKS:
                    raise Refusal("permission_denied", f"{given}: too many links.", path=given)
                route.named = route.named or "/".join([*route.done, name, *(n for n in todo if n not in ("", "."))])
                after_link = len(todo)
                route.ends_in = route.ends_in or ("" if any(n not in ("", ".") for n in todo) else path)
                self._enter_link(path, route, todo, given)
                continue
            if kind == "missing":
                name = self._as_on_disk("/".join(route.done), name)
                route.dangling = route.dangling or (after_link is not None and len(todo) >= after_link)
            elif self._folds_case:
                name = self._as_on_disk("/".join(route.done), name)
            route.done.append(name)
        return route

    def _enter_link(self, path: str, route: _Route, todo: deque[str], given: str) -> None:
        try:
            target = os.fsdecode(self._beneath.read_link(path))
        except (FileVanished, NotRegular):
            todo.appendleft(path.rpartition("/")[2])  # no longer a link: resolved again
            return
        names: Sequence[str] = target.split("/")
        if target.startswith("/"):
            below = self._below_root(target)
            if below is None:
                raise Refusal("outside_workspace", f"{given} is a link out of the workspace.", path=given)
            route.done.clear()
            names = below
        todo.extendleft(reversed(names))

    def _as_on_disk(self, folder: str, name: str) -> str:
        """Return the one sibling equivalent to `name`, else `name`.

        Equivalent means another Unicode form (from macOS archives), or another case if the file system ignores case.
        """
        if name.isascii() and not self._folds_case:
            return name
        form = fold if self._folds_case else _composed
        try:
            fd = self._beneath.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            if error.errno in _NO_DESCRIPTORS:
                raise refusal(error, f"{folder}/{name}") from error
            return name
        try:
            siblings = os.listdir(fd)
        finally:
            os.close(fd)
        if name in siblings:
            return name
        alike = [sibling for sibling in siblings if form(sibling) == form(name)]
        return alike[0] if len(alike) == 1 else name

    def _check_names(self, path: str, given: str, policy: Policy) -> None:
        names = path.split("/")
        disguised = [disguised_name(name) for name in names]
        if _PROTECTED.intersection(disguised):
            raise _protected(given)
        forbidden = self._compiled(policy.forbidden_globs)
        if not forbidden:
            return
        forms = {path, unicodedata.normalize("NFC", path)}
        if any(match(form) for form in forms | {fold(form) for form in forms} for match in forbidden):
            raise Refusal("permission_denied", f"{given} is forbidden by the settings (forbidden_globs).", path=given)

    def _compiled(self, globs: tuple[str, ...]) -> tuple[Callable[[str], object], ...]:
        known, compiled = self._globs
        if known != globs:
            # Case-folded patterns are added, not used instead: `[A-Z]` folded is another set. "!" patterns are dropped:
            # the workspace's settings must not widen the user's.
            sound = [glob for glob in globs if glob and not glob.startswith("!")]
            compiled = (*(matches(glob) for glob in sound), *(twin for glob in sound if (twin := _folded(glob))))
            self._globs = (globs, compiled)
        return compiled

    def _check_inodes(self, route: _Route, given: str) -> None:
        """Raise Refusal for a protected file under another name, and for files in a git folder of any name (bare
        repository, target of a `.git` file).
        """
        guarded, names = self._guarded(), route.done
        found = None if route.look is None else route.look.signature
        for count in range(len(names) + (found is None)):
            folder = "/".join(names[:count])
            seen = self._stat(folder) if count else None
            if count and seen is None:
                return
            if seen is not None and (seen.st_dev, seen.st_ino) in guarded:
                raise _protected(given)
            if (seen is None or stat.S_ISDIR(seen.st_mode)) and self._is_repository(folder):
                raise _protected(given, f" ({folder or '.'} is a repository of git's)")
        if found is not None and (found.dev, found.ino) in guarded:  # looked at a moment ago
            raise _protected(given)

    def _is_repository(self, folder: str) -> bool:
        """True if git takes the folder for a repository: it has HEAD, and objects with refs, or commondir."""
        within = f"{folder}/" if folder else ""
        if self._stat(f"{within}HEAD") is None:
            return False
        if self._stat(f"{within}commondir") is not None:
            return True
        inside = (self._stat(f"{within}{name}") for name in ("objects", "refs"))
        return all(seen is not None and not stat.S_ISREG(seen.st_mode) for seen in inside)

    def _guarded(self) -> frozenset[tuple[int, int]]:
        """Return (device, inode) of the protected files; read again when the top folder's entries have changed."""
        top = os.fstat(self._beneath.fd)
        stamp = (top.st_mtime_ns, top.st_ctime_ns)
        if self._own[0] != stamp:
            self._own = (stamp, self._find_guarded())
        return self._own[1]

    def _find_guarded(self) -> frozenset[tuple[int, int]]:
        git = self._stat(".git")
        found = [git, *map(self._stat, _OWN_FILES)]
        if git is not None and not stat.S_ISDIR(git.st_mode):
            found.append(self._git_folder(stat.S_ISLNK(git.st_mode)))
        return frozenset([(seen.st_dev, seen.st_ino) for seen in found if seen is not None])

    def _git_folder(self, is_link: bool) -> os.stat_result | None:
        target = ".git" if is_link else self._pointed_to()
        try:
            return os.stat(os.path.join(self._roots[-1], target)) if target else None
        except OSError:
            return None

    def _pointed_to(self) -> str:
        try:
            fd = self._beneath.open_file(".git")
        except (FileVanished, NotRegular, FileBusy, Refusal, OSError):
            return ""
        try:
            text = os.fsdecode(os.read(fd, _MAX_GITFILE))
        finally:
            os.close(fd)
        word, _, target = text.strip().partition(" ")
        return target if word == "gitdir:" else ""

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            return os.stat(path, dir_fd=self._beneath.fd, follow_symlinks=False)
        except OSError:
            return None


def _protected(given: str, why: str = "") -> Refusal:
    return Refusal("permission_denied", f"{given} is protected{why}; tools leave it alone.", path=given)


def _folded(glob: str) -> Callable[[str], object] | None:
    try:
        return matches(fold(glob))
    except ValueError:
        return None


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)
