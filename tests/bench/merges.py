"""Do edits that are rebased come out as a merge would? Played on histories in which two sides changed one file.

    scripts/bench merges [--cases N] [--seed N] [--repo PATH]… [--only DIALECT]… [--show-wrong] [--json FILE]

Without --repo the histories are generated from this checkout: real changes out of its own history, where it has one,
and edits that are made up. With --repo they are the merge commits of those git repositories: files that both sides
changed. An agent reads the base with the tool. The other side lands, written by another program or by edits. Then the
agent's edits go in from the old base, in each dialect, with `on_stale: rebase`. Everything happens in memory, by the
same decisions as in the daemon; the safety check is off.

The judge is `git merge-file` of the same three files. Each side's edits come from another aligner than git's own
(`merge_aligners`), so that the tool has to find out by itself what both sides did alike, or side by side.

Of what landed, *right* is what git made of it, byte for byte. Everything else that landed is *wrong*, also where git
sees a conflict. Of a dialect that takes several calls, one refused call means refused; what had landed by then is
judged all the same, by the merge of what the accepted calls ask for. The percentages are of what git merges cleanly.

Status 1: something was wrong, or less of that was right than is expected of the dialect.
"""

from __future__ import annotations

import argparse
import difflib
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from memory_daemon import MemoryDaemon

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench.merge_aligners import ALIGNERS, Hunk, git_status, patch_of
from bench.merge_cases import Case, generated, merges_of
from bench.merge_dialects import PATH, WAYS, Call, Way, Wish
from quire_journal.text.splice import Splice, apply
from quire_journal.text.text import Text

ROOT: Final = Path(__file__).resolve().parents[2]
CASES: Final = 400
LEAST_RIGHT: Final = 95.0
"""Percent of what git merges cleanly."""

LEAST_BY_NUMBER: Final = 98.0
"""The same of the dialects that name lines by number and hash."""

BY_NUMBER: Final = ("edit", "hashline_edit")

CALLS: Final = 3
"""In how many calls the other side's edits land at most: bottom first, so that each states the lines of the base."""

LEAST_ERROR: Final = 128
"""A lower status of `git merge-file` is the number of conflicts."""

NOTHING_TO_DO: Final = "no_op"
"""The code with which `hashline_edit` refuses what others have made already: right, if git is of that opinion too."""

RIGHT, REFUSED, WRONG = "right", "refused", "wrong"


# ── the judge ────────────────────────────────────────────────────────────────


class Oracle:
    """What git says about texts, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._said: dict[tuple[bytes, bytes, bytes], bytes | None] = {}

    def merged(self, base: bytes, first: bytes, second: bytes) -> bytes | None:
        """What `git merge-file` makes of both sides; None for a conflict."""
        asked = base, first, second
        if asked not in self._said:
            self._said.clear()  # the dialects ask for one merge after each other
            self._said[asked] = self._merged(*asked)
        return self._said[asked]

    def _merged(self, base: bytes, first: bytes, second: bytes) -> bytes | None:
        for name, data in (("base", base), ("first", first), ("second", second)):
            (self.folder / name).write_bytes(data)
        merged, status = git_status("merge-file", "-p", "--quiet", "first", "base", "second", cwd=self.folder)
        if status >= LEAST_ERROR:
            raise RuntimeError(f"git merge-file: status {status}")
        return None if status else merged


def made(base: bytes, hunks: Iterable[Hunk]) -> bytes:
    """`base` after these hunks, which do not overlap, in its own line ends."""
    text = Text.of(base)
    splices = [Splice(hunk.start, hunk.stop, tuple(line.encode() for line in hunk.lines)) for hunk in hunks]
    return apply(text, sorted(splices, key=lambda s: (s.start, s.stop)), text.final_break).data


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
    aligner: str = ""  # of the agent's edits


class Player:
    """Plays cases, each as all dialects say it."""

    def __init__(self, oracle: Oracle, seed: int = 1) -> None:
        self._oracle = oracle
        self._seed = seed

    def play(self, case: Case, ways: Sequence[Way] = WAYS, aligner: str = "") -> Iterator[Outcome]:
        """The outcomes, of the dialects that can say what is to be done. `aligner`: of the agent's edits."""
        draw = random.Random(f"{self._seed}: {case.name}")
        drawn = draw.choice(sorted(ALIGNERS))
        aligner = aligner or drawn
        wish = self._wish(case, aligner)
        git_says = self._oracle.merged(case.base, case.first, case.second)
        landing = self._landing(case, draw)
        for way in ways:
            daemon = MemoryDaemon({PATH: case.base})
            read = _ok(daemon.ask("read_file", {"path": PATH, "format": way.shape}))
            assert not read["truncated"], case.name
            calls = way.say(replace(wish, rows=read.get("lines", ()), version=read["version"], sha256=read["sha256"]))
            if calls is None:
                continue
            _land(daemon, case, landing)
            accepted, refusal = _called(daemon, calls)
            landed = daemon.files[PATH]
            whole = len(accepted) == len(wish.hunks)
            asked = case.second if whole else made(case.base, accepted)
            expected = git_says if whole else case.first
            if not whole and accepted:
                expected = self._oracle.merged(case.base, case.first, asked)
            if refusal == NOTHING_TO_DO and landed == git_says:
                verdict = RIGHT
            elif landed != expected:
                verdict = WRONG
            else:
                verdict = REFUSED if refusal else RIGHT
            yield Outcome(case, way.name, git_says is not None, verdict, refusal, landed, asked, aligner)

    def _wish(self, case: Case, aligner: str) -> Wish:
        """What the agent wants, in terms of what a read shows: lines, without a byte order mark and line ends."""
        before, after = (_lines(data) for data in (case.base, case.second))
        hunks = ALIGNERS[aligner](before, after, self._oracle.folder)
        assert made(case.base, hunks) == case.second, case.name
        final_break = Text.of(case.base).final_break
        wanted = "\n".join(after) + "\n" * final_break
        return Wish(before, final_break, (), "", "", hunks, wanted, patch_of(PATH, before, final_break, hunks))

    def _landing(self, case: Case, draw: random.Random) -> list[list[Hunk]]:
        """The edits by which the other side lands: some at a time, or none, when another program writes."""
        try:
            before, after = (_lines(data) for data in (case.base, case.first))
        except UnicodeDecodeError:
            return []
        hunks = ALIGNERS[draw.choice(sorted(ALIGNERS))](before, after, self._oracle.folder)
        how = draw.choice(("outside", "one call", "many calls"))
        if how == "outside" or not hunks or made(case.base, hunks) != case.first:
            return []
        calls = min(len(hunks), CALLS if how == "many calls" else 1)
        return [hunks[n * len(hunks) // calls : (n + 1) * len(hunks) // calls] for n in reversed(range(calls))]


def _lines(data: bytes) -> list[str]:
    """The lines as a read shows them."""
    return [line.decode() for line in Text.of(data).lines]


def _land(daemon: MemoryDaemon, case: Case, landing: Sequence[Sequence[Hunk]]) -> None:
    """The other side lands: by edits of ben, or by another program."""
    for hunks in landing:
        rows = _ok(daemon.ask("read_file", {"path": PATH, "format": "hashline"}, by="ben"))["lines"]
        edits = [_hashline(rows, hunk) for hunk in hunks]
        _ok(daemon.ask("hashline_edit", {"path": PATH, "edits": edits, "safety_check": "off"}, by="ben"))
    if daemon.files[PATH] != case.first:
        assert not landing, case.name
        daemon.save(PATH, case.first)


def _hashline(rows: Sequence[str], hunk: Hunk) -> dict[str, Any]:
    references = [row.partition("|")[0] for row in rows]
    if hunk.start == hunk.stop:
        place = {"after": references[hunk.start - 1]} if hunk.start else {"before": references[0]}
        return {**place, "inserted_lines": list(hunk.lines)}
    ends = {"first": references[hunk.start], "last": references[hunk.stop - 1]}
    return {**ends, "new_content": list(hunk.lines)}


def _called(daemon: MemoryDaemon, calls: Sequence[Call]) -> tuple[list[Hunk], str]:
    """Which hunks were accepted, and the code of the refusal that ended it, if there was one."""
    accepted: list[Hunk] = []
    for call in calls:
        common = {"path": PATH, "on_stale": "rebase", "safety_check": "off"}
        reply = daemon.ask(call.tool, {**common, **call.args})
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
        return not self.wrong and self.percent >= (LEAST_BY_NUMBER if self.dialect in BY_NUMBER else LEAST_RIGHT)


def row_of(dialect: str, outcomes: Sequence[Outcome]) -> Row:
    """The row of these outcomes."""
    count = Counter(outcome.verdict for outcome in outcomes)
    clean = [outcome for outcome in outcomes if outcome.clean]
    refused = sum(outcome.verdict == REFUSED for outcome in clean)
    return Row(dialect, len(outcomes), len(clean), count[RIGHT], count[REFUSED], refused, count[WRONG])


def table(rows: Sequence[Row]) -> str:
    """The rows, as text."""
    head = f"{'dialect':28} {'cases':>6} {'git clean':>10} {'right':>6} {'refused':>8}"
    head += f" {'of clean':>9} {'wrong':>6} {'right %':>8}"
    lines = [head]
    for row in rows:
        numbers = f"{row.cases:6} {row.git_clean:10} {row.right:6} {row.refused:8} {row.refused_clean:9}"
        lines.append(f"{row.dialect:28} {numbers} {row.wrong:6} {row.percent:8.1f}{'' if row.passed else '  ✗'}")
    return "\n".join(lines)


def by_repository(outcomes: Sequence[Outcome], ways: Sequence[Way]) -> str:
    """For each repository what came out right of what git merges cleanly, in percent, and what was wrong."""
    numbered = "  ".join(f"{number}: {way.name}" for number, way in enumerate(ways, 1))
    head = f"{'repository':24} {'cases':>6} {'git clean':>10}" + "".join(f"{n:7}" for n in range(1, len(ways) + 1))
    lines = [f"right % by dialect ({numbered}); wrong in all of them", f"{head}  wrong"]
    for source in dict.fromkeys(outcome.case.source for outcome in outcomes):
        here = [outcome for outcome in outcomes if outcome.case.source == source]
        rows = [row_of(way.name, [outcome for outcome in here if outcome.way == way.name]) for way in ways]
        most = max(rows, key=lambda row: row.cases)
        percents = "".join(f"{row.percent:7.1f}" for row in rows)
        lines.append(f"{source:24} {most.cases:6} {most.git_clean:10}{percents}  {sum(row.wrong for row in rows):5}")
    return "\n".join(lines)


def shown(outcome: Outcome, expected: bytes | None) -> str:
    """What was asked by whom, and what came of it."""
    case = outcome.case
    parts = [f"── {outcome.verdict} {outcome.refusal}: {outcome.way} by {outcome.aligner}, {case.source} {case.name}"]
    for what, before, after in (
        ("the first side", case.base, case.first),
        ("the second side", case.base, outcome.asked),
        (
            "what landed, beside the merge of git" if expected is not None else "what landed, beside the first side",
            case.first if expected is None else expected,
            outcome.landed,
        ),
    ):
        old, new = (data.decode(errors="replace").split("\n") for data in (before, after))
        parts += [f"{what}:", *list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]]
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
    parser.add_argument("--show-wrong", action="store_true", help="print the cases that are wrong")
    parser.add_argument("--show-refused", action="store_true", help="print those refused that git merges cleanly")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every outcome, and the table")
    options = parser.parse_args(argv)
    ways = [way for way in WAYS if not options.only or way.name in options.only]
    cases = cases_of(options.repo, options.cases, options.seed)
    if not cases:
        parser.error("there is no merge of two sides that changed one file")
    verdicts = {WRONG} if options.show_wrong else set()
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="quire-merges-") as folder:
        oracle = Oracle(Path(folder))
        player = Player(oracle, options.seed)
        for case in cases:
            for outcome in player.play(case, ways):
                refused = options.show_refused and outcome.verdict == REFUSED and outcome.clean
                if outcome.verdict in verdicts or refused:
                    expected = oracle.merged(case.base, case.first, outcome.asked)
                    print(shown(outcome, expected) + "\n", flush=True)
                told = replace(case, base=b"", first=b"", second=b"")  # the texts of thousands need not be kept
                outcomes.append(replace(outcome, case=told, landed=b"", asked=b""))
    rows = [row_of(way.name, [outcome for outcome in outcomes if outcome.way == way.name]) for way in ways]
    source = ", ".join(dict.fromkeys(case.source for case in cases))
    print(f"{len(cases)} files that two sides changed ({source}), seed {options.seed}\n\n{table(rows)}")
    print(f"\n{by_repository(outcomes, ways)}")
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
                "repository": outcome.case.source,
                "case": outcome.case.name,
                "dialect": outcome.way,
                "aligner": outcome.aligner,
                "git_clean": outcome.clean,
                "verdict": outcome.verdict,
                "refusal": outcome.refusal,
            }
            for outcome in outcomes
        ],
    }


if __name__ == "__main__":
    raise SystemExit(main())
