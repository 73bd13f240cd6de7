"""What agents are told about each tool before they use it, in the words of the protocols that the tools speak.

One module per tool with its manual, which is Markdown: the first line is a heading that says in one line what the
tool does, sentences that belong together stand in one line each. `writing` has what all writing tools have in common.
Texts may hold placeholders, so that the anchors in their examples are real ones: see `placeholders`.
"""

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
    from quire_daemon.dialects.manuals.arguments import *
    from quire_daemon.dialects.manuals.edit import *
    from quire_daemon.dialects.manuals.edit_file import *
    from quire_daemon.dialects.manuals.edit_replace import *
    from quire_daemon.dialects.manuals.hashline_edit import *
    from quire_daemon.dialects.manuals.insert_lines import *
    from quire_daemon.dialects.manuals.multi_edit import *
    from quire_daemon.dialects.manuals.placeholders import *
    from quire_daemon.dialects.manuals.regex_replace import *
    from quire_daemon.dialects.manuals.replace_lines import *
    from quire_daemon.dialects.manuals.summaries import *
    from quire_daemon.dialects.manuals.text_editor import *
    from quire_daemon.dialects.manuals.writing import *
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
