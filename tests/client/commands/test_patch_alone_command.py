"""`quire patch`: what goes to stdout for `git apply`, and what is left out."""

from __future__ import annotations

from typing import Any

from command_line import Quire

PATCH = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-x\n+y\n"
HEAD = ("--against", "v3")


def reply(**more: Any) -> dict[str, Any]:
    file = {"path": "a.py", "status": "changed", "patch": PATCH, "others": ["ben"], **more}
    return {"ok": True, "from": "v3", "to": "seq:9", "files": [file]}


def test_a_patch_has_nothing_but_the_changes(quire: Quire) -> None:
    ran = quire("patch", "--writer", "ada", *HEAD, "a.py", diff=reply())
    assert (ran.out, ran.status) == (PATCH, 0)
    assert ran.asked[0][1] == {"alone": "apart", "writer": "ada", "paths": ["a.py"], "from": "v3"}


def test_lines_that_rest_on_those_of_others_are_named_and_the_status_is_1(quire: Quire) -> None:
    told = reply(resting=[{"start": 4, "end": 6}, {"start": 9, "end": 8}])
    ran = quire("patch", "--writer", "ada", *HEAD, diff=told)
    assert (ran.out, ran.status) == (PATCH, 1)
    assert "a.py:4-6 rest on lines that are not in the commit (ben); left out" in ran.err
    assert "a.py:9 a removal rests on lines" in ran.err
    ran = quire("patch", "--writer", "ada", *HEAD, "--with-needed", diff=told)
    assert (ran.asked[0][1]["alone"], ran.status) == ("needed", 0)
    assert "these come with it" in ran.err


def test_a_file_that_cannot_be_divided_is_left_out(quire: Quire) -> None:
    ran = quire("patch", "--turn", "t1", *HEAD, diff=reply(patch="", inseparable=True))
    assert (ran.out, ran.status) == ("", 1)
    assert "a.py: ben changed it, too, and it cannot be divided into lines; left out." in ran.err


def test_a_patch_wants_to_know_whose_changes_and_upon_what(quire: Quire) -> None:
    assert "Say whose changes: `quire patch --writer me`" in quire("patch").err
    assert "There is no commit yet" in quire("patch", "--writer", "me").err


def test_what_is_only_probable_is_named_and_the_status_is_1_without_it(quire: Quire) -> None:
    told = {**reply(), "left_out": [{"path": "b.py"}]}
    ran = quire("patch", "--writer", "me", *HEAD, diff=told)
    assert (ran.out, ran.status) == (PATCH, 1)
    assert ran.err == "b.py: changes that are only probable (~) are left out, --probable takes them, too.\n"
    ran = quire("patch", "--writer", "me", "--probable", *HEAD, diff=reply(probable=True))
    assert (ran.asked[0][1]["probable"], ran.out, ran.status) == (True, PATCH, 0)
    assert ran.err == "a.py: a part is only probable (~).\n"
