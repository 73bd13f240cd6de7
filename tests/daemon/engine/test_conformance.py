"""The conformance cases of the contract, in memory. `e2e/test_conformance_real.py` plays the same on a real daemon."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.config.settings import Settings

pytest.register_assert_rewrite("contracts.conformance")
from contracts.conformance import CASES, options, require  # noqa: E402


def test_there_are_as_many_cases_as_the_contract_has() -> None:
    assert len(CASES) == len({case["id"] for case in CASES}) == 110


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_case_of_the_contract_holds(case: dict[str, Any]) -> None:
    require(case, MemoryDaemon(settings=msgspec.convert(options(case), Settings)))
