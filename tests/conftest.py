"""What every test gets: no thread outlives it, properties draw the same examples, and a real daemon on request."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path

# Dozens of daemons start here, and each worker collects: each would compile every module again where bytecode is not
# kept. It goes where it always goes, into __pycache__ beside the sources; said before anything of ours is imported.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Times are printed as the clocks here show them, and expected as those of UTC.
os.environ["TZ"] = "UTC"
time.tzset()

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402
from hypothesis.internal.conjecture import providers  # noqa: E402

import live  # noqa: E402
from nats_server import Cluster, NatsNode, free_ports, new_team  # noqa: E402
from quire_journal.storage import threads  # noqa: E402

# What is printed is kept back until it is flushed, as for everybody, whatever the environment here asks for.
os.environ.pop("PYTHONUNBUFFERED", None)

# Of seeded faults that sixteen examples find, twelve find the same, and eight some fewer; QUIRE_LONG draws many more.
# How long they take to draw says something about the machine and who else is busy there, and nothing about the change.
settings.register_profile(
    "default",
    database=None,
    deadline=None,
    derandomize=False,  # which Hypothesis sets where CI is, and so draws other examples there than here
    max_examples=live.length(12, 2000),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")

# Hypothesis also draws constants of ours, those of the modules that have been imported by then. Which these are differs
# with the worker and with what ran before in it, so the same test would have other examples from run to run; to read
# them out of all sources takes a second of each worker. `scripts/test --long` draws them.
if not live.LONG:
    providers._get_local_constants = lambda: providers._local_constants


# Pytest and Hypothesis make and drop objects by the thousand, none of them in cycles: with the thresholds of a program
# that does not, looking for cycles took a tenth of the processor's time.
gc.set_threshold(200_000, 20, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """The same examples in each run, so that a red run is red for its change.

    One seed does, unless another one is asked for. That of each test, which Hypothesis can make of the test's source
    (`derandomize`), took it four milliseconds of each.
    """
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(live.SEED)


def pytest_collection_finish() -> None:
    """What was collected stays to the end, so nobody needs to look at it again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first the files whose tests take long, for the workers to end at the same time.

    These are the files of this folder, which run scripts and blocks of the README, and those that drive daemons.
    """
    here = Path(__file__).parent
    real = {item.path for item in items if item.get_closest_marker("real")}
    items.sort(key=lambda item: (item.path.parent != here, item.path not in real))


@pytest.fixture(autouse=True)
def _no_thread_outlives_its_test() -> Iterator[None]:
    """A thread that a test leaves behind would fail another one, later and elsewhere."""
    before = {*threading.enumerate(), *threads.alive()}
    yield
    # A client's reaper lives as long as the daemon that it started, which may serve a whole module of tests.
    now = [*threading.enumerate(), *threads.alive()]
    left = [t for t in now if t not in before and t.name != "quire-daemon-ended"]
    left = [t for t in left if not t.name.startswith("Dummy-")]  # the name that `threading` has for one of ours
    for thread in left:
        thread.join(1.0)
    assert not [thread.name for thread in left if thread.is_alive()]


@pytest.fixture
def journals() -> Iterator[Path]:
    """A scratch folder for journals, in the place of `tmp_path`: what is synced there need not wait for a disk."""
    with live.folder_for_journals() as folder:
        yield folder


class Daemons:
    """Makes scratch checkouts, each with state, runtime and settings folders of its own."""

    def __init__(self) -> None:
        self.made: list[live.Live] = []

    def __call__(self, root: Path | None = None, state_dir: Path | None = None) -> live.Live:
        self.made.append(live.Live(root, state_dir))
        return self.made[-1]


@pytest.fixture
def daemon() -> Iterator[Daemons]:
    """`daemon()` is a scratch checkout that a real daemon serves as soon as a client connects; ended by its pid."""
    daemons = Daemons()
    yield daemons
    for one in reversed(daemons.made):
        one.close()


@pytest.fixture(scope="module")
def served() -> Iterator[live.Live]:
    """A checkout whose daemon the tests of a module share: each has files of its own in it, and leaves it running."""
    shared = live.Live()
    yield shared
    shared.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure shows what the daemons wrote into their logs."""
    report = yield
    if call.when == "call" and report.failed:
        given = [made for value in getattr(item, "funcargs", {}).values() for made in getattr(value, "made", [value])]
        report.sections += [("daemon.log", one.log_tail()) for one in given if isinstance(one, live.Live)]
    return report


@pytest.fixture(scope="session")
def nats_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsNode]:
    """A server of NATS, for tests that do not end it."""
    node = NatsNode(tmp_path_factory.mktemp("nats"), free_ports(1)[0])
    node.start()
    try:
        yield node
    finally:
        node.kill()


@pytest.fixture
def team(nats_node: NatsNode) -> str:
    """The address of a team of its own."""
    return new_team(nats_node.host)


@pytest.fixture(scope="session")
def nats_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three servers of NATS, for tests that do not end them."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.kill()
