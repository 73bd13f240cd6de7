"""Predicts the files that a git command discards from the working tree, by its subcommand and options. Pure.

Source: the manual pages of git. A command that git refuses because of uncommitted changes discards nothing. Options may
be abbreviated, as git allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple


class Loss(NamedTuple):
    """Files or changes that a program discards from the working tree."""

    command: str  # name for messages: `git reset --hard`
    folder: str = ""  # working folder of the command
    paths: tuple[str, ...] = ()  # files and folders, perhaps with globs; empty: everything
    changed: bool = True  # changes of files that git has
    added: bool = True  # files that only git's index has
    resets: bool = False  # git's index is reset: files that were staged before go, too
    untracked: bool = False  # files that git does not have
    ignored: bool = False  # files that git ignores
    inside: bool = True  # includes everything below the paths
    new_folders: bool = True  # includes whole untracked folders
    globs_cross: bool = False  # a `*` matches "/", as git's do


class IndexChange(NamedTuple):
    """Files that a git command adds to git's index, or takes out of it, and leaves in the working tree."""

    verb: str
    folder: str = ""  # working folder of the command
    paths: tuple[str, ...] = ()  # files and folders, perhaps with globs; empty: everything
    ignored: bool = False  # also files that git ignores


class GitWords(NamedTuple):
    """Words after a subcommand of git."""

    options: tuple[str, ...]
    operands: tuple[str, ...]
    behind: tuple[str, ...] | None = None  # operands behind `--`

    def has(self, *names: str) -> bool:
        """True if one of `names` is among the options: as a long option, perhaps abbreviated, or as a letter in a group
        of short options.
        """
        return any(_is(option, name) for option in self.options for name in names)

    @property
    def all(self) -> tuple[str, ...]:
        """All operands, before and after `--`."""
        return (*self.operands, *(self.behind or ()))


FEWEST_LETTERS: Final = 4
"""Minimum length of an abbreviated option, including its dashes."""


def _is(option: str, name: str) -> bool:
    if name.startswith("--"):
        given = option.partition("=")[0]
        return given == name or (len(given) >= FEWEST_LETTERS and given.startswith("--") and name.startswith(given))
    return re.fullmatch(rf"-[a-zA-Z]*{name[1:]}[a-zA-Z]*", option) is not None


def git_words(words: Sequence[str], valued: Sequence[str]) -> GitWords:
    """Return options and operands. `valued` has the options whose value is the next word."""
    options, operands = list[str](), list[str]()
    left = iter(words)
    for word in left:
        if word == "--":
            return GitWords(tuple(options), tuple(operands), tuple(left))
        if word.startswith("-") and word != "-":
            options.append(word)
            if word in valued:
                next(left, None)
        else:
            operands.append(word)
    return GitWords(tuple(options), tuple(operands))


# ── subcommands ──


def _reset(words: GitWords) -> Iterator[Loss]:
    for mode in ("--hard", "--merge"):
        if words.has(mode):
            yield Loss(f"git reset {mode}", resets=True)


def _checkout(words: GitWords) -> Iterator[Loss]:
    if words.has("--force", "-f"):
        yield Loss("git checkout --force", resets=True)
    elif words.has("--pathspec-from-file"):
        yield Loss("git checkout --pathspec-from-file")
    elif words.behind is not None:
        if words.behind:
            yield Loss("git checkout", paths=words.behind)
    elif not words.has("-b", "-B", "--orphan", "--track", "-t", "--detach", "-d") and words.operands not in (
        (),
        ("-",),
    ):
        yield Loss("git checkout", paths=words.operands)  # a branch is no path, and nothing below it is lost


def _switch(words: GitWords) -> Iterator[Loss]:
    if words.has("--force", "-f", "--discard-changes"):
        yield Loss("git switch --discard-changes", resets=True)


def _restore(words: GitWords) -> Iterator[Loss]:
    if words.has("--staged", "-S") and not words.has("--worktree", "-W"):
        return
    if words.all or words.has("--pathspec-from-file"):
        yield Loss("git restore", paths=words.all, resets=words.has("--staged", "-S", "--source", "-s"))


def _clean(words: GitWords) -> Iterator[Loss]:
    if words.has("--dry-run", "-n") or not words.has("--force", "-f", "--interactive", "-i"):
        return
    only, also = words.has("-X"), words.has("-x")
    folders = words.has("-d") or bool(words.all)
    yield Loss("git clean", "", words.all, False, False, False, not only, only or also, new_folders=folders)


_KEEPS_THE_TREE: Final = ("apply", "branch", "clear", "create", "drop", "list", "pop", "show", "store")


def _stash(words: GitWords) -> Iterator[Loss]:
    verb = words.operands[0] if words.operands else "push"
    if verb in _KEEPS_THE_TREE:
        return
    named = words.operands[1:] if verb == "push" else ()  # the operands of `save` are a message
    every = words.has("--all", "-a")
    untracked = every or words.has("--include-untracked", "-u")
    paths = (*named, *(words.behind or ()))
    yield Loss("git stash", paths=paths, resets=True, untracked=untracked, ignored=every)


def _read_tree(words: GitWords) -> Iterator[Loss]:
    if words.has("--reset") and words.has("-u"):
        yield Loss("git read-tree --reset -u", resets=True)


_GOES_ON: Final = ("--continue", "--edit-todo", "--quit", "--show-current-patch")


def _rebase(words: GitWords) -> Iterator[Loss]:
    if not words.has(*_GOES_ON):
        how = next((f" {option}" for option in ("--abort", "--skip", "--autostash") if words.has(option)), "")
        yield Loss(f"git rebase{how}")


def _pull(words: GitWords) -> Iterator[Loss]:
    if words.has("--rebase", "-r", "--autostash") and not words.has("--no-rebase"):
        yield Loss("git pull --rebase")


def _stopped(verb: str) -> Callable[[GitWords], Iterator[Loss]]:
    def losses(words: GitWords) -> Iterator[Loss]:
        for how in ("--abort", "--skip"):
            if words.has(how):
                yield Loss(f"git {verb} {how}", resets=True)

    return losses


def _worktree(words: GitWords) -> Iterator[Loss]:
    if words.all[:1] == ("remove",) and words.has("--force", "-f"):
        yield Loss("git worktree remove --force", paths=words.all[1:], untracked=True, ignored=True)


def _rm(words: GitWords) -> Iterator[Loss]:
    if words.has("--force", "-f") and not words.has("--cached", "--dry-run", "-n"):
        yield Loss("git rm --force", paths=words.all, resets=True)


def _mv(words: GitWords) -> Iterator[Loss]:
    if words.has("--force", "-f") and not words.has("--dry-run", "-n"):
        yield Loss("git mv --force", paths=over(words.all), untracked=True, inside=False)


def _checkout_index(words: GitWords) -> Iterator[Loss]:
    if words.has("--force", "-f") and (words.has("--all", "-a") or words.all):
        yield Loss("git checkout-index --force", paths=() if words.has("--all", "-a") else words.all)


def over(words: Sequence[str]) -> tuple[str, ...]:
    """Return the files that a move or copy with these operands may overwrite: the last operand, and in this folder the
    other operands' names.
    """
    if len(words) < 2:
        return ()
    *others, into = words
    return (into, *(f"{into.rstrip('/')}/{other.rstrip('/').rpartition('/')[2]}" for other in others))


class _Verb(NamedTuple):
    losses: Callable[[GitWords], Iterator[Loss]]
    valued: tuple[str, ...] = ()  # options whose value is the next word


VERBS: Final[dict[str, _Verb]] = {
    "am": _Verb(_stopped("am")),
    "checkout": _Verb(_checkout, ("-b", "-B", "--orphan", "--conflict", "--pathspec-from-file")),
    "checkout-index": _Verb(_checkout_index, ("--prefix", "--stage")),
    "cherry-pick": _Verb(_stopped("cherry-pick")),
    "clean": _Verb(_clean, ("-e", "--exclude")),
    "merge": _Verb(_stopped("merge"), ("-m", "-F", "-s", "-X")),
    "mv": _Verb(_mv),
    "pull": _Verb(_pull, ("-s", "-X")),
    "read-tree": _Verb(_read_tree),
    "rebase": _Verb(_rebase, ("--onto", "-x", "--exec", "-s", "-X")),
    "reset": _Verb(_reset),
    "restore": _Verb(_restore, ("-s", "--source", "--pathspec-from-file", "--conflict")),
    "revert": _Verb(_stopped("revert")),
    "rm": _Verb(_rm),
    "stash": _Verb(_stash, ("-m", "--message", "--pathspec-from-file")),
    "switch": _Verb(_switch, ("-c", "-C", "--create", "--force-create", "--orphan", "--conflict")),
    "worktree": _Verb(_worktree),
}
"""Subcommands of git that may discard files or changes from the working tree."""

_KEEPERS = """\
add annotate apply archive bisect blame branch bundle cat-file check-ignore cherry clone commit commit-tree
config count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc grep
hash-object help init log ls-files ls-remote ls-tree maintenance merge-base merge-file mktree name-rev notes
prune push range-diff reflog remote rev-list rev-parse shortlog show show-ref sparse-checkout stage status submodule
symbolic-ref tag update-index update-ref var version whatchanged write-tree
"""
KEEPERS: Final = frozenset(_KEEPERS.split())
"""Subcommands of git that discard nothing. Git ignores aliases of these names."""


def index_changes(verb: str, words: Sequence[str]) -> Iterator[IndexChange]:
    """Yield what a git command adds to git's index or takes out of it; `commit` takes out what it commits."""
    valued = {"commit": ("-m", "-F", "-C", "-c"), "restore": VERBS["restore"].valued}.get(verb, ())
    told = git_words(words, valued)
    if told.has("--dry-run") or (told.has("-n") and verb != "commit"):
        return
    if verb in ("add", "stage"):
        if told.all or told.has("--all", "-A"):
            yield IndexChange("add", "", told.all, told.has("--force", "-f"))
    elif verb == "rm" and told.has("--cached"):
        yield IndexChange("rm", "", told.all)
    elif verb == "restore" and told.has("--staged", "-S") and not told.has("--worktree", "-W"):
        yield IndexChange("reset", "", told.all)
    elif verb == "reset" and not told.has("--soft", "--hard", "--merge", "--keep"):
        yield IndexChange("reset", "", told.behind or ())
    elif verb == "commit":
        yield IndexChange("commit")


def besides(loss: Loss, changes: Sequence[IndexChange]) -> Iterator[Loss]:
    """Yield what a command discards in addition because earlier commands changed git's index: an added file goes with a
    reset of the index, a file taken out of it with a removal of untracked files. All paths are absolute.
    """
    since = [n for n, change in enumerate(changes) if change.verb == "commit"]
    for change in changes[since[-1] + 1 if since else 0 :]:
        paths = _common(loss.paths, change.paths)
        if paths is None:
            continue
        if change.verb == "add" and loss.resets:
            yield loss._replace(paths=paths, changed=False, added=False, untracked=True, ignored=change.ignored)
        elif change.verb in ("rm", "reset") and loss.untracked and not loss.changed:
            yield loss._replace(paths=paths, changed=change.verb == "rm", added=True, untracked=False, ignored=False)


def _common(some: Sequence[str], others: Sequence[str]) -> tuple[str, ...] | None:
    """Return the files and folders in both lists, where [] names everything; None if there are none."""
    if not (some and others):
        return tuple(some or others)
    found = [*_within(some, others), *_within(others, some)]
    return tuple(dict.fromkeys(found)) or None


def _within(inner: Sequence[str], outer: Sequence[str]) -> Iterator[str]:
    for path in inner:
        if any(fnmatchcase(path, one) or f"{path}/".startswith(f"{one.rstrip('/')}/") for one in outer):
            yield path


def git_losses(verb: str, words: Sequence[str]) -> Iterator[Loss]:
    known = VERBS.get(verb)
    if known is not None:
        yield from (one._replace(globs_cross=True) for one in known.losses(git_words(words, known.valued)))
