"""Histories in which two sides changed one file: the cases that `scripts/bench merges` plays.

Generated ones replay real changes from the history of a checkout, where it has one, and edits that are made up; the
same seed on the same checkout gives the same cases. Real ones are the merge commits of any git repository.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.merge_aligners import git
from quire_journal.text.line_diff import diff
from quire_journal.text.splice import Splice, apply
from quire_journal.text.text import Text

LEAST_LINES = 20
MOST_LINES = 1500
"""How long the files are that edits are generated for."""

MOST_BYTES = 150_000
"""What one read shows, with the hashes of its lines; longer files of a repository are left out."""

NEAR = 0.15
"""The part of the made-up edits of the second side that are made close to those of the first."""

NEAR_LINES = 6


@dataclass(frozen=True)
class Case:
    """One file that two sides changed: `first` has landed, and then what makes `second` of `base` is to go in."""

    name: str
    base: bytes
    first: bytes
    second: bytes
    source: str = "generated"  # the repository


def sayable(data: bytes) -> bool:
    """Can an agent read this text and speak of it? UTF-8, not empty, and shown by one read."""
    if not data or len(data) > MOST_BYTES or b"\0" in data:
        return False
    try:
        return "\ufffd" not in data.decode()
    except UnicodeDecodeError:
        return False


def is_case(case: Case) -> bool:
    """Did both sides change the file, differently, and the second so that an agent can ask for it?

    Its line ends, a byte order mark and whether the last line has a break are properties of the file that no edit
    states: the second side must have left them. The first side may have done anything to a text.
    """
    if len({case.base, case.first, case.second}) < 3 or not case.first or b"\0" in case.first:
        return False
    if len(case.first) > MOST_BYTES or not (sayable(case.base) and sayable(case.second)):
        return False
    return keeps_the_style(case.base, case.second)


def keeps_the_style(before: bytes, after: bytes) -> bool:
    """Has each line of `after` the one break of `before`, or none where `before` ends without one; and its BOM?"""
    was, now = Text.of(before), Text.of(after)
    styles = {*was.breaks, *now.breaks} - {b""}
    return len(styles) <= 1 and b"\r" not in styles and was.bom == now.bom and was.final_break == now.final_break


# ── merge commits ────────────────────────────────────────────────────────────


def merges_of(repository: Path, seed: int) -> Iterator[Case]:
    """Files that both sides of a merge commit changed since they parted, in an order drawn by `seed`."""
    lines = git("rev-list", "--all", "--merges", "--parents", cwd=repository).decode().splitlines()
    merges = sorted(line.split() for line in lines)
    random.Random(seed).shuffle(merges)
    seen: set[tuple[str, str, str]] = set()
    for commit, *parents in merges:
        if len(parents) != 2:
            continue
        bases = git("merge-base", "--all", *parents, cwd=repository, status=1).decode().split()
        if len(bases) != 1:
            continue
        one, other = (_changed(repository, bases[0], parent) for parent in parents)
        for path in sorted(one.keys() & other.keys()):
            blobs = (one[path][0], one[path][1], other[path][1])
            if blobs in seen:
                continue
            seen.add(blobs)
            sides = (git("cat-file", "blob", blob, cwd=repository) for blob in blobs)
            case = Case(f"{commit[:10]}:{path}", *sides, name_of(repository))
            if is_case(case):
                yield case


def name_of(repository: Path) -> str:
    """What the table calls it: its folder, or the one around that."""
    folder = repository.resolve()
    return folder.parent.name if folder.name in ("repo", ".git") else folder.name


def _changed(repository: Path, base: str, commit: str) -> dict[str, tuple[str, str]]:
    """Path → (blob before, blob after) of the files that were changed from `base` to `commit`."""
    out = git("diff-tree", "-r", "--no-renames", "--diff-filter=M", "-z", base, commit, cwd=repository)
    fields = out.decode(errors="surrogateescape").split("\0")
    found: dict[str, tuple[str, str]] = {}
    for about, path in zip(fields[::2], fields[1::2], strict=False):
        mode_before, mode_after, before, after, _ = about.lstrip(":").split()
        if mode_before.startswith("100") and mode_after.startswith("100"):
            found[path] = (before, after)
    return found


# ── generated ────────────────────────────────────────────────────────────────


def generated(root: Path, seed: int) -> Iterator[Case]:
    """Cases without end from the files below `root`: every other one from their history, where there is one."""
    draw = random.Random(seed)
    files = texts_below(root)
    history = {path: versions for path, versions in _versions(root).items() if len(versions) > 1}
    blobs = _Blobs(root)
    number = 0
    while True:
        case = None
        if history and number % 2:
            path = draw.choice(sorted(history))
            case = _replayed(draw, f"{number}: history of {path}", history[path], blobs)
        else:
            path = draw.choice(sorted(files))
            case = _made_up(draw, f"{number}: {path}", files[path])
        number += 1
        if case is not None and is_case(case):
            yield case


def texts_below(root: Path) -> dict[str, bytes]:
    """The text files below `root`, as git lists them; without git, what lies there outside hidden folders."""
    try:
        listed = git("ls-files", "-z", cwd=root).decode().split("\0")
    except (RuntimeError, OSError):
        relative = [path.relative_to(root) for path in root.rglob("*")]
        listed = [str(path) for path in relative if not any(part.startswith(".") for part in path.parts)]
    found: dict[str, bytes] = {}
    for name in listed:
        path = root / name
        if name and path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            lines = data.count(b"\n") if data.endswith(b"\n") and b"\r" not in data else 0
            if sayable(data) and LEAST_LINES <= lines <= MOST_LINES:
                found[name] = data
    return found


def _versions(root: Path) -> dict[str, list[str]]:
    """Path → the blobs that it had, oldest first, as far as the history is there."""
    try:
        out = git("log", "--raw", "--no-abbrev", "--no-renames", "--reverse", "--format=", cwd=root).decode()
    except (RuntimeError, OSError):
        return {}
    found: dict[str, list[str]] = {}
    for line in out.splitlines():
        about, _, path = line.partition("\t")
        after = about.split()[3]
        if after.strip("0"):
            found.setdefault(path, []).append(after)
    return found


class _Blobs:
    """The bytes of blobs, each asked for once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._held: dict[str, bytes] = {}

    def __getitem__(self, blob: str) -> bytes:
        if blob not in self._held:
            self._held[blob] = git("cat-file", "blob", blob, cwd=self._root)
        return self._held[blob]


def _replayed(draw: random.Random, name: str, versions: Sequence[str], blobs: _Blobs) -> Case | None:
    """From one version on, some of what became of it on one side, some of what else did on the other."""
    start = draw.randrange(len(versions) - 1)
    one = draw.randrange(start + 1, len(versions))
    other = draw.randrange(one, len(versions))
    base, left, right = (Text.of(blobs[versions[at]]) for at in (start, one, other))
    if not all(sayable(text.data) and not text.has_cr for text in (base, left, right)):
        return None
    first = _some(draw, diff(base, left))
    second = _some(draw, [s for s in diff(base, right) if s not in first])
    return Case(name, base.data, _with(base, first), _with(base, second))


def _some(draw: random.Random, splices: Sequence[Splice]) -> list[Splice]:
    """Up to six of the splices, in order; rarely all of many, as no side rewrites a whole file while the other does."""
    most = min(len(splices), 6)
    chosen = draw.sample(range(len(splices)), draw.randint(1, most)) if most else []
    return [splices[i] for i in sorted(chosen)]


def _with(base: Text, splices: Sequence[Splice]) -> bytes:
    return apply(base, splices, base.final_break).data


def _made_up(draw: random.Random, name: str, data: bytes) -> Case:
    """Edits of both sides as people and agents make them, anywhere; some close to those of the other side."""
    base = data.decode().split("\n")[:-1]
    first, places = _edited(draw, base, [])
    second, _ = _edited(draw, base, places)
    return Case(name, data, _text(first), _text(second))


def _text(lines: Sequence[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode() if lines else b""


def _edited(draw: random.Random, base: Sequence[str], others: Sequence[int]) -> tuple[list[str], list[int]]:
    """`base` after one to four edits, and where they were. From the bottom up: places stay those of the base."""
    places = []
    for _ in range(draw.randint(1, 4)):
        if others and draw.random() < NEAR:
            places.append(max(0, draw.choice(others) + draw.randint(-NEAR_LINES, NEAR_LINES)))
        else:
            places.append(draw.randrange(len(base)))
    lines = list(base)
    for place in sorted(places, reverse=True):
        draw.choice(_EDITS)(draw, lines, min(place, len(lines)))
    return lines, places


def _rename(draw: random.Random, lines: list[str], at: int) -> None:
    """One name becomes another, wherever it is in the next lines."""
    words = re.findall(r"[A-Za-z_]{4,}", "\n".join(lines[at : at + 5]))
    if words:
        word = draw.choice(words)
        for i in range(at, min(at + 40, len(lines))):
            lines[i] = re.sub(rf"\b{word}\b", f"{word}_{draw.choice('xyz')}", lines[i])


def _insert(draw: random.Random, lines: list[str], at: int) -> None:
    """New lines, some of which look like others in the file."""
    indent = re.match(r"\s*", lines[at])[0] if at < len(lines) else ""  # type: ignore[index]
    like = [draw.choice(lines) if lines else "" for _ in range(draw.randint(0, 2))]
    new = [f"{indent}added_{draw.randrange(1000)} = {draw.randrange(1000)}" for _ in range(draw.randint(1, 4))]
    lines[at:at] = draw.sample([*new, *like], len(new) + len(like)) + [""] * draw.randint(0, 1)


def _delete(draw: random.Random, lines: list[str], at: int) -> None:
    del lines[at : at + draw.randint(1, 6)]


def _duplicate(draw: random.Random, lines: list[str], at: int) -> None:
    """A block once more behind itself, with something changed in half of the cases."""
    block = lines[at : at + draw.randint(2, 8)]
    copy = list(block)
    if copy and draw.random() < 0.5:
        copy[draw.randrange(len(copy))] += "  # again"
    lines[at + len(block) : at + len(block)] = copy


def _move(draw: random.Random, lines: list[str], at: int) -> None:
    """A block goes some lines further down."""
    block = lines[at : at + draw.randint(1, 6)]
    del lines[at : at + len(block)]
    to = min(at + draw.randint(1, 30), len(lines))
    lines[to:to] = block


def _rewrite(draw: random.Random, lines: list[str], at: int) -> None:
    """Lines that follow each other change, each in its own way."""
    for i in range(at, min(at + draw.randint(1, 4), len(lines))):
        lines[i] = f"{lines[i]}  # {draw.randrange(1000)}" if draw.random() < 0.7 else lines[i].replace("e", "3")


def _one_of_many(draw: random.Random, lines: list[str], at: int) -> None:
    """A line changes that stands in other places, too."""
    count = Counter(lines)
    for i in range(at, len(lines)):
        if count[lines[i]] > 1:
            lines[i] += f" {draw.randrange(1000)}"
            return


_EDITS: Sequence[Callable[[random.Random, list[str], int], None]] = (
    _rename,
    _insert,
    _insert,
    _delete,
    _duplicate,
    _move,
    _rewrite,
    _rewrite,
    _one_of_many,
)
