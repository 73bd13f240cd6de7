"""The batches that a choice looks through, and whose they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from quire_daemon.core import Who
from quire_daemon.tools.history import (
    ME,
    VERSION_KINDS,
    in_session,
    is_unclaimed,
    named_burst,
    writer_filter,
)
from quire_daemon.tools.undo.batches import Batches
from quire_daemon.tools.undo.params import Selection, of_git, several
from quire_journal.history import History, parse_point
from quire_journal.history.stories import last_of_git
from quire_journal.model import (
    DURING,
    OUTSIDE,
    Record,
    Refusal,
    counted,
)

SCAN_RECORDS: Final = 200_000


MOST_LEFT_OUT: Final = 5


def may_be_meant(batches: Sequence[int], known: Batches) -> str:
    """Sentences about writes that an undo leaves out: probable ones and those of `quire setup`; "" for none."""
    own = [batch for batch in batches if known.is_setup(batch)]
    told = _sentence([batch for batch in batches if batch not in own], known)
    if own:
        names = list(dict.fromkeys(path for batch in own for path, _ in known.starts(batch)))
        told += f" What `quire setup` wrote stays ({_some(names)}): `quire unsetup AGENT` takes it out."
    return told


def _sentence(batches: Sequence[int], known: Batches) -> str:
    if not batches:
        return ""
    names = list(dict.fromkeys(path for batch in batches for path, _ in known.starts(batch)))
    written = counted(len(batches), "write is", "writes are")
    return f" {written} only probably meant ({_some(names)}): `--probable` takes them back, too."


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_LEFT_OUT} more" if len(names) > MOST_LEFT_OUT else ""
    return ", ".join(names[:MOST_LEFT_OUT]) + more


def candidates(params: Selection, known: Batches) -> Iterator[tuple[int, int, str]]:
    """(batch, writer, evidence) of file changes within the burst and the points, newest first."""
    history = known.history
    after = parse_point(params.from_, history, "from") if params.from_ else 0
    upto = parse_point(params.to, history, "to") if params.to else history.head()
    if params.burst is not None:
        evidence: dict[int, str] = {}
        for one in several(params.burst):
            evidence |= history.burst_evidence(named_burst(one, history))
        evidence = dict(sorted(evidence.items()))
        within = [b for b in evidence if after < b <= upto]
        known.prepare(within)
        for batch in reversed(within):
            yield batch, known.writer(batch), evidence[batch]
        return
    seen: set[int] = set()
    for record in _of_last_command(after, upto, history) if of_git(params) else _newest(after, upto, history):
        if record.kind in VERSION_KINDS and record.batch not in seen:
            seen.add(record.batch)
            attribution = history.attribution(record)
            if params.writer == ME and record.writer == OUTSIDE:
                if is_unclaimed(record, history):
                    yield record.batch, record.writer, DURING
            elif attribution is None:
                yield record.batch, record.writer, ""
            else:
                yield record.batch, attribution.writer, attribution.evidence


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
    """The writes of the last command of git that wrote into the tree. Raises `Refusal`."""
    command = last_of_git(after, upto, history, SCAN_RECORDS)
    if command is None:
        raise Refusal("not_found", "No command of git is known that wrote into the tree.", "log")
    found = map(history.record, sorted(command.seqs, reverse=True))
    return (record for record in found if record is not None)


def writer_choice(params: Selection, history: History, who: Who) -> Callable[[int], bool]:
    """The writer filter: the caller by default, everyone for a turn that a person names."""
    if params.writer == "*":
        named: Callable[[int], bool] = lambda writer: True  # noqa: E731
    elif params.writer:
        named = writer_filter(params.writer, history)
    elif params.agent_session or params.burst is not None or of_git(params) or (params.turn and not who.agent):
        named = lambda writer: True  # noqa: E731
    else:
        named = partial(is_own, history, who)

    def fits(writer: int) -> bool:
        if not named(writer):
            return False
        if not (params.agent_session or params.turn):
            return True
        introduced = history.writer(writer)
        return (
            introduced is not None
            and (not params.agent_session or in_session(introduced, params.agent_session))
            and params.turn in ("", introduced.turn)
        )

    return fits


def is_own(history: History, who: Who, writer: int) -> bool:
    if history.caller_of(writer) == who.key:
        return True
    child = history.writer(writer)
    return child is not None and bool(child.parent) and (child.agent, child.parent) == (who.agent, who.agent_session)
