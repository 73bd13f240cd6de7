"""What agents are told about each tool before they use it, in the words of the protocols that the tools speak.

One module per tool with its manual, which is Markdown: the first line is a heading that says in one line what the
tool does, sentences that belong together stand in one line each. `writing` has what all writing tools have in common.
Texts may hold placeholders, so that the anchors in their examples are real ones: see `placeholders`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.dialects.manuals import (
        apply_patch as apply_patch,
        delete_file as delete_file,
        move_file as move_file,
        read_file as read_file,
        write_file as write_file,
        writing as writing,
    )
    from quire_daemon.dialects.manuals.arguments import notes as notes
    from quire_daemon.dialects.manuals.edit import EDIT_MANUAL as EDIT_MANUAL
    from quire_daemon.dialects.manuals.edit_file import EDIT_FILE_MANUAL as EDIT_FILE_MANUAL
    from quire_daemon.dialects.manuals.edit_replace import EDIT_REPLACE_MANUAL as EDIT_REPLACE_MANUAL
    from quire_daemon.dialects.manuals.hashline_edit import HASHLINE_EDIT_MANUAL as HASHLINE_EDIT_MANUAL
    from quire_daemon.dialects.manuals.insert_lines import INSERT_LINES_MANUAL as INSERT_LINES_MANUAL
    from quire_daemon.dialects.manuals.multi_edit import MULTI_EDIT_MANUAL as MULTI_EDIT_MANUAL
    from quire_daemon.dialects.manuals.placeholders import filled as filled
    from quire_daemon.dialects.manuals.regex_replace import REGEX_REPLACE_MANUAL as REGEX_REPLACE_MANUAL
    from quire_daemon.dialects.manuals.replace_lines import REPLACE_LINES_MANUAL as REPLACE_LINES_MANUAL
    from quire_daemon.dialects.manuals.summaries import MOST as MOST, ascii_text as ascii_text, summary as summary
    from quire_daemon.dialects.manuals.text_editor import TEXT_EDITOR_MANUAL as TEXT_EDITOR_MANUAL
    from quire_daemon.dialects.manuals.writing import CHANGED as CHANGED
else:
    __getattr__ = face(
        __name__,
        arguments="notes",
        edit="EDIT_MANUAL",
        edit_file="EDIT_FILE_MANUAL",
        edit_replace="EDIT_REPLACE_MANUAL",
        hashline_edit="HASHLINE_EDIT_MANUAL",
        insert_lines="INSERT_LINES_MANUAL",
        multi_edit="MULTI_EDIT_MANUAL",
        placeholders="filled",
        regex_replace="REGEX_REPLACE_MANUAL",
        replace_lines="REPLACE_LINES_MANUAL",
        summaries="MOST ascii_text summary",
        text_editor="TEXT_EDITOR_MANUAL",
        writing="CHANGED",
    )
