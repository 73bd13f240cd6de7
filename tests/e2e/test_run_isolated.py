"""`quire run --isolated` beside a real daemon: what lands, and that no kill leaves a mount or half a tree behind."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from disks import small_disk
from live import Live, caught_up, eventually, ok, verified
from quire_client.isolation.overlay import PREFIX, CannotIsolate, CopyOnWriteView
from quire_client.transport.errors import NoDaemon
from quire_daemon.engine import perform
from quire_daemon.workspace import swap

pytestmark = pytest.mark.real


def begun(at: Live, *words: str, **more: Any) -> subprocess.Popen[str]:
    where = ["--state-dir", os.fspath(at.state_dir)]
    command = [sys.executable, "-m", "quire_client", *where, "run", "--isolated", *words]
    return subprocess.Popen(command, cwd=at.root, stderr=subprocess.PIPE, text=True, start_new_session=True, **more)


def ran(at: Live, *words: str) -> tuple[int, str]:
    """(exit status, what was said on stderr)."""
    process = begun(at, *words)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


def mounts(at: Live) -> list[str]:
    """Overlays that any process sees on this checkout; other tests may run beside."""
    found = []
    for each in Path("/proc").glob("[0-9]*/mounts"):
        try:
            text = each.read_text()
        except OSError:
            continue
        found += [line for line in text.splitlines() if line.startswith("overlay") and f"lowerdir={at.root}," in line]
    return found


def copies(at: Live) -> set[Path]:
    """The folders with the copies of this checkout that are in use."""
    return {Path(line.split("upperdir=")[1].split(",")[0]).parent for line in mounts(at)}


def pending(pid: int) -> bool:
    """True if a signal was sent to the process that it has not received yet."""
    status = Path(f"/proc/{pid}/status").read_text()
    return any(int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("SigPnd", "ShdPnd")))


def is_waiting(pid: int) -> bool:
    """True if the process sleeps, and has used no processor for a moment."""

    def used() -> list[str]:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return [fields[0], *fields[11:13]]

    first = used()
    time.sleep(0.1)
    return first[0] == "S" and first == used()


def lander(process: subprocess.Popen[str]) -> int:
    """The child that lands for `quire run`, in a session of its own; 0 if there is none."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return next((int(child) for child in children.split() if os.getsid(int(child)) == int(child)), 0)


STEPPED = """
import os, signal, sys
from quire_client.__main__ import main

whom, number, first = sys.argv.pop(1), int(sys.argv.pop(1)), os.getpid()
passed = 0


def look(event, arguments):
    global passed
    if event.startswith(("os.", "shutil.")) and event not in ("os.listdir", "os.scandir") and os.getppid() == first:
        passed += os.getsid(0) == os.getpid()  # only the lander leads a session
        if passed == number:
            passed += 1
            os.kill(os.getpid() if whom == "lander" else first, signal.SIGKILL)


sys.addaudithook(look)
sys.exit(main())
"""
"""`quire`, killed before the n-th change of a file or folder that its landing makes: "run" itself, or the "lander"."""


def whole(root: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and content of all that is in a folder, by path; of a link its target."""
    found = {}
    for path in root.rglob("*"):
        if ".quire" not in path.parts:
            data = os.readlink(path).encode() if path.is_symlink() else b"" if path.is_dir() else path.read_bytes()
            found[os.path.relpath(path, root)] = (path.lstat().st_mode, data)
    return found


def tree(at: Live) -> dict[str, bytes]:
    """The files of the checkout, by name."""
    return {
        path.name: path.read_bytes() for path in at.root.rglob("*") if path.is_file() and ".quire" not in path.parts
    }


@pytest.fixture
def scene(served: Live, tmp_path: Path) -> Iterator[Live]:
    """A checkout with three files that the journal knows; skipped where the kernel allows no isolation."""
    try:
        with CopyOnWriteView(tmp_path, tmp_path) as view:
            view.run(["true"], tmp_path, {**os.environ})
    except CannotIsolate as reason:
        pytest.skip(f"not here: {reason}")
    for path in served.root.rglob("*"):
        if path.is_file():
            path.unlink()
    served.write("a.txt", "".join(f"line {number}\n" for number in range(1, 9)))
    served.write("b.txt", "one\n")
    served.write(".gitignore", "build/\n")
    caught_up(served.connect("eve"))
    yield served
    assert mounts(served) == []


def test_what_a_command_changes_lands_as_its_callers(scene: Live) -> None:
    script = "sed -i 's/line 2/two/' a.txt; rm b.txt; mkdir -p build deep; echo o > build/x.o; echo n > deep/n.txt"
    status, said = ran(scene, "sh", "-c", f"{script}; exit 3")
    assert status == 3
    assert "a.txt, b.txt, deep/n.txt changed by it" in said
    assert tree(scene).keys() == {"a.txt", ".gitignore", "x.o", "n.txt"}
    client = scene.connect("eve")
    record = ok(client.call("log", {"path": "a.txt", "limit": 1}))["records"][0]
    assert (record["kind"], record["writer"]["uid"]) == ("file_written", os.getuid())
    assert ok(client.call("log", {"path": "build/x.o"}))["records"] == []
    verified(client)


def test_the_first_command_in_a_checkout_waits_until_its_files_are_in_the_journal(scene: Live, daemon) -> None:
    """It starts the daemon; a file that is not recorded when it begins would look as if others had changed it."""
    fresh: Live = daemon()
    (fresh.root / ".git").mkdir()  # which makes the folder a workspace
    names = [f"{number}.txt" for number in range(500)]
    for name in names:
        fresh.write(name, "one\n")
    status, said = ran(fresh, "sed", "-i", "s/one/two/", *names)
    assert (status, "others" in said) == (0, False)
    assert tree(fresh) == dict.fromkeys(names, b"two\n")
    assert ok(fresh.connect("eve").call("log", {"path": "7.txt", "limit": 1}))["records"][0]["kind"] == "file_written"


def test_others_work_meanwhile_is_merged_and_a_conflict_is_beside(scene: Live, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    wait = f"touch {flag}; while [ -e {flag} ]; do sleep 0.02; done"
    process = begun(scene, "sh", "-c", f"sed -i 's/line 2/mine/' a.txt; echo mine > b.txt; {wait}")
    eventually("the command", flag.exists)
    assert b"mine" not in scene.read("a.txt")
    scene.write("a.txt", scene.read("a.txt").replace(b"line 7", b"theirs"))
    scene.write("b.txt", "theirs\n")
    caught_up(scene.connect("eve"))
    flag.unlink()
    _, said = process.communicate(timeout=60)
    assert b"mine\n" in scene.read("a.txt")
    assert b"theirs\n" in scene.read("a.txt")
    assert scene.read("b.txt") == b"theirs\n"
    (beside,) = [path for path in scene.root.iterdir() if path.name.startswith("b.txt.run-")]
    assert beside.read_bytes() == b"mine\n"
    assert f"b.txt: others changed the same lines meanwhile; the command's version is {beside.name}." in said


def test_git_works_on_the_real_repository(scene: Live) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=scene.root, check=True)
    commit = "git -c user.name=a -c user.email=a@b commit -qm one"
    assert ran(scene, "sh", "-c", f"echo n > n.txt; git add n.txt; {commit}")[0] == 0
    told = subprocess.run(["git", "log", "--format=%s"], cwd=scene.root, check=True, capture_output=True, text=True)
    assert told.stdout == "one\n"
    assert scene.read("n.txt") == b"n\n"


def test_a_name_that_is_too_long_to_get_an_end_is_cut(scene: Live, tmp_path: Path) -> None:
    name, flag = "ü" * 127, tmp_path / "flag"
    scene.write(name, "old\n")
    caught_up(scene.connect("eve"))
    wait = f"touch {flag}; while [ -e {flag} ]; do sleep 0.02; done"
    process = begun(scene, "sh", "-c", f"echo mine > {name}; echo mine > b.txt; {wait}")
    eventually("the command", flag.exists)
    scene.write(name, "theirs\n")
    caught_up(scene.connect("eve"))
    flag.unlink()
    _, said = process.communicate(timeout=60)
    (beside,) = [path for path in scene.root.iterdir() if ".run-" in path.name]
    assert (scene.read(name), beside.read_bytes(), scene.read("b.txt")) == (b"theirs\n", b"mine\n", b"mine\n"), said
    assert process.returncode == 0


def test_an_ignored_file_is_kept_beside_a_folder_of_its_name(scene: Live) -> None:
    scene.write(".gitignore", "out\n")
    (scene.root / "out").mkdir()
    scene.write("out/x", "x\n")
    caught_up(scene.connect("eve"))
    status, said = ran(scene, "sh", "-c", "rm -r out; echo mine > out; echo new > b.txt; exit 3")
    assert (status, scene.read("out/x"), scene.read("b.txt")) == (3, b"x\n", b"new\n"), said
    (beside,) = [path for path in scene.root.iterdir() if ".run-" in path.name]
    assert beside.read_bytes() == b"mine\n"
    assert f"out: a folder is there; the command's version is {beside.name}." in said


def test_an_ignored_file_that_others_changed_meanwhile_is_not_overwritten(scene: Live, tmp_path: Path) -> None:
    names = ("own", "theirs", "removed", "same", "new", "link")
    for name in names[:4]:
        scene.write(f"build/{name}", "old\n")
    flag = tmp_path / "flag"
    wait = f"touch {flag}; while [ -e {flag} ]; do sleep 0.02; done"
    make = "cd build; rm removed; for each in own theirs same new; do echo mine > $each; done; ln -s own link"
    process = begun(scene, "sh", "-c", f"{make}; {wait}")
    eventually("the command", flag.exists)
    for name in names[1:]:
        scene.write(f"build/{name}", "mine\n" if name == "same" else "theirs\n")
    flag.unlink()
    _, said = process.communicate(timeout=60)
    found = [scene.read(f"build/{name}") for name in names]
    assert found == [b"mine\n", b"theirs\n", b"theirs\n", b"mine\n", b"theirs\n", b"theirs\n"], said
    beside = {path.name.partition(".run-")[0]: path for path in scene.root.glob("build/*.run-*")}
    assert {name: path.read_bytes() for name, path in beside.items()} == {"theirs": b"mine\n", "new": b"mine\n"}
    for name in ("theirs", "new"):
        kept = f"the command's version is build/{beside[name].name}."
        assert f"build/{name}: others changed it meanwhile; {kept}" in said
    assert "build/removed: others changed it meanwhile; it stays as it is." in said
    assert "build/link: others changed it meanwhile; it stays as it is." in said
    assert "same" not in said
    assert "own" not in said


def test_a_new_folder_lands_with_its_permissions(scene: Live) -> None:
    command = "mkdir -m 700 priv; echo s > priv/x; mkdir -p -m 711 priv/empty; echo new > b.txt"
    status, said = ran(scene, "sh", "-c", command)
    modes = [stat.S_IMODE((scene.root / name).stat().st_mode) for name in ("priv", "priv/empty")]
    assert (status, modes) == (0, [0o700, 0o711]), said
    shutil.rmtree(scene.root / "priv")


def test_a_repository_that_the_command_makes_lands(scene: Live) -> None:
    commit = "git -c user.name=a -c user.email=a@b commit -qm one"
    status, said = ran(scene, "sh", "-c", f"git init -q .; git add b.txt; {commit}")
    assert status == 0, said
    told = subprocess.run(["git", "log", "--format=%s"], cwd=scene.root, capture_output=True, text=True)
    assert told.stdout == "one\n", told.stderr
    shutil.rmtree(scene.root / ".git")


def test_what_cannot_land_is_kept(scene: Live, tmp_path: Path) -> None:
    """Here no daemon can be started any more."""
    flag = tmp_path / "flag"
    wait = f"touch {flag}; while [ -e {flag} ]; do sleep 0.02; done"
    process = begun(scene, "sh", "-c", f"echo mine > b.txt; {wait}")
    eventually("the command", flag.exists)
    daemon = ok(scene.connect("eve").call("status", {}))["pid"]
    os.kill(daemon, signal.SIGKILL)
    assert scene.died(daemon, 15.0)
    away = scene.state_dir.rename(scene.state_dir.with_name("away"))
    scene.state_dir.write_text("no folder")
    flag.unlink()
    _, said = process.communicate(timeout=60)
    scene.state_dir.unlink()
    away.rename(scene.state_dir)
    assert process.returncode not in (0, 125), said
    kept = Path(said.partition("it is kept in ")[2].splitlines()[0].rstrip("."))
    assert ((kept / "b.txt").read_bytes(), scene.read("b.txt")) == (b"mine\n", b"one\n")
    assert ran(scene, "true")[0] == 0
    assert (kept / "b.txt").exists(), "the next run removes only what runs left that were killed"
    shutil.rmtree(kept)


def test_on_a_disk_without_room_for_all_nothing_lands(scene: Live, daemon, tmp_path: Path) -> None:
    """The recorded files would have room, the ignored ones would not."""
    with small_disk(tmp_path / "disk", 8) as disk:
        fresh: Live = daemon(disk / "checkout")
        (fresh.root / ".git").mkdir()  # which makes the folder a workspace
        fresh.write(".gitignore", "build/\n")
        fresh.write("b.txt", "one\n")
        before = whole(fresh.root)
        make = "echo new > b.txt; mkdir build; head -c 5M /dev/zero > build/one; head -c 5M /dev/zero > build/two"
        status, said = ran(fresh, "sh", "-c", make)
        assert (status, whole(fresh.root)) == (1, before), said
        kept = Path(said.partition("it is kept in ")[2].splitlines()[0].rstrip("."))
        assert (kept / "b.txt").read_bytes() == b"new\n"
        assert "the disk of the checkout has room for" in said
        shutil.rmtree(kept)
        fresh.close()


def test_what_cannot_even_be_listed_is_kept(scene: Live) -> None:
    """Here a path of more bytes than the kernel takes."""
    deep = "import os; [(os.mkdir('d' * 200), os.chdir('d' * 200)) for _ in range(30)]; open('f', 'w')"
    status, said = ran(scene, sys.executable, "-c", deep)
    assert (status, len(tree(scene))) == (70, 3), said
    kept = Path(said.partition("it is kept in ")[2].splitlines()[0].rstrip("."))
    assert (kept / ("d" * 200)).is_dir()
    shutil.rmtree(kept)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_takes_effect_when_all_has_landed(scene: Live, tmp_path: Path, number: signal.Signals) -> None:
    """The daemon stands still, so that the signal comes while the run waits for it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
    flag = tmp_path / "flag"
    wait = f"touch {flag}; while [ -e {flag} ]; do sleep 0.02; done"
    process = begun(scene, "sh", "-c", f"mkdir -p build; echo mine > b.txt; echo o > build/x.o; {wait}")
    eventually("the command", flag.exists)
    (copy,) = copies(scene)
    daemon = ok(scene.connect("eve").call("status", {}))["pid"]
    os.kill(daemon, signal.SIGSTOP)
    flag.unlink()
    landing = eventually("the end of the command", lambda: lander(process))
    eventually("the landing", lambda: is_waiting(landing) and is_waiting(process.pid))
    process.send_signal(number)
    eventually("the signal", lambda: not pending(process.pid))
    os.kill(daemon, signal.SIGCONT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -number), said
    assert (scene.read("b.txt"), scene.read("build/x.o")) == (b"mine\n", b"o\n")
    assert "quire: b.txt" in said
    assert not copy.exists()


def test_a_second_interrupt_ends_the_landing_and_keeps_what_the_command_made(scene: Live, tmp_path: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
    flag = tmp_path / "flag"
    wait = f"touch {flag}; while [ -e {flag} ]; do sleep 0.02; done"
    process = begun(scene, "sh", "-c", f"echo mine > b.txt; {wait}")
    eventually("the command", flag.exists)
    daemon = ok(scene.connect("eve").call("status", {}))["pid"]
    os.kill(daemon, signal.SIGSTOP)
    flag.unlink()
    landing = eventually("the end of the command", lambda: lander(process))
    eventually("the landing", lambda: is_waiting(landing) and is_waiting(process.pid))
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        eventually("the signal", lambda: process.poll() is not None or not pending(process.pid))
    _, said = process.communicate(timeout=60)
    os.kill(daemon, signal.SIGCONT)
    assert process.returncode == 130, said
    assert scene.died(landing)
    kept = Path(said.partition("it is kept in ")[2].splitlines()[0].rstrip("."))
    assert ((kept / "b.txt").read_bytes(), scene.read("b.txt")) == (b"mine\n", b"one\n")
    shutil.rmtree(kept)


@pytest.mark.parametrize("whom", ["run", "command"])
def test_what_is_killed_leaves_the_tree_as_it_was_and_nothing_behind(scene: Live, tmp_path: Path, whom: str) -> None:
    flag = tmp_path / "flag"
    before = tree(scene)
    script = f"sed -i 's/line/x/' a.txt; rm b.txt; touch {flag}; sleep 60 & wait"
    if whom == "command":
        wait = f"touch {flag}; while [ -e {flag} ]; do sleep 0.02; done"
        script = f"sed -i 's/line/x/' a.txt; rm b.txt; {wait}; kill -9 $$"
    process = begun(scene, "sh", "-c", script)
    eventually("the command", flag.exists)
    (copy,) = copies(scene)
    assert copy.name.startswith(PREFIX)
    if whom == "run":
        process.kill()
    flag.unlink()
    _, said = process.communicate(timeout=60)
    assert (process.returncode, tree(scene)) == (-9 if whom == "run" else 137, before)
    assert ("nothing of it has landed" in said) == (whom == "command")
    eventually("the end of all mounts", lambda: mounts(scene) == [])
    assert ran(scene, "true")[0] == 0
    assert not copy.exists(), "the next run removes what was left"


MAKES = """
echo new > a.txt; rm b.txt; mkdir -p deep/er empty/in; echo n > deep/er/n.txt; ln -s a.txt link
cd build; echo new > old.o; rm gone.o; mkdir more; echo m > more/m.o; ln -s old.o link; rm -r folder
cd ..; truncate -s 49M large; git init -q --template= .
"""


def killed_at(scene: Live, whom: str, number: int, tmp_path: Path) -> bool:
    """Kill `quire run` or its lander there, and check that all has landed; return False if there was no such step."""
    for path in scene.root.iterdir():
        if path.name not in (".gitignore", ".quire"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name in ("a.txt", "b.txt", "build/old.o", "build/gone.o", "build/folder/f.o"):
        scene.write(name, "old\n")
    caught_up(scene.connect("eve"))
    after = tmp_path / f"after-{whom}-{number}"
    shutil.copytree(scene.root, after, symlinks=True, ignore=shutil.ignore_patterns(".quire"))
    subprocess.run(["sh", "-c", MAKES], cwd=after, check=True)
    where = ["--state-dir", os.fspath(scene.state_dir)]
    command = [sys.executable, "-c", STEPPED, whom, str(number), *where, "run", "--isolated", "sh", "-c", MAKES]
    process = subprocess.Popen(command, cwd=scene.root, stderr=subprocess.PIPE, text=True, start_new_session=True)
    _, said = process.communicate(timeout=60)  # the lander has the pipe, too
    assert process.returncode in (0, -signal.SIGKILL), said
    assert whole(scene.root) == whole(after), (whom, number, said)
    assert not [*scene.root.glob(".quire/landing-*")], (whom, number, said)
    for folder in (after, scene.root / ".git", scene.root / "build"):  # else known, once .gitignore is gone
        shutil.rmtree(folder)
    return whom == "lander" or process.returncode != 0


@pytest.mark.parametrize("whom", ["run", "lander"])
@pytest.mark.parametrize("number", [1, 9, 30])
def test_a_kill_during_the_landing_leaves_the_tree_as_after_it(
    scene: Live, whom: str, number: int, tmp_path: Path
) -> None:
    assert killed_at(scene, whom, number, tmp_path)
    with scene.connect("eve") as client:
        assert [file["path"] for file in ok(client.call("log", {"path": "a.txt", "limit": 1}))["records"]] == ["a.txt"]
        verified(client)


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_a_kill_at_any_step_of_the_landing_leaves_the_tree_as_after_it(scene: Live, tmp_path: Path) -> None:
    steps = next(number for number in count(1, 3) if not killed_at(scene, "run", number, tmp_path))
    assert steps > 30
    for number in range(1, steps, 3):
        killed_at(scene, "lander", number, tmp_path)
    with scene.connect("eve") as client:
        verified(client)


def test_a_daemon_that_is_killed_meanwhile_costs_nothing(scene: Live, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    process = begun(scene, "sh", "-c", f"echo new > b.txt; touch {flag}; while [ -e {flag} ]; do sleep 0.02; done")
    eventually("the command", flag.exists)
    client = scene.connect("eve")
    os.kill(ok(client.call("status", {}))["pid"], signal.SIGKILL)
    flag.unlink()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "b.txt changed by it" in said
    assert scene.read("b.txt") == b"new\n"


@pytest.mark.parametrize("whom", ["run", "daemon"])
def test_an_agent_known_by_its_process_stays_the_writer_when_that_is_no_longer_known(
    scene: Live, whom: str, tmp_path: Path
) -> None:
    """A daemon forgets the processes of agents when it ends, and a lander has none above it when `quire run` ended."""
    agent = scene.connect("ada", "s7")
    ok(agent.call("native", {"moment": "turn", "prompt": "fix"}))
    flag = tmp_path / "flag"
    wait = f"touch {flag}; while [ -e {flag} ]; do sleep 0.02; done"
    where = ["1" if whom == "run" else "999", "--state-dir", os.fspath(scene.state_dir), "run", "--isolated"]
    command = [sys.executable, "-c", STEPPED, whom, *where, "sh", "-c", f"mkdir -p build; echo new > b.txt; {wait}"]
    process = subprocess.Popen(command, cwd=scene.root, stderr=subprocess.PIPE, text=True)
    eventually("the command", flag.exists)
    if whom == "daemon":
        os.kill(ok(agent.call("status", {}))["pid"], signal.SIGKILL)
    flag.unlink()
    _, said = process.communicate(timeout=60)
    assert scene.read("b.txt") == b"new\n", said
    record = ok(agent.call("log", {"path": "b.txt", "limit": 1}))["records"][0]
    assert (record["writer"]["agent"], record["writer"]["agent_session"]) == ("ada", "s7"), said
    ok(agent.call("native", {"moment": "session_end"}))


def test_a_signal_to_the_run_reaches_the_command(scene: Live, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    process = begun(scene, "sh", "-c", f"trap 'exit 5' TERM; touch {flag}; sleep 60 & wait")
    eventually("the command", flag.exists)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 5


def test_where_the_kernel_refuses_the_command_is_not_run(scene: Live, tmp_path: Path) -> None:
    made = tmp_path / "made"
    if os.getuid() != 0:
        pytest.skip("only root may take rights away")
    drop = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    where = ["--state-dir", os.fspath(scene.state_dir)]
    command = [*drop, sys.executable, "-m", "quire_client", *where, "run", "--isolated", "touch", os.fspath(made)]
    done = subprocess.run(command, cwd=scene.root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 125
    assert "(unshare): Operation not permitted." in done.stderr
    assert not made.exists()


def test_links_land_and_a_file_that_became_a_folder_is_kept_beside(scene: Live) -> None:
    for name in ("a", "b", "top"):
        scene.write(name, f"{name}\n")
    for name in ("stays", "turns", "goes"):
        (scene.root / name).symlink_to("a")
    caught_up(scene.connect("eve"))
    command = "ln -sfn b turns; rm goes; rm b; ln -s a b; rm top; mkdir -p top/in; echo 1 > top/in/f; echo 2 > a"
    process = begun(scene, "sh", "-c", command)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    links = {name: os.readlink(scene.root / name) for name in ("stays", "turns", "b")}
    assert links == {"stays": "a", "turns": "b", "b": "a"}
    assert not os.path.lexists(scene.root / "goes")
    assert (scene.read("top"), scene.read("a")) == (b"top\n", b"2\n")
    (kept,) = scene.root.glob("top.run-*/in/f")
    assert kept.read_text() == "1\n"
    assert "a file has the name of a folder above it" in said
    shutil.rmtree(kept.parent.parent)


@pytest.mark.parametrize("whose", ["command", "others"])
def test_nothing_lands_behind_a_link(scene: Live, whose: str, tmp_path: Path) -> None:
    """The command, or others meanwhile, put a folder in place of a link, or the reverse."""
    scene.write(".gitignore", "build/\nout\nout.run-*\n")
    away, out, flag = tmp_path / "away", scene.root / "out", tmp_path / "flag"
    away.mkdir()
    (away / "old").write_text("old\n")
    if whose == "command":
        out.symlink_to(away)
    else:
        scene.write("out/old", "old\n")
    caught_up(scene.connect("eve"))
    time.sleep(0.05)
    make = "rm -r out; mkdir out; echo mine > out/new"
    wait = f"touch {flag}; while [ -e {flag} ]; do sleep 0.02; done"
    process = begun(scene, "sh", "-c", f"{make}; {wait}")
    eventually("the command", flag.exists)
    if whose == "others":
        shutil.rmtree(out)
        out.symlink_to(away)
    flag.unlink()
    _, said = process.communicate(timeout=60)
    assert {path.name: path.read_bytes() for path in away.iterdir()} == {"old": b"old\n"}, said
    (beside,) = scene.root.glob("out.run-*/new")
    assert (beside.read_bytes(), out.readlink()) == (b"mine\n", away), said
    shutil.rmtree(beside.parent)
    out.unlink()


def test_a_command_runs_in_the_current_folder_as_without_isolation(scene: Live, tmp_path: Path) -> None:
    """The option -C names a workspace; it is no change of folder."""
    (scene.root / "sub").mkdir()
    where = ["--state-dir", os.fspath(scene.state_dir), "-C", os.fspath(scene.root)]
    for how in ([], ["--isolated"]):
        command = [sys.executable, "-m", "quire_client", *where, "run", *how, "pwd"]
        for folder in (scene.root / "sub", tmp_path):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
            assert done.stdout == f"{folder}\n", done.stderr
    (scene.root / "sub").rmdir()


def test_an_exit_status_that_no_signal_has_lands(scene: Live) -> None:
    """Perl's `die`, and many others, exit with 255."""
    status, said = ran(scene, "sh", "-c", "echo new > b.txt; exit 255")
    assert (status, scene.read("b.txt")) == (255, b"new\n"), said


def test_an_exit_status_like_that_of_a_signal_lands(scene: Live) -> None:
    status, said = ran(scene, "sh", "-c", "echo new > b.txt; exit 137")
    assert (status, scene.read("b.txt")) == (137, b"new\n"), said
    assert "signal" not in said


def test_a_command_that_returns_the_status_of_a_signal_that_came_lands_nothing(scene: Live, tmp_path: Path) -> None:
    """As npm does at Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
    flag = tmp_path / "flag"
    command = f"trap 'exit 130' INT; echo new > b.txt; touch {flag}; while :; do sleep 0.02; done"
    process = begun(scene, "sh", "-c", command)
    eventually("the command", flag.exists)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, scene.read("b.txt")) == (130, b"one\n"), said
    assert "The command was ended by signal 2; nothing of it has landed." in said


def test_a_view_that_is_killed_with_its_command_lands_nothing(scene: Live, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    process = begun(scene, "sh", "-c", f"echo new > b.txt; touch {flag}; sleep 60 & wait")
    eventually("the command", flag.exists)
    os.kill(int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()), signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, scene.read("b.txt")) == (137, b"one\n"), said


def test_a_command_dies_of_a_pipe_that_nobody_reads_as_without_quire(scene: Live) -> None:
    status, said = ran(scene, "bash", "-c", "yes | head -c 10 > /dev/null; exit ${PIPESTATUS[0]}")
    assert status == 141, said
    assert "Broken pipe" not in said


def test_what_the_client_itself_brings_is_no_work_of_others(scene: Live) -> None:
    """Empty folders, and files that are too large for the journal."""
    (scene.root / "old").mkdir()
    caught_up(scene.connect("eve"))
    command = "mkdir -p new/er; rmdir old; truncate -s 60M big.dat"
    status, said = ran(scene, "--strict", "sh", "-c", command)
    assert status == 0, said
    assert ((scene.root / "new" / "er").is_dir(), (scene.root / "old").exists()) == (True, False)
    assert "by others" not in said
    (scene.root / "big.dat").unlink()
    (scene.root / "new" / "er").rmdir()


def test_a_large_ignored_file_lands_again_as_a_small_one_does(scene: Live) -> None:
    for size in ("60M", "61M"):
        status, said = ran(scene, "sh", "-c", f"mkdir -p build; truncate -s {size} build/big")
        assert (status, said) == (0, "")
    assert [path.name for path in scene.root.glob("build/*")] == ["big"]
    assert (scene.root / "build/big").stat().st_size == 61 << 20


def test_a_large_file_that_stays_the_same_is_not_told(scene: Live) -> None:
    assert ran(scene, "truncate", "-s", "60M", "big")[0] == 0
    assert ran(scene, "touch", "big") == (0, "")
    assert [path.name for path in scene.root.glob("big*")] == ["big"]
    (scene.root / "big").unlink()


@pytest.mark.wide
@pytest.mark.parametrize("step", [*dict.fromkeys((*perform.STEPS, *swap.STEPS))])
def test_a_daemon_that_is_killed_while_it_lands_leaves_all_or_nothing(scene: Live, step: str, tmp_path: Path) -> None:
    """At its first and its later passing of each step of a write."""
    for passing in (1, 3):
        names = [f"{number}.txt" for number in range(5)]
        for name in names:
            scene.write(name, "old\n")
        with suppress(FileNotFoundError):
            (scene.root / "link").unlink()
        (scene.root / "link").symlink_to("0.txt")
        client = scene.connect("eve")
        caught_up(client)
        ok(client.call("status", {}))
        flag = tmp_path / f"flag{passing}"
        make = "; ".join([*(f"echo new > {name}" for name in names), "ln -sfn 1.txt link"])
        scene.kill()
        with scene.fault(step, passing):
            try:
                scene.connect("eve")  # a daemon that will kill itself
            except NoDaemon:
                return  # at its start already, as other tests play
        process = begun(scene, "sh", "-c", f"{make}; touch {flag}")  # the next daemon has no fault
        _, said = process.communicate(timeout=60)
        with scene.connect("eve") as after:
            caught_up(after)
            verified(after)
        found = {scene.read(name) for name in names}
        assert len(found) == 1, (step, passing, said)
        assert process.returncode == 0
        assert found == {b"new\n"}, "the client asks the next daemon, which knows what became of it"
        assert os.readlink(scene.root / "link") == "1.txt"
        for path in scene.root.glob("*.run-*"):
            path.unlink()
