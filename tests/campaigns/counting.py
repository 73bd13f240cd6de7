"""Agents that count, so that what must be true after a crash can be said in one sentence.

Each agent owns one line, its slot, of each of some files, and counts it up by edits. A slot then holds the last number
that was acknowledged, or that of the edit whose outcome was unknown; `op_status` says which.
"""

from __future__ import annotations

import random
import re
import threading
from dataclasses import dataclass, field
from typing import Any

import live
from live import Live, ok, replacing

FILES = ("one.txt", "two.txt", "deep/er/three.txt")
FILLING = "".join(f"filling {n} {'.' * 50}\n" for n in range(60))
ELSEWHERE = {"anchor_stale", "write_conflict", "stale_base", "stale_file", "busy", "expired"}
"""Refusals that another writer, or the death of the daemon that the call was meant for, explains."""


def slot_line(name: str, count: int) -> str:
    """A slot's line; it carries a checksum of itself, so a torn one is known."""
    return f"slot {name} {count} {live.sha256(f'{name} {count}'.encode())[:12]}"


def slots(data: bytes) -> dict[str, int]:
    """The slots of a file; fails when the file is not whole."""
    text = data.decode()
    assert text.startswith("begin\n"), text[:80]
    assert text.endswith("end\n"), text[-80:]
    assert FILLING in text
    counts = {}
    for name, count in re.findall(r"^slot (\w+) (\d+) .*$", text, re.MULTILINE):
        assert f"{slot_line(name, int(count))}\n" in text
        counts[name] = int(count)
    return counts


@dataclass
class Writer:
    """One agent that counts its slot of each file up, and remembers what it was told."""

    at: Live
    name: str
    seed: int
    acknowledged: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FILES, 0))
    unknown: list[tuple[str, int, str]] = field(default_factory=list)  # path, number, operation
    versions: dict[str, tuple[str, int]] = field(default_factory=dict)  # version → path, number
    faults: list[Any] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        """Edit until told to stop, or until the daemon is lost. It starts none."""
        chance = random.Random(self.seed)
        client = self.at.connect(agent=self.name, session=self.name, timeout_s=10, start=False)
        try:
            while not stop.is_set():
                if not self.edit(client, chance.choice(FILES), by_anchor=chance.random() < 0.7):
                    return
        except Exception as fault:  # noqa: BLE001  reported by the test, which is in another thread
            if not stop.is_set():
                self.faults.append(fault)
        finally:
            client.close()

    def edit(self, client: Any, path: str, by_anchor: bool) -> bool:
        """Count one slot up; False when the daemon was lost."""
        shown = client.call("read_file", {"path": path, "hashes": True})
        if not shown.get("ok"):
            return shown.get("outcome") != "unknown"
        wanted = self.acknowledged[path] + 1
        if by_anchor:
            reply = client.call("edit", replacing(shown, f"slot {self.name} ", slot_line(self.name, wanted)))
        else:
            plain = client.call("read_file", {"path": path})
            if not plain.get("ok"):
                return plain.get("outcome") != "unknown"
            content = re.sub(rf"(?m)^slot {self.name} .*$", slot_line(self.name, wanted), plain["content"])
            reply = client.call("write_file", {"path": path, "content": content, "base": plain["version"]})
        if reply.get("ok"):
            self.acknowledged[path] = wanted
            self.versions[reply["version"]] = (path, wanted)
        elif reply.get("outcome") == "unknown":
            self.unknown.append((path, wanted, reply["op"]))
            return False
        elif reply.get("error") not in ELSEWHERE:
            self.faults.append(reply)
        return True

    def settle(self, client: Any) -> None:
        """Compare what was acknowledged with the disk, and what `op_status` says of the rest."""
        for path, wanted, op in self.unknown:
            said = ok(client.call("op_status", {"op": op}))["outcome"]
            on_disk = slots(self.at.read(path))[self.name]
            assert said in ("applied", "not_applied", "superseded"), said
            assert (on_disk == wanted) == (said != "not_applied"), (path, wanted, on_disk, said)
            if said != "not_applied":
                self.acknowledged[path] = wanted
        self.unknown.clear()
        for path in FILES:
            assert slots(self.at.read(path))[self.name] == self.acknowledged[path], path

    def check_history(self, client: Any) -> None:
        """Every acknowledged version is in the journal with what was written."""
        for version, (path, count) in self.versions.items():
            text = ok(client.call("read_file", {"path": path, "at": version}))["content"]
            assert slot_line(self.name, count) in text, (path, version)


def scratch(at: Live) -> None:
    """The files, as another program left them."""
    for path in FILES:
        at.write(path, f"begin\n{slot_line('ada', 0)}\n{FILLING}{slot_line('bob', 0)}\nend\n")
