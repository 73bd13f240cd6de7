"""How long a hook keeps an agent waiting, and `quire status` a person, beside a Python that does nothing.

    scripts/bench hook [--rounds N] [--json]

Each round starts every process once, in turn. A hook runs before and after each tool call: 120 ms is its budget, the
whole process, with a daemon that runs already; 150 ms that of `status`. CPU time is told too, because a machine that is
busy with something else makes every start slower.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import quire_client
from live import Live, eventually

BUDGETS_MS = {"hook before an edit": 120, "hook after an edit": 120, "hook after a read": 120, "status": 100}


def once(command: list[str], given: bytes, folder: Path) -> tuple[float, float]:
    """Milliseconds that a process takes, and its CPU time."""
    before, begun = os.times(), time.perf_counter()
    subprocess.run(command, input=given, stdout=subprocess.DEVNULL, cwd=folder, check=True)
    took, after = time.perf_counter() - begun, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return 1000 * took, 1000 * cpu


def events(at: Live) -> dict[str, bytes]:
    """What Claude Code says."""
    path = at.root / "a.py"
    common = {"session_id": "s1", "cwd": str(at.root)}
    edit = {"tool_name": "Edit", "tool_use_id": "t1", "tool_input": {"file_path": str(path), "old_string": "x"}}
    read = {"tool_name": "Read", "tool_use_id": "t2", "tool_input": {"file_path": str(path)}}
    told = {
        "hook before an edit": {"hook_event_name": "PreToolUse", **edit},
        "hook after an edit": {"hook_event_name": "PostToolUse", **edit},
        "hook after a read": {"hook_event_name": "PostToolUse", **read},
    }
    return {name: json.dumps({**common, **event}).encode() for name, event in told.items()}


def main() -> int:
    """Print the medians; status 1 when one is over its budget."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    at = Live(on_disk=True)
    at.state_dir = Path()  # the default one, where a hook looks
    (at.root / ".git").mkdir()
    at.write("a.py", "x = 1\n" * 2000)
    try:
        with quire_client.connect(at.root) as client:
            eventually("the first capture", lambda: client.status()["capture"]["finished"])
        quire = str(Path(sys.executable).with_name("quire"))
        runs = {"python, nothing": ([sys.executable, "-c", "pass"], b""), "--version": ([quire, "--version"], b"")}
        runs |= {name: ([quire, "hook", "claude-code"], event) for name, event in events(at).items()}
        runs["status"] = ([quire, "status"], b"")
        load = os.getloadavg()[0]
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for _ in range(options.rounds):
            for name, (command, given) in runs.items():
                taken[name].append(once(command, given, at.root))
    finally:
        at.close()
    rows = {
        name: {"median_ms": statistics.median(a for a, _ in times), "cpu_ms": statistics.median(b for _, b in times)}
        for name, times in taken.items()
    }
    if options.json:
        print(json.dumps({"load": load, "rounds": options.rounds, "rows": rows}))
    else:
        print(f"{options.rounds} rounds, load {load:.1f} on {os.cpu_count()} cores\n")
        for name, row in rows.items():
            budget = f"   budget {BUDGETS_MS[name]} ms" if name in BUDGETS_MS else ""
            print(f"{name:22} {row['median_ms']:6.0f} ms   CPU {row['cpu_ms']:4.0f} ms{budget}")
    return int(any(rows[name]["median_ms"] > budget for name, budget in BUDGETS_MS.items()))


if __name__ == "__main__":
    sys.exit(main())
