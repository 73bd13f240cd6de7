"""What a real history takes up in the journal, beside what it takes up in git.

    scripts/bench storage --repo PATH [--repo PATH ...] [--commits N] [--in FOLDER] [--json]

Every commit along first parents is told to a journal, each file that it changed as a version, through the journal's
own library: records, blobs and views are those that edits make. Then: bytes a version, by table. Beside it stands the
same linear history in git, loose as it comes to be, and packed (`git gc --aggressive`).

Content is the tables of blobs and their pieces, with what finds them (addresses) and what a new file is likely to be
like (kin). A page that is used but not full counts whole; the file also has pages that are free, to be used again. What
content consists of is told apart: of most files that are no text, and of many first versions, no store makes a delta.
Histories differ in these more than in anything else, so more than one can be named; `--json` prints a line for each.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import lmdb

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from git_history import Teller, commits, git
from quire_journal.journal import Journal
from quire_journal.storage.blobs.blobs import stored_at
from quire_journal.storage.blobs.codec import MADE_OF_BASE
from quire_journal.storage.lmdb import LmdbStore

CONTENT = ("blobs", "pieces", "addresses", "kin")
TARGETS = {"content": 300, "all": 800}


def told(repo: Path, folder: Path, most: int) -> tuple[int, int, float]:
    """(commits, versions, seconds) of the history told to a journal in `folder`. Nothing is synced meanwhile."""
    journal = Journal.open(LmdbStore.open(folder, synced=False), time.time_ns())
    teller, count, took = Teller(journal), 0, 0.0
    for commit in commits(repo, most):
        begun = time.perf_counter()
        teller.tell(commit)
        took += time.perf_counter() - begun
        count += 1
    journal.close()
    return count, teller.versions, took


def by_table(folder: Path) -> dict[str, dict[str, int]]:
    """Of each table of a closed journal: entries, bytes of keys and values, and bytes of its pages."""
    found: dict[str, dict[str, int]] = {}
    with lmdb.open(str(folder / "db"), max_dbs=64, readonly=True, lock=False, map_size=1 << 40) as env:
        page = env.stat()["psize"]
        with env.begin() as txn:
            for name in [bytes(key) for key, _ in txn.cursor()]:
                table = env.open_db(name, txn=txn, create=False)
                stat = txn.stat(table)
                pages = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
                held = sum(len(key) + len(value) for key, value in txn.cursor(table))
                found[name.decode()] = {"entries": stat["entries"], "held": held, "pages": pages * page}
    return found


def content_by_kind(folder: Path) -> dict[str, dict[str, int]]:
    """Frames of blobs that need no other one, and of those made from an earlier version: how many, bytes of frames."""
    found = {"whole": {"entries": 0, "held": 0}, "made from an earlier one": {"entries": 0, "held": 0}}
    store = LmdbStore.open(folder)
    with store.reading() as r:
        for key, value in r.scan("blobs"):
            stored = stored_at(r, int.from_bytes(key, "big"))
            made = stored.kind in MADE_OF_BASE
            row = found["made from an earlier one" if made else "whole"]
            row["entries"] += 1
            row["held"] += max(len(value), len(stored.frame))
    store.close()
    return found


def compacted(folder: Path) -> None:
    """Compact a closed journal, as `quire gc --compact` does."""
    store = LmdbStore.open(folder, synced=False)
    compaction = store.compacting()
    compaction.copy()
    compaction.finish()
    compaction.release()
    store.close()


def pages_of(tables: dict[str, dict[str, int]]) -> tuple[int, int]:
    """Bytes of the pages of content, and of all tables."""
    return sum(tables[table]["pages"] for table in CONTENT), sum(table["pages"] for table in tables.values())


def in_git(repo: Path, most: int) -> dict[str, int]:
    """Bytes of the same linear history in git: each object loose, and all packed."""
    stream = bytearray()
    before = 0
    for number, commit in enumerate(commits(repo, most, renames=False), 1):
        message = commit.name.encode()
        stream += b"commit refs/heads/main\nmark :%d\ncommitter t <t> %d +0000\n" % (number, commit.at_s)
        stream += b"data %d\n%s\n" % (len(message), message)
        stream += b"from :%d\n" % before if before else b""
        for change in commit.changes:
            path = b'"' + b"".join(b"\\%03o" % byte for byte in change.path) + b'"'
            if change.mode:
                stream += b"M %s inline %s\ndata %d\n" % (change.mode.encode(), path, len(change.content))
                stream += change.content + b"\n"
            else:
                stream += b"D %s\n" % path
        before = number
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as name:
        folder = Path(name)
        git(folder, "init", "-q", "--bare")
        git(folder, "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", stdin=bytes(stream))
        git(folder, "gc", "--aggressive", "--prune=now", "-q")
        sizes = git(folder, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectsize:disk)")
        contents = sum(int(line.split()[1]) for line in sizes.splitlines() if line.startswith(b"blob "))
        packed = sum(path.stat().st_size for path in (folder / "objects" / "pack").iterdir())
        kept = folder / "kept"
        shutil.move(folder / "objects" / "pack", kept)
        (folder / "objects" / "pack").mkdir()
        for pack in kept.glob("*.pack"):
            git(folder, "unpack-objects", "-q", stdin=pack.read_bytes())
        loose = list((folder / "objects").glob("??/*"))
        return {
            "packed": packed,
            "packed, contents alone": contents,
            "loose": sum(path.stat().st_size for path in loose),
            "loose, on disk": sum(path.stat().st_blocks * 512 for path in loose),
        }


def measured(repo: Path, most: int, scratch: str | None) -> dict[str, Any]:
    """The figures of one history."""
    with tempfile.TemporaryDirectory(prefix="quire-bench-", dir=scratch) as name:
        folder = Path(name)
        count, versions, took = told(repo, folder, most)
        tables, kinds = by_table(folder), content_by_kind(folder)
        file_bytes = (folder / "db" / "data.mdb").stat().st_size
        content, whole = pages_of(tables)
        compacted(folder)
        packs = sum(path.stat().st_blocks * 512 for path in (folder / "db").glob("pack.*"))
        small_content, small_whole = (size + packs for size in pages_of(by_table(folder)))
    beside = in_git(repo, most)
    return {
        "repo": repo.resolve().name,
        "commits": count,
        "versions": versions,
        "seconds": round(took, 1),
        "bytes": {"blobs": tables["blobs"]["pages"], "content": content, "all": whole, "file": file_bytes, **beside},
        "bytes a version": {
            "blobs": round(tables["blobs"]["pages"] / versions),
            "content": round(content / versions),
            "all": round(whole / versions),
            "file": round(file_bytes / versions),
            "content, compacted": round(small_content / versions),
            "all, compacted": round(small_whole / versions),
            **{f"git {name}": round(size / versions) for name, size in beside.items()},
        },
        "content / git packed": round(content / beside["packed"], 2),
        "all / git packed": round(whole / beside["packed"], 2),
        "content by kind": kinds,
        "tables": tables,
    }


def show(figures: dict[str, Any]) -> None:
    """The figures of one history, for people."""
    versions = figures["versions"]
    print(f"{figures['repo']}: {figures['commits']} commits, {versions} versions, told in {figures['seconds']} s\n")
    print(f"{'table':20}{'entries':>10}{'held':>12}{'pages':>12}{'a version':>11}")
    for table, row in sorted(figures["tables"].items(), key=lambda item: -item[1]["pages"]):
        if row["pages"]:
            share = row["pages"] / versions
            print(f"{table:20}{row['entries']:>10,}{row['held']:>12,}{row['pages']:>12,}{share:>11.1f}")
    print()
    for kind, row in figures["content by kind"].items():
        each = row["held"] / max(row["entries"], 1)
        print(f"blobs {kind:32}{row['entries']:>8,}{row['held']:>12,} bytes, {each:.0f} each")
    print(f"\n{'bytes a version':28}{'':>10}")
    for what, size in figures["bytes a version"].items():
        target = f"   (target {TARGETS[what]})" if what in TARGETS else ""
        print(f"{what:28}{size:>10}{target}")
    content, whole = figures["content / git packed"], figures["all / git packed"]
    print(f"content / git packed {content} ×, all {whole} ×   (target 2 ×)\n")


def main() -> None:
    """Measure, and print a table or JSON for each repository."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--repo", type=Path, required=True, action="append", help="a git repository; its HEAD is replayed"
    )
    parser.add_argument("--commits", type=int, default=0, help="only the newest so many; 0: all")
    parser.add_argument("--in", dest="folder", help="keep the journal in this folder while it is measured")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for repo in options.repo:
        figures = measured(repo, options.commits, options.folder)
        if options.json:
            print(json.dumps(figures), flush=True)
        else:
            show(figures)


if __name__ == "__main__":
    main()
