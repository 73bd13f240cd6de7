"""An agent for tests: a process that starts hooks, a server and commands as agents do, when it is told to on stdin.

Each line is JSON, and so is each answer. `{"run": "shell line", "given": "stdin"}` runs a shell line,
`{"serve": [words]}` starts a server of MCP, and `{"ask": {message}}` sends it a message. As `... wrapped` it is the
child of a launcher that is the same program, as Gemini CLI and Codex are.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import IO, Any


def main() -> None:
    """Do what is asked until stdin ends."""
    if sys.argv[1:] == ["wrapped"]:
        sys.exit(subprocess.call([sys.executable, __file__]))
    server: subprocess.Popen[str] | None = None
    for line in sys.stdin:
        told = json.loads(line)
        if "run" in told:
            ran = subprocess.run(
                ["sh", "-c", told["run"]], input=told.get("given", ""), text=True, capture_output=True, check=False
            )
            answer: Any = {"status": ran.returncode, "out": ran.stdout, "err": ran.stderr}
        elif "serve" in told:
            server = subprocess.Popen(told["serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            answer = {"pid": server.pid}
        else:
            assert server is not None
            answer = _asked(server.stdin, server.stdout, told["ask"])
        print(json.dumps(answer), flush=True)


def _asked(into: IO[str] | None, out: IO[str] | None, message: dict[str, Any]) -> Any:
    assert into is not None
    assert out is not None
    into.write(json.dumps(message) + "\n")
    into.flush()
    return json.loads(out.readline()) if "id" in message else None


if __name__ == "__main__":
    main()
