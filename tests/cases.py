"""A table of small cases as one test, which reports every case that fails by its name.

A case of a table takes a tenth of a millisecond, and pytest two or three for a test around it, once for each process
that collects it. `QUIRE_CASES=1` makes each a test of its own again, so that `-k` can pick one; `scripts/test` with a
test named sets it.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def every(
    names: str | Sequence[str], cases: Iterable[Any], ids: Sequence[str] | Callable[[Any], Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run the test for every case, as `pytest.mark.parametrize` does (same arguments), but as one test.

    All cases run, whatever fails before them. They share the fixtures, so this is for tests whose fixtures no case
    changes. Raises one `ExceptionGroup` of what they raised, each with a note that names its case.
    """
    table = list(cases)
    called = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [(case,) if len(called) == 1 else tuple(case) for case in table]
    if os.environ.get("QUIRE_CASES") == "1":
        nameless = any(getattr(value, "__name__", "") == "<lambda>" for row in rows for value in row)
        if ids is None and nameless:  # pytest would call them alike, and refuse that
            ids = [str(number) for number in range(len(rows))]
        return pytest.mark.parametrize(names, table, ids=ids)
    assert rows, "a table without a case tests nothing"
    assert all(len(row) == len(called) for row in rows), "a case has as many values as there are names"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def all_cases(**fixtures: Any) -> None:
            failed: list[Exception] = []
            for number, row in enumerate(rows):
                try:
                    test(**dict(zip(called, row, strict=True)), **fixtures)
                except Exception as error:  # noqa: BLE001  the other cases are to be seen too
                    error.add_note(f"case: {_name(ids, number, row)}")
                    failed.append(error)
                except pytest.fail.Exception as error:  # it is no Exception, and as little a reason to stop
                    failed.append(AssertionError(f"{error.msg} (case: {_name(ids, number, row)})"))
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(rows)} cases of {test.__name__}", failed)

        signature = inspect.signature(test)
        functools.update_wrapper(all_cases, test)
        left = [one for name, one in signature.parameters.items() if name not in called]
        all_cases.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return all_cases

    return decorate


def _name(ids: Sequence[str] | Callable[[Any], Any] | None, number: int, row: tuple[Any, ...]) -> str:
    if callable(ids):
        return "-".join(str(ids(value)) for value in row)
    return ids[number] if ids is not None else ", ".join(map(repr, row))[:300]
