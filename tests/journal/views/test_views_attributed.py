"""Evidence about a write that comes in later: whose batch it is, and when it is nobody's any more."""

from __future__ import annotations

import pytest
from scribe import ANN, ANN_KEY, BEN_KEY, Scribe

from quire_journal.model.events import BurstBegun, WriteAttributed

LATER = 9_000_000_000_000


def told(*words: str) -> tuple[Scribe, int, int]:
    """Ann's call and a write in it, about which evidence of these words came in, one after the other."""
    scribe = Scribe().introduce()
    call = scribe.note(BurstBegun("Edit a", "native", LATER, outside=True, paths=("a",)), writer=ANN)
    write = scribe.outside("a", b"1")
    for word in words:
        scribe.note(WriteAttributed((write,), ANN if word != "overlap" else 0, word, call))
    return scribe, call, write


@pytest.mark.parametrize("word", ["exact", "traced", "isolated"])
def test_a_write_that_is_proved_is_a_batch_of_its_writer(word: str) -> None:
    scribe, call, write = told(word)
    with scribe.history() as history:
        assert history.last_batches(ANN_KEY, 9) == [write]
        assert history.probable_batches(ANN_KEY, 9) == history.last_batches(BEN_KEY, 9) == []
        assert history.burst_batches(call) == [write]


def test_what_was_probable_and_is_proved_then_is_not_told_as_probable_too() -> None:
    scribe, call, write = told("during", "traced")
    with scribe.history() as history:
        assert (history.last_batches(ANN_KEY, 9), history.probable_batches(ANN_KEY, 9)) == ([write], [])
        found = history.burst(call)
        assert found is not None
        assert (found.batches, found.unclear) == (1, 0)


@pytest.mark.parametrize("word", ["exact", "during"])
def test_evidence_that_is_taken_back_leaves_the_write_to_nobody(word: str) -> None:
    scribe, call, write = told(word, "overlap")
    with scribe.history() as history:
        assert history.last_batches(ANN_KEY, 9) == history.probable_batches(ANN_KEY, 9) == []
        assert history.burst_batches(call) == []
        found, version = history.burst(call), history.file("a")
        assert found is not None
        assert version is not None
        assert (found.batches, found.unclear) == (0, 1)
        assert (version.seq, version.writer, version.evidence) == (write, 0, "overlap")
