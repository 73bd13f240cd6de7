"""Do edits that are rebased come out as a merge would? Played on histories in which two sides changed one file.

    scripts/bench merges [--cases N] [--seed N] [--repo PATH]… [--only DIALECT]… [--show-wrong] [--json FILE]

Without --repo the histories are generated from this checkout: real changes out of its own history, where it has one,
and edits that are made up. With --repo they are the merge commits of that git repository: files that both sides
changed. One side lands first; the other side's edits then go in from the old base, through each dialect, with
`on_stale: rebase`. Everything happens in memory, by the same decisions as in the daemon; the safety check is off.

The judge is `git merge-file`. Of what landed, *right* is what git made of it, byte for byte. *Kept* landed where git
sees a conflict, or lines up repeated lines in another way, and provably is the base with exactly the changes of both
sides: they lie side by side, or they are the same. Everything else that landed is *wrong*. Of a dialect that takes
several calls, one refused call means refused; what had landed by then is judged all the same.

Status 1: something was wrong, or less than 95 % right of what git merges cleanly.
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench.merge_cases import Case, generated, git, git_status, merges_of
from bench.merge_dialects import PATH, WAYS, Call, Hunk, Way, Wish
from playbook import Playbook
from quire_journal.diff import diff
from quire_journal.text import Text

ROOT: Final = Path(__file__).resolve().parents[2]
CASES: Final = 400
LEAST_RIGHT: Final = 95.0
"""Percent of what git merges cleanly."""

LEAST_ERROR: Final = 128
"""A lower status of `git merge-file` is the number of conflicts."""

NOTHING_TO_DO: Final = "no_op"
"""The code with which `hashline_edit` refuses what others have made already: right, if git is of that opinion too."""

RIGHT, KEPT, REFUSED, WRONG = "right", "kept", "refused", "wrong"


# ── the judge ────────────────────────────────────────────────────────────────


class Oracle:
    """What git says about texts, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def merged(self, base: bytes, first: bytes, second: bytes) -> bytes | None:
        """What `git merge-file` makes of both sides; None for a conflict."""
        self._put(base=base, first=first, second=second)
        merged, status = git_status("merge-file", "-p", "--quiet", "first", "base", "second", cwd=self._folder)
        if status >= LEAST_ERROR:
            raise RuntimeError(f"git merge-file: status {status}")
        return None if status else merged

    def hunks(self, before: bytes, after: bytes) -> list[Hunk]:
        """What differs, lined up as `git merge-file` does it."""
        new = after.decode().split("\n")
        found = []
        for line in self._diff(before, after, context=0).splitlines():
            if line.startswith("@@ "):
                (at, count), (to, many) = (_numbers(part) for part in line.split(" ")[1:3])
                start, begin = at - (count > 0), to - (many > 0)
                found.append(Hunk(start, start + count, tuple(new[begin : begin + many])))
        return found

    def patch(self, before: bytes, after: bytes) -> str:
        """The unified diff."""
        _, at, hunks = self._diff(before, after, context=3).partition("@@ ")
        return f"--- a/{PATH}\n+++ b/{PATH}\n{at}{hunks}"

    def _diff(self, before: bytes, after: bytes, context: int) -> str:
        self._put(before=before, after=after)
        options = ["--no-index", "--no-color", "--no-ext-diff", "--no-indent-heuristic", f"-U{context}"]
        return git("diff", *options, "before", "after", cwd=self._folder, status=1).decode()

    def _put(self, **files: bytes) -> None:
        for name, data in files.items():
            (self._folder / name).write_bytes(data)


def _numbers(part: str) -> tuple[int, int]:
    """`-12,3` as (12, 3); `+12` as (12, 1)."""
    at, _, count = part[1:].partition(",")
    return int(at), int(count or 1)


def made(base: bytes, hunks: Iterable[Hunk]) -> bytes:
    """`base` after these hunks, which do not overlap; those at one place in the order in which they are given."""
    lines = [line.decode() for line in base.split(b"\n")]
    for hunk in sorted(hunks, key=lambda hunk: (hunk.start, hunk.stop))[::-1]:
        lines[hunk.start : hunk.stop] = hunk.lines
    return "\n".join(lines).encode()


def together(base: bytes, theirs: Sequence[Hunk], mine: Sequence[Hunk]) -> set[bytes]:
    """What is `base` with exactly the changes of both sides; nothing when they share a line.

    Two insertions at one place may come in either order; what both sides did alike happens once.
    """
    own = [hunk for hunk in mine if hunk not in theirs]
    for one in own:
        for other in theirs:
            if one.start < other.stop and other.start < one.stop:
                return set()
    return {made(base, [*theirs, *own]), made(base, [*own, *theirs])}


def lined_up(before: bytes, after: bytes) -> list[Hunk]:
    """What differs, lined up as the journal does it."""
    splices = diff(Text.of(before), Text.of(after))
    return [Hunk(s.start, s.stop, tuple(line.decode() for line in s.lines)) for s in splices]


# ── playing ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Outcome:
    """What became of one case in one dialect."""

    case: Case
    way: str
    clean: bool  # for git
    verdict: str
    refusal: str  # the code, if there was one
    landed: bytes
    asked: bytes  # what the calls that were not refused would make of the base


class Player:
    """Plays cases, each as all dialects say it."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle

    def play(self, case: Case, ways: Sequence[Way] = WAYS) -> Iterator[Outcome]:
        """The outcomes, of the dialects that can say what is to be done."""
        git_says = self._oracle.merged(case.base, case.first, case.second)
        wish = self._wish(case)
        for way in ways:
            book = Playbook({PATH: case.base})
            read = _ok(book.call("read_file", {"path": PATH, "format": way.shape}))
            assert not read["truncated"], case.name
            calls = way.say(replace(wish, rows=read.get("lines", ()), version=read["version"], sha256=read["sha256"]))
            if calls is None:
                continue
            if case.first != case.base:
                gate = {"expectedSha256": read["sha256"], "safety_check": "off"}
                _ok(book.call("write_file", {"path": PATH, "content": case.first.decode(), **gate}, by="ben"))
            accepted, refusal = _called(book, calls)
            landed = book.files[PATH]
            if len(accepted) == len(wish.hunks):
                asked, expected = case.second, git_says
            else:
                asked = made(case.base, accepted)
                expected = self._oracle.merged(case.base, case.first, asked)
            verdict = self._verdict(case, asked, expected, accepted, landed)
            if refusal == NOTHING_TO_DO and landed == git_says:
                verdict = RIGHT
            elif refusal and verdict != WRONG:
                verdict = REFUSED
            yield Outcome(case, way.name, git_says is not None, verdict, refusal, landed, asked)

    def _wish(self, case: Case) -> Wish:
        lines = case.base.decode().removesuffix("\n").split("\n")
        hunks = self._oracle.hunks(case.base, case.second)
        patch = self._oracle.patch(case.base, case.second)
        return Wish(lines, case.base.endswith(b"\n"), (), "", "", hunks, case.second.decode(), patch)

    def _verdict(
        self, case: Case, asked: bytes, expected: bytes | None, accepted: Sequence[Hunk], landed: bytes
    ) -> str:
        if landed == expected:
            return RIGHT
        alignments = (self._oracle.hunks(case.base, case.first), lined_up(case.base, case.first))
        mine = (accepted, lined_up(case.base, asked))
        kept = any(landed in together(case.base, theirs, own) for theirs in alignments for own in mine)
        return KEPT if kept else WRONG


def _called(book: Playbook, calls: Sequence[Call]) -> tuple[list[Hunk], str]:
    """Which hunks were accepted, and the code of the refusal that ended it, if there was one."""
    accepted: list[Hunk] = []
    for call in calls:
        common = {"path": PATH, "on_stale": "rebase", "safety_check": "off"}
        reply = book.call(call.tool, {**common, **call.args})
        if not reply["ok"]:
            return accepted, str(reply["error"])
        failed = {int(told.split(":")[0].removeprefix("Edit ")) for told in reply.get("failed", ())}
        accepted += [hunk for number, hunk in enumerate(call.hunks, 1) if number not in failed]
        if failed:
            return accepted, "failed"
    return accepted, ""


def _ok(reply: dict[str, Any]) -> dict[str, Any]:
    assert reply["ok"], reply
    return reply


# ── telling ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    dialect: str
    cases: int
    git_clean: int
    right: int
    kept: int
    refused: int
    refused_clean: int  # of those that git merges cleanly
    wrong: int

    @property
    def percent(self) -> float:
        """How much of what git merges cleanly came out right."""
        return 100 * self.right / self.git_clean if self.git_clean else 100.0

    @property
    def passed(self) -> bool:
        """Is it as it should be?"""
        return not self.wrong and self.percent >= LEAST_RIGHT


def row_of(dialect: str, outcomes: Sequence[Outcome]) -> Row:
    """The row of these outcomes."""
    count = Counter(outcome.verdict for outcome in outcomes)
    clean = [outcome for outcome in outcomes if outcome.clean]
    return Row(
        dialect,
        len(outcomes),
        len(clean),
        count[RIGHT],
        count[KEPT],
        count[REFUSED],
        sum(outcome.verdict == REFUSED for outcome in clean),
        count[WRONG],
    )


def table(rows: Sequence[Row]) -> str:
    """The rows, as text."""
    head = f"{'dialect':28} {'cases':>6} {'git clean':>10} {'right':>6} {'kept':>6} {'refused':>8}"
    head += f" {'of clean':>9} {'wrong':>6} {'right %':>8}"
    lines = [head]
    for row in rows:
        numbers = f"{row.cases:6} {row.git_clean:10} {row.right:6} {row.kept:6} {row.refused:8} {row.refused_clean:9}"
        lines.append(f"{row.dialect:28} {numbers} {row.wrong:6} {row.percent:8.1f}{'' if row.passed else '  ✗'}")
    return "\n".join(lines)


def _shown(outcome: Outcome, expected: bytes | None) -> str:
    """What was asked by whom, and what came of it."""
    case = outcome.case
    parts = [f"── {outcome.verdict}: {outcome.way}, {case.name}"]
    for what, before, after in (
        ("the first side", case.base, case.first),
        ("the second side", case.base, outcome.asked),
        (
            "what landed, beside the merge of git" if expected is not None else "what landed, beside the first side",
            case.first if expected is None else expected,
            outcome.landed,
        ),
    ):
        lines = difflib.unified_diff(before.decode().split("\n"), after.decode().split("\n"), lineterm="", n=2)
        parts += [f"{what}:", *list(lines)[2:]]
    return "\n".join(parts)


# ── the command ──────────────────────────────────────────────────────────────


def cases_of(repositories: Sequence[Path], most: int, seed: int) -> list[Case]:
    """Up to `most` cases."""
    if not repositories:
        return list(islice(generated(ROOT, seed), most))
    found: list[Case] = []
    for number, repository in enumerate(repositories):
        share = (most - len(found)) // (len(repositories) - number)
        found += islice(merges_of(repository, seed), share)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="scripts/bench merges", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--cases", type=int, default=CASES, help="how many files that both sides changed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repo", type=Path, action="append", default=[], help="merge commits of this git repository")
    parser.add_argument("--only", action="append", default=[], metavar="DIALECT", choices=[way.name for way in WAYS])
    parser.add_argument("--show-wrong", action="store_true", help="print the cases that are wrong, and those kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every outcome, and the table")
    options = parser.parse_args(argv)
    ways = [way for way in WAYS if not options.only or way.name in options.only]
    cases = cases_of(options.repo, options.cases, options.seed)
    if not cases:
        parser.error("there is no merge of two sides that changed one file")
    with tempfile.TemporaryDirectory(prefix="quire-merges-") as folder:
        oracle = Oracle(Path(folder))
        player = Player(oracle)
        outcomes = [outcome for case in cases for outcome in player.play(case, ways)]
        for outcome in outcomes:
            if options.show_wrong and outcome.verdict in (WRONG, KEPT):
                case = outcome.case
                print(_shown(outcome, oracle.merged(case.base, case.first, outcome.asked)) + "\n")
    rows = [row_of(way.name, [outcome for outcome in outcomes if outcome.way == way.name]) for way in ways]
    source = ", ".join(path.name for path in options.repo) or f"generated with seed {options.seed}"
    print(f"{len(cases)} files that two sides changed ({source})\n\n{table(rows)}")
    refusals = Counter((outcome.way, outcome.refusal) for outcome in outcomes if outcome.refusal and outcome.clean)
    if refusals:
        print("\nrefused, of what git merges cleanly:")
        for (way, code), count in sorted(refusals.items()):
            print(f"  {way:28} {code:28} {count:4}")
    if options.json:
        options.json.write_text(json.dumps(_as_json(rows, outcomes), indent=1))
    return 0 if all(row.passed for row in rows) else 1


def _as_json(rows: Sequence[Row], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The table, and what became of every case."""
    return {
        "table": [{**asdict(row), "percent": round(row.percent, 2)} for row in rows],
        "outcomes": [
            {
                "case": outcome.case.name,
                "dialect": outcome.way,
                "git_clean": outcome.clean,
                "verdict": outcome.verdict,
                "refusal": outcome.refusal,
            }
            for outcome in outcomes
        ],
    }


if __name__ == "__main__":
    raise SystemExit(main())
