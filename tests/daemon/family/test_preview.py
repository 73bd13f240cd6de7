"""The preview of a merge: the lines that another checkout changed, and the verdict of `git merge-file`."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from quire_daemon.family.preview import preview
from quire_daemon.watch.git.merge_bases import conflicts
from quire_journal.text.merge3 import merge
from quire_journal.text.text import Text


def lines(*said: object) -> bytes:
    return b"".join(f"{one}\n".encode() for one in said)


BASE = lines(*range(1, 11))


def never(base: bytes, mine: bytes, theirs: bytes) -> int:
    raise AssertionError("git need not be asked")


@pytest.mark.parametrize(
    ("mine", "theirs", "told"),
    [
        (BASE, BASE.replace(b"5\n", b"five\n"), [(5, 5)]),
        (BASE, BASE.replace(b"5\n6\n7\n", b"x\n"), [(5, 7)]),
        (b"new\n" + BASE, BASE.replace(b"5\n", b"five\n"), [(6, 6)]),
        (BASE.replace(b"2\n3\n", b""), BASE.replace(b"5\n", b"five\n"), [(3, 3)]),
        (BASE, BASE.replace(b"5\n", b"5\nadded\n"), [(6, 5)]),
        (BASE, lines(0) + BASE + lines(11), [(1, 0), (11, 10)]),
        (BASE + lines("mine"), BASE.replace(b"1\n", b"one\n", 1), [(1, 1)]),
    ],
)
def test_lines_are_those_of_the_file_here(mine: bytes, theirs: bytes, told: list[tuple[int, int]]) -> None:
    found = preview(BASE, mine, theirs, never)
    assert found is not None
    assert (list(found.lines), found.conflicts) == (told, 0)


def test_changes_of_the_same_lines_conflict_as_git_counts() -> None:
    mine = BASE.replace(b"2\n", b"two\n").replace(b"9\n", b"nine\n")
    theirs = BASE.replace(b"2\n", b"zwei\n").replace(b"9\n", b"neun\n")
    found = preview(BASE, mine, theirs, conflicts)
    assert found is not None
    assert (found.lines, found.conflicts) == (((2, 2), (9, 9)), 2)


def test_lines_within_a_change_of_ours_are_all_of_that_change() -> None:
    mine = BASE.replace(b"4\n5\n6\n", b"a\nb\nc\nd\n")
    found = preview(BASE, mine, BASE.replace(b"5\n", b"five\n"), lambda *_: 1)
    assert found is not None
    assert found.lines == ((4, 7),)


@pytest.mark.parametrize("theirs", [BASE, BASE + b"mine\n"])
def test_what_brings_nothing_new_is_not_told(theirs: bytes) -> None:
    assert preview(BASE, BASE + b"mine\n", theirs, never) is None


def edited(text: list[str], chance: random.Random) -> list[str]:
    """A text after a few changes, as people and agents make them."""
    out = list(text)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(out))
        match chance.choice(("replace", "remove", "add", "move")):
            case "replace":
                out[at : at + chance.randint(1, 3)] = [chance.choice(WORDS) for _ in range(chance.randint(1, 3))]
            case "remove":
                del out[at : at + chance.randint(1, 4)]
            case "add":
                out[at:at] = [chance.choice(WORDS) for _ in range(chance.randint(1, 4))]
            case "move":
                taken, out[at : at + 2] = out[at : at + 2], []
                to = chance.randint(0, len(out))
                out[to:to] = taken
    return out


WORDS = ["", "}", "{", "return x", *(f"call_{n}(a, b)" for n in range(12))]


def pair(seed: int) -> tuple[bytes, bytes, bytes]:
    """A base and two texts made of it; few words, so that equal lines are many."""
    chance = random.Random(seed)
    base = [chance.choice(WORDS) for _ in range(chance.randint(0, 40))]
    three = base, edited(base, chance), edited(base, chance)
    first, second, third = ("\n".join(text) + ("\n" if text and chance.random() < 0.9 else "") for text in three)
    return first.encode(), second.encode(), third.encode()


def check(seed: int, folder: Path) -> None:
    base, mine, theirs = pair(seed)
    names = []
    for name, data in (("mine", mine), ("base", base), ("theirs", theirs)):
        (folder / name).write_bytes(data)
        names.append(name)
    git = subprocess.run(["git", "merge-file", "-q", "-p", *names], cwd=folder, capture_output=True, check=False)
    found = preview(base, mine, theirs, conflicts)
    if found is None:
        assert git.returncode == 0, seed
        assert git.stdout == mine, seed
        return
    assert found.conflicts == git.returncode, seed
    merged = merge(Text.of(base), Text.of(mine), Text.of(theirs))
    if not merged.conflicts:
        assert merged.text.data == git.stdout, seed


def test_a_preview_says_what_git_merge_file_says(tmp_path: Path) -> None:
    for seed in range(40):
        check(seed, tmp_path)


@pytest.mark.wide
def test_a_preview_says_what_git_merge_file_says_of_500_pairs(tmp_path: Path) -> None:
    for seed in range(1000, 1500):
        check(seed, tmp_path)
