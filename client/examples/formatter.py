"""An agent that removes trailing blanks from files that others write, and ends each file with one line break.

    python client/examples/formatter.py PATH [--since POINT] [--rounds N]

It sends the version that it read (`base`), so a file that changed meanwhile is skipped. Its writes are one burst
(`quire undo --burst N` undoes all), and exclusive leases of others hold for it, too.
"""

from __future__ import annotations

import argparse
import sys

from quire_client import Client, connect

ME = "formatter"


def main() -> int:
    """Follow the journal, `--rounds` times or until interrupted."""
    parser = argparse.ArgumentParser(description="Tidy what others write.")
    parser.add_argument("path")
    parser.add_argument("--since", help="begin with what was written after this point; now, if not said")
    parser.add_argument("--rounds", type=int, default=0, help="so many looks at the news")
    parser.add_argument("--wait-ms", type=int, default=30_000, help="how long one of them waits for something")
    parser.add_argument("--state-dir")
    given = parser.parse_args()
    with connect(given.path, agent=ME, session="example", state_dir=given.state_dir) as client:
        cursor = given.since or client.since()["cursor"]
        looks = 0
        while not given.rounds or looks < given.rounds:
            looks += 1
            news = client.since(cursor, wait_ms=given.wait_ms)
            if not news["ok"]:
                print(f"{news['message']} [{news['error']}]", file=sys.stderr)
                return 1
            cursor = news["cursor"]
            others = [record for record in news["records"] if record["version"] and record["writer"]["agent"] != ME]
            tidy_all(client, sorted({record["path"] for record in others}))
    return 0


def tidy_all(client: Client, paths: list[str]) -> None:
    """Tidy those files that need it, as one burst."""
    needed = [(path, *found) for path in paths if (found := untidy(client, path)) is not None]
    if not needed:
        return
    burst = client.burst("begin", label="tidied", kind="formatter", outside=False)
    for path, version, text in needed:
        reply = client.write_file(path, text, base=version)
        print(f"{path}: {'tidied' if reply['ok'] else reply['error']}", flush=True)
    client.burst("end", burst=burst.get("burst"))


def untidy(client: Client, path: str) -> tuple[str, str] | None:
    """Return (version, tidy text) of a file; None if it is tidy or cannot be edited."""
    shown = client.read_file(path)
    if not shown["ok"] or shown["truncated"] or shown["newlineStyle"] not in ("lf", "none") or shown["hasBom"]:
        return None
    text: str = shown["content"]
    tidy = "\n".join(line.rstrip(" \t") for line in text.split("\n")).rstrip("\n") + "\n"
    return None if text in (tidy, "") else (shown["version"], tidy)


if __name__ == "__main__":
    sys.exit(main())
