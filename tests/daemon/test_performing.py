"""Putting decisions on disk: what is refused before anything is promised."""

from __future__ import annotations

import pytest

from cases import every
from quire_daemon.performing import SPARE_FILES, require_room
from quire_journal.refusals import Refused


def test_more_writes_than_there_are_descriptors_for_are_refused() -> None:
    """Each holds what it displaces until all have landed, and connections need some, too."""
    require_room(9000, most_open=10_024)
    with pytest.raises(Refused, match="9001 files at once, and here it can be 9000") as caught:
        require_room(9001, most_open=9000 + SPARE_FILES)
    assert (caught.value.code, caught.value.details["most"]) == ("schema_invalid", 9000)


@every("most_open", [256, 1024])
def test_a_few_writes_are_never_refused(most_open: int) -> None:
    """However little the system allows."""
    require_room(100, most_open)
