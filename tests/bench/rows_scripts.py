"""Rows that stand for a whole benchmark of their own: each is a script beside this one, run with `--json`.

The scripts say more than a row does; `scripts/bench NAME` with their options shows it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from table import Line, Scale, bounded, compared, skipped

HERE = Path(__file__).resolve().parent


def told_by(script: str, *words: str | int) -> dict[str, Any]:
    """What the script measured. A status that is not 0 only says that it missed its own budget."""
    command = [sys.executable, str(HERE / f"{script}.py"), *map(str, words), "--json"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not ran.stdout:
        raise RuntimeError(f"{script}.py ended with status {ran.returncode} and said nothing")
    told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return told


def files_in(events: int) -> int:
    """How many files a journal of so many events is about."""
    return min(events // 5, 20_000)


def queries(scale: Scale) -> Iterator[Line]:
    """The first page of every query of the log, and the blame of a file, in a journal of so many events."""
    for events in scale.events:
        told = told_by("log", "--events", events, "--files", files_in(events), "--rounds", 5, "--keep", scale.kept)
        asked, who = told["queries"], told["blame"]
        for when, took, used in (
            ("", "median_ms", "cpu_ms"),
            (", asked for the first time", "first_ms", "first_cpu_ms"),
        ):
            slowest, row = max(asked.items(), key=lambda one, f=took: one[1][f])
            what, curve = (
                f"slowest first page of {len(asked)} queries{when}, {events:,} events",
                "first" if when else "",
            )
            note = f"{slowest}; {row[used]:.1f} ms of it is the processor's"
            yield bounded(what, row[took], "ms", 20.0, note=note, size=events, curve=curve)
        what = f"blame of {who['lines']} lines, {who['versions']} versions, {events:,} events"
        yield bounded(what, who["median_ms"], "ms", 300.0, size=events, curve="blame")
        yield bounded(f"opening a journal of {events:,} events", told["open_ms"], "ms", 1000.0)
        yield Line(f"journal of {events:,} events, for a version", "bytes", told["journal_bytes"] / told["versions"])


def blames(scale: Scale) -> Iterator[Line]:
    """Who wrote each line of a file of 2,000 lines, with as many versions; each line equals a model's."""
    for versions in (scale.versions // 100, scale.versions // 10):
        told = told_by("blame", "--versions", versions, "--rounds", max(scale.rounds // 20, 3))
        took = told["figures"]["blame, call to reply"]["median_ms"]
        yield bounded(f"blame of 2,000 lines, {versions:,} versions", took, "ms", told["budget_ms"], size=versions)
    movers = versions // 10
    told = told_by("blame", "--versions", versions, "--movers", movers, "--rounds", max(scale.rounds // 20, 3))
    took = told["figures"]["blame, call to reply"]["median_ms"]
    what = f"blame of 2,000 lines, {versions:,} versions, of which {movers} are checkouts, undos and restores"
    yield bounded(what, took, "ms", told["budget_ms"])


def waits(scale: Scale) -> Iterator[Line]:
    """What others wait beside calls that take long: the longest turn of the loop, by the processor, and their waits."""
    size, rounds = (1.0, 5) if scale.name == "full" else (0.1, 2)
    for one in told_by("waits", "--scale", size, "--rounds", rounds)["scenes"]:
        told = ", ".join(
            f"{when}: read {at['read']['p99']:.0f} ms, edit {at['edit']['p99']:.0f} ms"
            for when, at in (("p99 of a wait", one["beside"]), ("alone", one["alone"]))
            if {"read", "edit"} <= at.keys()
        )
        what = f"longest turn beside: {one['scene']}"
        yield bounded(what, one["beside"]["turn_cpu"], "ms", 20.0, f"of the processor; {told}")


def storage(scale: Scale) -> Iterator[Line]:
    """Bytes a version of the histories of the repositories that `QUIRE_BENCH_REPO` names, else of Quire's own.

    Several are named as PATH names folders, with ":" between them. All of them are told, not the one that does best.
    """
    named = [Path(name) for name in os.environ.get("QUIRE_BENCH_REPO", "").split(os.pathsep) if name]
    few = [] if scale.name == "full" else ["--commits", 50]
    for repository in named or [HERE.parents[1]]:
        if (repository / ".git").exists():
            yield from _history(told_by("storage", "--repo", str(repository), *few))
        else:
            yield skipped("bytes a version", f"{repository} is no repository; QUIRE_BENCH_REPO names some")


def _history(told: dict[str, Any]) -> Iterator[Line]:
    """One history in the journal and in git."""
    each = told["bytes a version"]
    what = f"a version, of {told['versions']:,} of {told['repo']}"
    note = f"after a compaction {each['content, compacted']}"
    git, theirs = "git packed with --aggressive, contents alone", each["git packed, contents alone"]
    yield bounded(f"content of {what}", each["content"], "bytes", 300.0, note, reference=git, theirs=theirs)
    note = f"after a compaction {each['all, compacted']}"
    yield bounded(f"all of {what}", each["all"], "bytes", 800.0, note)
    for how, most in (("git packed with --aggressive", 2), ("git loose, on disk", 0)):
        theirs = each["git packed" if most else how]
        yield compared(f"all of {what}", [each["all"]], how, [theirs], at_most=most, unit="bytes")


def hooks(scale: Scale) -> Iterator[Line]:
    """How long a hook keeps an agent waiting: a whole process, beside an empty Python."""
    told = told_by("hook", "--rounds", max(scale.rounds // 20, 3))["rows"]
    empty = told.pop("python, nothing")
    for name, row in told.items():
        if name.startswith("hook"):
            note = f"processor time {row['cpu_ms']:.0f} ms; an empty Python takes {empty['median_ms']:.0f} ms"
            yield bounded(name, row["median_ms"], "ms", 120.0, note=note)


def mcp(scale: Scale) -> Iterator[Line]:
    """The first answer of `quire mcp`, and its tools, beside an empty process of Python."""
    told = told_by("mcp", "--rounds", max(scale.rounds // 25, 3))
    for what, row in (("first answer", told["first_answer_ms"]), ("list of tools", told["tools_ms"])):
        budget, held = f"≤ {told['budget_ms']} ms more", row["more"] <= told["budget_ms"]
        yield Line(f"quire mcp, {what}", "ms", row["quire"], (0.0, 0.0), "empty process", row["empty"], budget, held)


def collection(scale: Scale) -> Iterator[Line]:
    """Edits of four clients, without a collection and beside one."""
    told = told_by("gc", "--events", min(scale.events[-1] // 2, 50_000), "--files", 200, "--seconds", 3)
    alone, beside = told["alone"], told["beside_gc"]
    what = f"an edit beside gc of {round(told['events'], -3):,} events, p99"  # a few more are made than were asked for
    budget, held = f"≤ {told['promised_p99_ms']:g} ms", beside["p99"] <= told["promised_p99_ms"]
    note = f"p50 {beside['p50']:.1f} ms, without {alone['p50']:.1f} ms; gc took {told['gc_seconds']} s"
    yield Line(what, "ms", beside["p99"], (0.0, 0.0), "without gc", alone["p99"], budget, held, note)
