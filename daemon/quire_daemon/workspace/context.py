"""Objects shared by the steps of a write."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from quire_daemon.workspace.confine import Beneath
from quire_daemon.workspace.displaced import DisplacedFiles
from quire_daemon.workspace.read import FileReader
from quire_daemon.workspace.types import Protection


class WriteContext(NamedTuple):
    beneath: Beneath
    reading: FileReader
    tmp: int  # the folder `.quire/tmp`
    protection: Protection
    displaced_files: DisplacedFiles
    step: Callable[[str], None]  # called with the name of each fault point
