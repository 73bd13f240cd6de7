"""The seven questions of every day, asked of the journal of a real day: what the first page of each takes.

    scripts/bench day [--rounds N] [--json]

The journal is that of `tests/a_day.py`, some 10,000 records, kept in memory. Each question is asked as the command line
asks it first, of the daemon's own loop; the figure is the processor time of that, the median. Promised: under 20 ms.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

sys.path.append(str(Path(__file__).parents[1]))

from a_day import Day

PROMISED_MS: Final = 20.0


def ago(hours: float) -> str:
    return (datetime.now(UTC) - timedelta(hours=hours)).isoformat().replace("+00:00", "Z")


def questions(day: Day) -> dict[str, tuple[str, dict[str, Any]]]:
    """Question → the first call of its command."""
    return {
        "log --writer claude-code --since 1h": (
            "stories",
            {"writer": "claude-code", "since": ago(1), "limit": 15},
        ),
        "blame src/app.py:dispatch": ("blame", {"path": "src/app.py"}),
        "undo --writer claude-code --since 4h --plan": (
            "undo",
            {"writer": "claude-code", "from": f"seq:{day.lunch}", "plan": True},
        ),
        "away --since 3h": ("stories", {"since": ago(3), "limit": 200}),
        "cat src/app.py@before:ruff": ("stories", {"all": True, "limit": 200, "path": "src/app.py"}),
        "who": ("who", {"hours": 12}),
        "report x1": ("stories", {"agent_session": "x1", "all": True, "limit": 200}),
    }


def measured(day: Day, rounds: int) -> dict[str, float]:
    """Question → milliseconds of the processor."""
    found = {}
    for question, (tool, arguments) in questions(day).items():
        took = []
        for _ in range(rounds):
            began = time.process_time()
            reply = day.ask(tool, arguments)
            took.append(time.process_time() - began)
            assert reply["ok"], (question, reply)
        found[question] = round(statistics.median(took) * 1000, 1)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    day = Day()
    found = measured(day, wanted.rounds)
    if wanted.json:
        print(json.dumps({"records": day.records, "ms": found, "promised_ms": PROMISED_MS}))
        return 0
    print(f"{day.records} records; processor time of the first page, the median of {wanted.rounds}")
    for question, took in found.items():
        print(f"  {took:6.1f} ms{'  over ' + str(PROMISED_MS) if took > PROMISED_MS else ''}  quire {question}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
