"""How long `quire mcp` takes to its first answers, beside an empty process of Python, and beside a server of the SDK.

    scripts/bench mcp [--rounds N] [--json]

Each round starts all three as an agent would, one after the other, and takes the time from the start of the process to
the answer to `initialize`; then to the list of tools, for which ours asks the daemon. The daemon runs already. The
empty process answers whatever comes. The server of the SDK offers nothing: most of its time is the SDK's own import,
which ours puts behind the first answers.
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
from live import Live, ok

EMPTY = """
import sys
for line in sys.stdin:
    if '"id"' in line:
        print('{"result": {}}', flush=True)
"""

OF_THE_SDK = """
import anyio, mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[])

async def main():
    server = Server("nothing", on_list_tools=list_tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""

BUDGET_MS = 300
"""More than the empty process, for the list of tools, too."""

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def start(command: list[str]) -> tuple[float, float, float]:
    """Milliseconds from the start of `command` to its first answer and to its list of tools; and of CPU."""
    before = os.times()
    begun = time.perf_counter()
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None

    def ask(*messages: dict[str, object]) -> float:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        assert "result" in answer, answer
        return (time.perf_counter() - begun) * 1000

    first = ask(INITIALIZE)
    listed = ask(INITIALIZED, LIST)
    server.stdin.close()
    server.stdout.close()
    server.wait()
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return first, listed, cpu * 1000


def main() -> int:
    """Print what was measured; the status is 1 when the budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    at = Live(on_disk=True)
    try:
        at.write("a.txt", "one\n")
        ok(at.connect().status())
        ours = [sys.executable, "-m", "quire_client", "mcp", "-C", str(at.root), "--state-dir", str(at.state_dir)]
        empty, sdk = ([sys.executable, "-c", program] for program in (EMPTY, OF_THE_SDK))
        rounds = [(start(empty), start(sdk), start(ours)) for _ in range(options.rounds)]
    finally:
        at.close()
    names = ("first_answer_ms", "tools_ms", "cpu_ms")
    told = {
        name: {
            "empty": statistics.median(empty[i] for empty, _, _ in rounds),
            "sdk": statistics.median(sdk[i] for _, sdk, _ in rounds),
            "quire": statistics.median(quire[i] for _, _, quire in rounds),
            "more": statistics.median(quire[i] - empty[i] for empty, _, quire in rounds),
        }
        for i, name in enumerate(names)
    }
    kept = all(told[name]["more"] <= BUDGET_MS for name in names[:2])
    if options.json:
        print(json.dumps({**told, "rounds": options.rounds, "budget_ms": BUDGET_MS, "kept": kept}))
    else:
        print(f"medians of {options.rounds} rounds, ms{'':8} empty process   SDK's server   quire mcp   difference")
        for name, row in told.items():
            print(f"  {name:<28} {row['empty']:13.0f} {row['sdk']:14.0f} {row['quire']:11.0f} {row['more']:12.0f}")
        print(f"Both answers may take {BUDGET_MS} ms more than the empty process: {'kept' if kept else 'MISSED'}.")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
