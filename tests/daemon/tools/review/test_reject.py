"""`reject`: pending places are taken back, when the turn of their writer has ended."""

from __future__ import annotations

import random
from typing import Any

import pytest

import live
from daemon.tools.review.test_review import OLD, Scene, changed
from memory_daemon import lines
from quire_journal.model import RejectionEnded, WorkRejected


def rows(scene: Scene, path: str = "f") -> list[str]:
    return scene.daemon.files[path].decode().splitlines()


def pass_time(scene: Scene) -> None:
    """What waits is carried out."""
    for _ in range(4):
        scene.daemon.after(2)
        scene.daemon.app.turn([])
    scene.daemon.recorder.commit()


def rejected(scene: Scene, **args: Any) -> dict[str, Any]:
    reply = scene.asked("reject", **args)
    pass_time(scene)
    return reply


def test_a_place_is_taken_back_and_the_others_stay() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1", at9="ann 9"))
    reply = rejected(scene, path="f", lines="2")
    assert reply["message"] == "1 place rejected in 1 file: taken back."
    assert rows(scene) == changed(OLD, at9="ann 9")
    assert scene.pending() == ["-line 9", "+ann 9"]


def test_all_that_a_writer_did_there_goes_and_what_another_did_before_comes_back() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ben 1"), by="ben")
    scene.writes(changed(OLD, at1="ann 1"))
    scene.writes(changed(OLD, at1="ann 1, again", at9="ann 9"))
    rejected(scene, lines="2", path="f", writer="ann")
    assert rows(scene) == changed(OLD, at1="ben 1", at9="ann 9")


def test_agents_lines_go_around_a_line_that_a_person_has_changed_among_them() -> None:
    scene = Scene()
    scene.writes([*OLD[:2], *(f"ann {n}" for n in range(6)), *OLD[2:]])
    now = rows(scene)
    now[6] = "ben's"
    scene.writes(now, by="ben")
    now[3] = "a person's"
    scene.daemon.outside("f", lines(*now))
    rejected(scene, path="f")
    assert rows(scene) == [*OLD[:2], "a person's", *OLD[2:]]


def test_what_was_accepted_before_stays() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1"))
    scene.asked("accept")
    scene.writes(changed(OLD, at1="ann 1, again"))
    rejected(scene)
    assert rows(scene) == changed(OLD, at1="ann 1")


def test_a_removal_is_its_removers_and_comes_back_alone() -> None:
    scene = Scene()
    scene.writes(changed([row for row in OLD if row != "line 5"], at9="ann 10"))
    scene.writes(changed([row for row in OLD if row != "line 5"], at9="ann 10", at0="ben 0"), by="ben")
    (file,) = scene.asked()["files"]
    assert [hunk["writers"][0]["agent"] for hunk in file["hunks"]] == ["ben", "ann", "ann"]
    rejected(scene, path="f", lines="6", writer="ann")
    assert rows(scene) == changed(OLD, at0="ben 0", at10="ann 10")


def test_a_removal_is_asked_about_also_if_a_person_wrote_the_file_last() -> None:
    scene = Scene()
    scene.writes([row for row in OLD if row != "line 5"])
    scene.daemon.outside("f", lines(*changed([row for row in OLD if row != "line 5"], at0="mine")))
    assert scene.pending() == ["-line 5"]
    rejected(scene)
    assert rows(scene) == changed(OLD, at0="mine")


def test_new_and_removed_files_go_and_come_back() -> None:
    scene = Scene()
    scene.daemon.write("new", lines("1", "2"), scene.daemon.ann)
    scene.daemon.delete("f", scene.daemon.ben)
    scene.daemon.write("bin", b"\0", scene.daemon.ann)
    rejected(scene)
    assert (rows(scene), "new" in scene.daemon.files, "bin" in scene.daemon.files) == (OLD, False, False)
    assert scene.asked()["files"] == []


def test_a_turn_that_is_under_way_is_waited_for() -> None:
    scene = Scene()
    scene.daemon.ask("native", {"moment": "turn", "prompt": "go"}, "ann")
    scene.writes(new := changed(OLD, at1="ann 1"))
    reply = rejected(scene)
    assert reply["message"] == "1 place rejected in 1 file: taken back, when the turn of ann/s1 has ended."
    assert rows(scene) == new
    assert [hunk["rejected"] for hunk in scene.asked()["files"][0]["hunks"]] == [True]
    scene.writes(["above", *new])  # the place moves on
    scene.daemon.ask("native", {"moment": "end"}, "ann")
    pass_time(scene)
    assert rows(scene) == ["above", *OLD]
    assert [event.why for event in scene.daemon.events(RejectionEnded) if isinstance(event, RejectionEnded)] == [""]


def test_a_turn_that_nobody_ends_is_not_waited_for_without_end() -> None:
    scene = Scene()
    scene.daemon.ask("native", {"moment": "turn", "prompt": "go"}, "ann")
    scene.writes(changed(OLD, at1="ann 1"))
    rejected(scene)
    scene.daemon.after(1000)
    pass_time(scene)
    assert rows(scene) == OLD


def test_the_queue_outlives_the_daemon() -> None:
    scene = Scene()
    scene.daemon.ask("native", {"moment": "turn", "prompt": "go"}, "ann")
    scene.writes(changed(OLD, at1="ann 1"))
    scene.asked("reject")
    scene.daemon.kill()
    pass_time(scene)
    assert rows(scene) == OLD


def test_what_has_changed_meanwhile_is_not_taken_back_and_the_queue_ends() -> None:
    scene = Scene()
    scene.daemon.ask("native", {"moment": "turn", "prompt": "go"}, "ann")
    scene.writes(changed(OLD, at1="ann 1"))
    scene.asked("reject")
    scene.writes(theirs := changed(OLD, at1="ben 1"), by="ben")
    scene.daemon.ask("native", {"moment": "end"}, "ann")
    pass_time(scene)
    assert rows(scene) == theirs
    (ended,) = scene.daemon.events(RejectionEnded)
    assert isinstance(ended, RejectionEnded)
    assert (len(ended.rejections), ended.why) == (1, "not_found")


def test_a_rejection_can_be_carried_out_at_once_and_redone() -> None:
    scene = Scene()
    scene.daemon.ask("native", {"moment": "turn", "prompt": "go"}, "ann")
    scene.writes(new := changed(OLD, at1="ann 1"))
    marks = scene.asked("reject")["rejections"]
    assert scene.daemon.ask("undo", {"rejected": marks}, "max")["ok"]
    assert rows(scene) == OLD
    assert scene.daemon.ask("redo", {}, "max")["ok"]
    assert rows(scene) == new
    pass_time(scene)
    assert rows(scene) == new, "it is carried out once"


@pytest.mark.parametrize("named", [[1], [10**6]])
def test_a_rejection_that_there_is_not_is_refused(named: list[int]) -> None:
    assert Scene().daemon.ask("undo", {"rejected": named}, "max")["error"] == "not_found"


def test_nothing_to_reject_marks_nothing() -> None:
    scene = Scene()
    assert scene.asked("reject")["message"] == "Nothing to review there."
    assert scene.daemon.events(WorkRejected) == []


def test_no_agent_accepts_its_own_work() -> None:
    scene = Scene()
    scene.writes(changed(OLD, at1="ann 1"))
    scene.writes(changed(OLD, at1="ann 1", at2="ben 2"), by="ben")
    given = {"since": f"commit:{scene.commit}"}
    assert scene.daemon.ask("accept", given, "ann")["lines"] == 1
    assert scene.pending() == ["-line 1", "-line 2", "+ann 1"]


def test_no_agent_accepts_the_work_of_its_subagents() -> None:
    scene = Scene()
    child = scene.daemon.introduce("ann", "s1.sub", parent="s1")
    scene.daemon.write("f", lines(*changed(OLD, at1="child's")), child)
    reply = scene.daemon.ask("accept", {"since": f"commit:{scene.commit}"}, "ann")
    assert reply["message"] == "Nothing to review there."
    assert scene.pending() == ["-line 1", "+child's"]


@pytest.mark.parametrize("seed", range(live.length(20, 400)))
def test_random_rejections_take_back_their_place_and_nothing_else(seed: int) -> None:
    """Each writer changes lines of its own, apart from the others' by one line at least."""
    rng, scene = random.Random(seed), Scene()
    now, owner = [*OLD], dict[int, str]()
    for step in range(rng.randint(2, 12)):
        at = rng.randrange(0, len(OLD), 2)
        by = owner.setdefault(at, rng.choice(["ann", "ben"]))
        now[at] = f"{by} {at} {step}"
        scene.writes(now, by)
        if rng.random() < 0.3:
            gone = rng.choice([*owner])
            rejected(scene, path="f", lines=f"{gone + 1}", writer=owner[gone])
            now[gone] = OLD[gone]
            del owner[gone]
        assert rows(scene) == now
