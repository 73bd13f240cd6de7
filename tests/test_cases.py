"""A table that is one test hides nothing."""

from __future__ import annotations

import inspect

import pytest

from cases import every


def test_every_case_runs_and_each_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUIRE_CASES", raising=False)
    seen = []

    @every(("number", "word"), [(1, "one"), (2, "two"), (3, "three"), (4, "four")])
    @every("sign", "+-", ids=["plus", "minus"])
    def table(number: int, word: str, sign: str, fixture: str) -> None:
        seen.append((number, sign, fixture))
        assert word != "two"
        if (number, sign) == (3, "-"):
            pytest.fail("three is not to be negative")

    assert list(inspect.signature(table).parameters) == ["fixture"]
    with pytest.raises(ExceptionGroup) as failed:
        table(fixture="f")
    assert seen == [(n, sign, "f") for n in (1, 2, 3, 4) for sign in "+-"]
    two, three = failed.value.exceptions
    assert isinstance(two, ExceptionGroup)
    assert isinstance(three, ExceptionGroup)
    assert [error.__notes__ for error in failed.value.exceptions] == [["case: 2, 'two'"], ["case: 3, 'three'"]]
    assert [error.__notes__ for error in two.exceptions] == [["case: plus"], ["case: minus"]]
    assert [str(error) for error in three.exceptions] == ["three is not to be negative (case: minus)"]


def test_a_table_without_cases_is_no_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUIRE_CASES", raising=False)
    with pytest.raises(AssertionError, match="tests nothing"):
        every("number", [])


def test_cases_that_have_no_name_get_numbers_where_each_is_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIRE_CASES", "1")

    @every("act", [lambda: 1, lambda: 2])
    def table(act: object) -> None:
        """Nothing is run."""

    (mark,) = table.pytestmark  # type: ignore[attr-defined]
    assert mark.kwargs["ids"] == ["0", "1"]
