"""What it costs at most to look who made a change: the loop serves nobody meanwhile."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from announcing import PATH, call, cell_of, content, edit, explained, replacing

from quire_daemon.tools.evidence.accounts import CallAccounts
from quire_daemon.tools.evidence.command_line import claims
from quire_daemon.tools.evidence.effort import LOOK, Effort, EffortSpentError
from quire_daemon.tools.evidence.explanation import no_bytes
from quire_daemon.tools.evidence.results import results

MOST_S = 2.0
"""Of processor time. Measured: 30 ms at most, and ten times as much on a machine that is busy with other things; what
is not bounded takes minutes."""

MB = 1 << 20


def lines(count: int, word: str = "line") -> str:
    return "".join(f"{word} {number} of so many more\n" for number in range(count))


def patch_of(hunks: int, head: str, one: Callable[[int], str]) -> dict[str, Any]:
    return {"kind": "patch", "text": head + "".join(map(one, range(hunks))) + "*** End Patch\n"}


ENVELOPE = f"*** Begin Patch\n*** Update File: {PATH}\n"
BIG, MANY = lines(300_000), lines(4000)
NOTEBOOK = json.dumps({"cells": [{"id": str(n), "source": "x", "outputs": ["y" * 500]} for n in range(8000)]})

COSTLY: dict[str, tuple[str, str, list[list[dict[str, Any]]]]] = {
    "8 MB of content": ("a\r\n", BIG, [[content(BIG)]]),
    "8 MB of content, other bytes": (BIG, BIG + "more\n", [[content(lines(300_000, "LINE"))]]),
    "an edit in 24 MB": (BIG * 3, (BIG * 3).replace("line 7 of", "z", 1), [[replacing(edit("line 7 of", "z"))]]),
    "4000 edits": (MANY, MANY.upper(), [[replacing(*(edit(f"line {n} of", f"LINE {n} OF") for n in range(4000)))]]),
    "one that grows without end": ("a" * 1000, "b" * MB, [[replacing(*[edit("a", "aa" * 20, True)] * 20)]]),
    "one text everywhere": ("a" * MB, "b" * MB, [[replacing(edit("a", "b" * MB, True))]]),
    "a text that is nearly everywhere": ("a " * MB, "a " * (MB - 1) + "b ", [[replacing(edit("a  a", "b"))]]),
    "900 hunks": (MANY, MANY.upper(), [[patch_of(900, ENVELOPE, lambda n: f"@@\n line {4 * n} of\n-x\n+y\n")]]),
    "20000 hunks": (MANY, MANY.upper(), [[patch_of(20_000, ENVELOPE, lambda n: f"@@\n-line {n} of\n+y\n")]]),
    "lines that are all alike": (
        "a\n" * 20_000,
        "b\n",
        [[patch_of(1, ENVELOPE, lambda n: "@@\n" + " a\n" * 900 + "-c\n+b\n")]],
    ),
    "a large notebook": (NOTEBOOK, NOTEBOOK.replace('"x"', '"z"', 1), [[cell_of("0", "z")]]),
    "a notebook of empty cells": ('{"cells":[' + "{}," * 600_000 + "{}]}", "{}", [[cell_of("7", "x")]]),
    "JSON that is deep": ("[" * 500_000, "[" * 500_001, [[cell_of("7", "x")]]),
    "a dozen calls": (MANY, MANY + "x\n", [[replacing(edit(f"line {n} of", "y"))] for n in range(12)]),
    "a dozen contents of 700 KB": (BIG[:MB], BIG, [[content(lines(30_000, str(n)))] for n in range(12)]),
    "all lines shuffled": (
        MANY,
        "".join(random.Random(1).sample(MANY.splitlines(True), 4000)) + "x",
        [[content(MANY * 2)]],
    ),
}


@pytest.mark.parametrize("name", COSTLY)
def test_a_look_at_a_file_costs_little_whatever_was_announced(name: str) -> None:
    before, after, told = COSTLY[name]
    began_s = time.process_time()
    explained(before, after, *(call(number, *payloads) for number, payloads in enumerate(told)))
    assert time.process_time() - began_s < MOST_S


def test_what_agents_do_every_day_is_within_the_bounds() -> None:
    hundred = [edit(f"line {n} of", f"LINE {n} of") for n in range(100)]
    after = MANY
    for one in hundred:
        after = after.replace(one["old"], one["new"], 1)
    assert explained(MANY, after, call(1, replacing(*hundred))).proved
    assert explained(None, BIG, call(1, content(BIG))).proved
    assert explained(NOTEBOOK, NOTEBOOK.replace('"x"', '"z"', 1), call(1, cell_of("0", "z"))).proved


def test_a_patch_that_is_too_long_is_not_read() -> None:
    told = call(1, patch_of(20_000, ENVELOPE, lambda n: f"@@\n-line {n} of\n+y\n"))
    assert told.about(PATH) == []


def test_effort_is_spent_to_its_end() -> None:
    effort = Effort()
    half = effort.half()
    assert (effort.left, half.left) == (LOOK // 2, LOOK // 2)
    half.spend(LOOK // 2)
    with pytest.raises(EffortSpentError):
        half.spend(0, lines=1)


def test_what_a_call_says_is_found_by_name_and_not_looked_through_for_each_file() -> None:
    many = call(1, *(content("x\n", f"src/{number}.py") for number in range(64)))
    assert isinstance(many, CallAccounts)
    assert [len(one) for one in many.by_name.values()] == [1] * 64
    assert many.size == 128


def test_targets_of_a_command_line_are_looked_up_by_file_name() -> None:
    """It took 1.2 ms for each file that was found changed: six seconds of a command that writes 5,000."""
    command = "sed -i s/a/b/ " + " ".join(f"src/f{number}.py" for number in range(1000))
    began_s = time.process_time()
    found = [bool(claims(command, f"src/f{number}.py")) for number in range(10_000)]
    assert time.process_time() - began_s < MOST_S
    assert found == [True] * 1000 + [False] * 9000


def test_of_a_dozen_edits_under_way_two_that_were_made_at_once_are_found_in_a_long_file() -> None:
    twelve = [call(number, replacing(edit(f"line {number} of", "z"))) for number in range(12)]
    after = MANY.replace("line 3 of", "z", 1).replace("line 9 of", "z", 1)
    found = explained(MANY, after, *twelve)
    assert found.proved
    assert {step.call.burst for step in found.steps if step.call} == {3, 9}


def test_a_replacement_at_thousands_of_places_counts_for_more_than_a_look_at_the_text() -> None:
    """Twelve of them under way kept the loop 60 ms and more for each file."""
    everywhere = call(1, replacing(edit("so", "s", True))).about(PATH)[0]
    with pytest.raises(EffortSpentError):
        list(results(everywhere, PATH, MANY.encode(), MANY.upper().encode(), no_bytes, Effort(500_000)))
