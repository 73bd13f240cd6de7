"""Refusals: the reply of each says what happened, and what to do next."""

from __future__ import annotations

from quire_journal.model.refusals import CODES, Refusal


def test_every_code_has_its_next_step() -> None:
    assert all(code.meaning and code.next for code in CODES.values())


def test_a_refusal_that_names_no_next_step_suggests_that_of_its_code() -> None:
    reply = Refusal("permission_denied", ".git/config is protected.", path=".git/config").reply()

    assert reply == {
        "ok": False,
        "error": "permission_denied",
        "message": ".git/config is protected.",
        "path": ".git/config",
        "suggested_action": "choose_another_path",
    }


def test_a_refusal_suggests_the_next_step_that_it_names() -> None:
    assert Refusal("not_found", "There is no lease.", "claims").reply()["suggested_action"] == "claims"
