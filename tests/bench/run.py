"""The benchmark: what Quire costs, each figure beside something real that was measured in the same run.

    scripts/bench [ROW…] [--quick] [--json FILE [--elsewhere]] [--keep FOLDER] [--plot FOLDER]
    scripts/bench --from FILE [--markdown | --headlines] [--plot FOLDER]
    scripts/bench --list

Every row prints what was done, ours, the reference, the ratio, the budget of the design, and whether it holds. Medians
of interleaved rounds, with the tenth and the ninetieth of a hundred. The journals that are made are verified at the end
of their row. `--plot` draws cost against size. With `--from FILE` earlier figures are shown, and nothing is measured.

All rows take some fifteen minutes, and a journal of a million events six more to be made: `--keep` leaves the long
journals in a folder and takes them from there the next time. Rows that are named one by one with the same `--json FILE`
take their place among the figures that it has from this machine; with `--elsewhere` also among those of another one,
and the page says so. `QUIRE_BENCH_REPO` names repositories whose histories are taken (PATH:PATH), `QUIRE_BENCH_DISK` a
folder on another file system, on which an undo is measured once more.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pages import costs, headlines
from rows import ROWS
from table import FULL, QUICK, Line, Scale, beside, misses, printed, put


def main() -> int:
    """Run rows, print them, keep them."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each daemon compiles every module: an installed one has them
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="which rows; all if none is named")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes: shows that the rows work, not what they cost"
    )
    parser.add_argument("--json", metavar="FILE", help="keep the figures, beside those of other rows that it has")
    parser.add_argument("--elsewhere", action="store_true", help="put them beside those of another machine, and say so")
    parser.add_argument("--keep", metavar="FOLDER", help="make the long journals there, or take them from there")
    parser.add_argument("--from", dest="earlier", metavar="FILE", help="print or plot figures that were kept")
    parser.add_argument("--plot", metavar="FOLDER", help="draw cost against size, as SVG and PNG")
    parser.add_argument("--markdown", action="store_true", help="print the figures as docs/costs.md has them")
    parser.add_argument("--headlines", action="store_true", help="print the table that the README has")
    parser.add_argument("--list", action="store_true", help="say what the rows are")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{row.name:12}{row.about}" for row in ROWS.values()))
        return 0
    unknown = [name for name in options.rows if name not in ROWS]
    if unknown:
        parser.error(f"there is no row {unknown[0]!r}; --list names them")
    if options.json and not os.access(folder := Path(options.json).absolute().parent, os.W_OK | os.X_OK):
        parser.error(f"--json: {folder} is no folder that can be written to; nothing was measured")
    if options.earlier:
        figures = json.loads(Path(options.earlier).read_text())
    else:
        with tempfile.TemporaryDirectory(prefix="quire-bench-") as scratch:
            scale = (QUICK if options.quick else FULL)._replace(kept=os.path.abspath(options.keep or scratch))
            figures = measure(
                options.rows or list(ROWS), scale, Path(options.json) if options.json else None, options.elsewhere
            )
    lines = {name: [_line(one) for one in kept] for name, kept in figures["rows"].items()}
    if options.markdown:
        print(costs(figures, ROWS, lines))
    elif options.headlines:
        print(headlines(lines))
    elif options.earlier:
        print("\n\n".join(printed(some) for some in lines.values()))
    if options.plot:
        from plot import draw

        draw({ROWS[name]: some for name, some in lines.items() if name in ROWS}, figures, Path(options.plot))
    return 0


def measure(names: list[str], scale: Scale, kept_in: Path | None, elsewhere: bool) -> dict[str, Any]:
    """Run these rows, print each as it ends, and put it to those in the file; all figures, the machine and the date."""
    figures: dict[str, Any] = {"machine": machine(), "date": "", "scale": scale.name, "rows": {}}
    earlier = json.loads(kept_in.read_text()) if kept_in is not None and kept_in.exists() else None
    if earlier is not None and not beside(earlier, figures, elsewhere):
        print(f"{kept_in} has figures of {earlier['machine']} ({earlier['scale']}); they are replaced", flush=True)
    for name in names:
        print(f"\n{name}: {ROWS[name].about}", flush=True)
        begun = time.monotonic()
        lines = list(ROWS[name].run(scale))
        print(printed(lines), flush=True)
        if misses(lines) and ROWS[name].reason:
            print(f"    Why: {ROWS[name].reason}", flush=True)
        print(f"    ({time.monotonic() - begun:.0f} s)", flush=True)
        kept, date = [dataclasses.asdict(line) for line in lines], time.strftime("%Y-%m-%d")
        put(figures, name, kept, date, list(ROWS), machine())
        if kept_in is not None:  # after each row: what has been measured stays, whatever ends the run
            kept_in.write_text(json.dumps(figures, indent=1) + "\n")
    return figures


def machine() -> str:
    """What this ran on, in a line."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as told:
            model = next(line.partition(":")[2].strip() for line in told if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    runs_on = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GB, {runs_on}"


def _line(kept: dict[str, object]) -> Line:
    return Line(**{**kept, "spread": tuple(kept["spread"])})  # type: ignore[arg-type]


if __name__ == "__main__":
    raise SystemExit(main())
