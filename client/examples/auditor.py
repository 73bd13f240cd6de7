"""An agent that only reads: it lists who changed what, and checks the journal.

    python client/examples/auditor.py PATH [--since POINT] [--strict]

It prints a line of JSON for each change, and totals at the end. With `--strict` the exit status is 1 for outside
changes, incomplete coverage or a damaged journal: for a hook or a pipeline.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from quire_client import Client, connect


def main() -> int:
    """Print all changes, and return the exit status."""
    parser = argparse.ArgumentParser(description="Tell who changed what.")
    parser.add_argument("path")
    parser.add_argument("--since", help="only what came after this point")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--state-dir")
    given = parser.parse_args()
    with connect(given.path, agent="auditor", session="example", state_dir=given.state_dir) as client:
        client.since()  # answers when all changes on disk have been noticed
        changes: Counter[str] = Counter()
        for record in records(client, given.since):
            who = record["writer"]["agent"] or record["writer"]["type"]
            changes[who] += 1
            told = {name: record[name] for name in ("at", "kind", "path", "version", "base")}
            print(json.dumps({"by": who, **told, "found_by": record["evidence"], "hint": record.get("hint")}))
        coverage = client.status()["coverage"]
        sound = client.verify()
    complete, trusted = coverage["state"] == "full", bool(sound["ok"])
    print(
        json.dumps({"changes": dict(changes), "complete": complete, "why_not": coverage["reasons"], "sound": trusted})
    )
    suspicious = changes["outside"] > 0 or not complete or not trusted
    return 1 if given.strict and suspicious else 0


def records(client: Client, since: str | None) -> Iterator[dict[str, Any]]:
    """Yield every change of a file, oldest first, page by page. An empty page may be followed by another page."""
    cursor: str | None = None
    while True:
        page = client.log(since=since, order="oldest", cursor=cursor, limit=500)
        if not page["ok"]:
            raise SystemExit(f"{page['message']} [{page['error']}]")
        yield from (record for record in page["records"] if record["version"] and not record.get("abandoned"))
        cursor = page["next"]
        if cursor is None:
            return


if __name__ == "__main__":
    sys.exit(main())
