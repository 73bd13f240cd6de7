"""Dialects: the edit protocols of agents. Each turns a request's arguments and a file's text into lines to replace."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.dialects import hashline_edit as hashline_edit
    from quire_daemon.dialects.base import *
    from quire_daemon.dialects.edit import *
    from quire_daemon.dialects.edit_file import EDIT_FILE as EDIT_FILE, FileParams as FileParams
    from quire_daemon.dialects.hashline_edit import (
        HASHLINE_EDIT as HASHLINE_EDIT,
        HashlineParams as HashlineParams,
        edits_of as edits_of,
    )
    from quire_daemon.dialects.regex_replace import *
    from quire_daemon.dialects.table import *
else:
    __getattr__ = face(
        __name__,
        base="Dialect HASH_MISMATCH Plan Sight planned_here",
        edit="EDIT EditParams",
        edit_file="EDIT_FILE FileParams",
        hashline_edit="HASHLINE_EDIT HashlineParams edits_of",
        regex_replace="REGEX_REPLACE RegexParams planning",
        table="DIALECTS",
    )
