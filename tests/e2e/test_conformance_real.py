"""The conformance cases of the contract on a real daemon. `daemon/engine/test_conformance.py` plays them in memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from live import Live

pytest.register_assert_rewrite("contracts.conformance")
from contracts.conformance import CASES, options, require  # noqa: E402

pytestmark = pytest.mark.real

ABOUT_PATHS = ("E22", "S06", "N24")
"""What paths lead to, and what is protected."""


class Real:
    """A real daemon as the cases ask it: each caller has a connection of its own."""

    def __init__(self, live: Live, session: str) -> None:
        self._live, self._session = live, session
        for path in live.root.iterdir():
            if path.name not in (".quire", ".quire.toml"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def ask(self, name: str, args: Mapping[str, Any], by: str = "ann") -> dict[str, Any]:
        with self._live.connect(by, self._session) as client:
            reply: dict[str, Any] = client.call(name, args)
            return reply

    def ask_together(self, calls: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
        with ThreadPoolExecutor(len(calls)) as pool:
            asked = {by: pool.submit(self.ask, name, args, by) for by, (name, args) in calls.items()}
            return {by: reply.result() for by, reply in asked.items()}

    def save(self, path: str, content: str) -> None:
        self._live.write(path, content.encode("utf-8", "surrogateescape"))

    def read(self, path: str) -> str | None:
        file = self._live.root / path
        return file.read_bytes().decode("utf-8", "surrogateescape") if file.is_file() else None


def failing(cases: Iterable[dict[str, Any]], daemon: Any) -> dict[str, str]:
    """Those of the cases that do not hold, and why. One daemon serves all that need no other one."""
    found, served = {}, {}
    for case in cases:
        settings = json.dumps(case["call"].get("options", {}))
        alone = (
            case["id"] if "baseline_continuity" in case["expect"].get("details", {}) else ""
        )  # a path without a past
        if (settings, alone) not in served:
            live = served[settings, alone] = daemon()
            live.write(".quire.toml", toml(options(case)))
        try:
            require(case, Real(served[settings, alone], case["id"]))
        except AssertionError as error:
            found[case["id"]] = str(error)
    return found


def toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Settings as a file."""
    return "".join(
        f"[{table}]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
        for table, values in tables.items()
    )


def test_the_cases_about_paths_hold_on_a_real_daemon(daemon: Any) -> None:
    cases = [case for case in CASES if case["id"] in ABOUT_PATHS]
    assert len(cases) == len(ABOUT_PATHS)
    assert failing(cases, daemon) == {}


@pytest.mark.wide
def test_every_case_holds_on_a_real_daemon(daemon: Any) -> None:
    assert failing(CASES, daemon) == {}
