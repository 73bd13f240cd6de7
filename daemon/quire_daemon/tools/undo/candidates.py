"""The batches that `select` examines, and how surely they are the named writer's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from quire_daemon.core import Who
from quire_daemon.tools.history import VERSION_KINDS, Ownership, Whose, is_own, named_burst
from quire_daemon.tools.undo.batches import Batches
from quire_daemon.tools.undo.joint_batches import JointBatches
from quire_daemon.tools.undo.params import How, Selection, of_git, several
from quire_journal.history import History, parse_point
from quire_journal.history.stories import last_of_git
from quire_journal.model import IGNORED, CaptureFailed, Record, Refusal, counted
from quire_journal.views import OWN

SCAN_RECORDS: Final = 200_000


MOST_LEFT_OUT: Final = 5


def may_be_meant(batches: Sequence[int], known: Batches) -> str:
    """Return sentences about writes that an undo leaves out: probable ones and those of `quire setup`; "" for none."""
    own = [batch for batch in batches if known.is_setup(batch)]
    told = _sentence([batch for batch in batches if batch not in own], known)
    if own:
        names = list(dict.fromkeys(path for batch in own for path, _ in known.starts(batch)))
        told += f" What `quire setup` wrote stays ({_some(names)}): `quire unsetup AGENT` takes it out."
    return told


def by_git_told(count: int, how: How) -> str:
    """Return a sentence about the writes of git that an undo or redo of `outside` leaves out; "" for none."""
    if not count:
        return ""
    if how == "redo":
        step = "`quire redo VERSION` brings back those of the command that wrote it"
    else:
        step = "`quire undo --git last` takes back those of its last command"
    return f" {counted(count, 'write of git is', 'writes of git are')} left out: {step}."


def _sentence(batches: Sequence[int], known: Batches) -> str:
    if not batches:
        return ""
    names = list(dict.fromkeys(path for batch in batches for path, _ in known.starts(batch)))
    joint = JointBatches(known)
    calls = {joint.of(batch) for batch in batches}
    written = counted(len(batches), "write is", "writes are")
    if len(calls) < len(batches):
        written = f"{counted(len(batches), 'write')} of {counted(len(calls), 'command')} are"
    them = "it" if len(batches) == 1 else "them"
    return f" {written} only probably meant ({_some(names)}): `--probable` takes {them} back, too."


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_LEFT_OUT} more" if len(names) > MOST_LEFT_OUT else ""
    return ", ".join(names[:MOST_LEFT_OUT]) + more


def candidates(params: Selection, known: Batches) -> Iterator[tuple[Record, str]]:
    """Yield (the newest write of a batch, evidence that it belongs to the named burst), newest first, for the batches
    of the named bursts, or else for those between the points `from_` and `to`.
    """
    history = known.history
    after = parse_point(params.from_, history, "from") if params.from_ else 0
    upto = parse_point(params.to, history, "to") if params.to else history.head()
    if params.burst is not None:
        named = [named_burst(one, history) for one in several(params.burst)]
        evidence = {batch: word for one in named for batch, word in history.burst_evidence(one)}
        evidence = dict(sorted(evidence.items()))
        within = [b for b in evidence if after < b <= upto]
        known.prepare(within)
        for batch in reversed(within):
            record = known.write(batch)
            if record is not None and not _is_of_a_run_apart(record, named, history):
                yield record, evidence[batch]
        return
    seen: set[int] = set()
    for record in _of_last_command(after, upto, history) if of_git(params) else _newest(after, upto, history):
        if record.kind in VERSION_KINDS and record.batch not in seen:
            seen.add(record.batch)
            yield record, OWN


def only_ignored(record: Record) -> bool:
    """True if the record only says that an ignore rule names a file from now on, which nobody wrote."""
    event = record.event() if record.kind == CaptureFailed.kind else None
    return isinstance(event, CaptureFailed) and event.why == IGNORED


def _is_of_a_run_apart(record: Record, named: Sequence[int], history: History) -> bool:
    """True if a write is that of another run of the same caller, started by none of the `named` bursts."""
    told = history.attribution(record)
    run = None if told is None or told.burst in named else history.burst(told.burst)
    return run is not None and {*named} <= {*run.apart}


def _newest(after: int, upto: int, history: History) -> Iterator[Record]:
    for looked, record in enumerate(history.records(after=after, upto=upto, reverse=True)):
        if looked == SCAN_RECORDS:
            raise Refusal(
                "schema_invalid",
                f"The choice goes back more than {SCAN_RECORDS} records; name where it begins with `from`.",
                "narrow_the_choice",
                argument="from",
            )
        yield record


def _of_last_command(after: int, upto: int, history: History) -> Iterator[Record]:
    """Return the writes of the last command of git that wrote files, newest first. Raises `Refusal` if there is
    none.
    """
    seqs = last_of_git(after, upto, history, SCAN_RECORDS)
    if not seqs:
        raise Refusal("not_found", "No command of git is known that wrote into the tree.", "log")
    found = map(history.record, sorted(seqs, reverse=True))
    return (record for record in found if record is not None)


def claiming(params: Selection, history: History, who: Who) -> Callable[[Record], Ownership]:
    """Return record → how surely it is of the writer that the arguments name: the caller by default, everybody for a
    turn that a person names.
    """
    whose = Whose(history, params.writer, agent_session=params.agent_session, turn=params.turn)
    anyone = params.writer or params.agent_session or params.burst is not None or of_git(params)
    if anyone or (params.turn and not who.agent):
        return whose.of_record
    return lambda record: whose.of_record(record) if is_own(history.author(record), who, history) else Ownership.NONE
