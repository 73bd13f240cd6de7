"""Table of all dialects. A new one needs a module in this package, a line here, a manual page and a test.

Some implement a *seed*, one of five specifications of other projects: 000 and 002 are the specification of dscode's
`edit`, 001 the edit tools of supyagent 0.5.12, 003 the prompt of oh-my-pi's `hashline_edit`, 004 the page on Comma
Agents' `edit_file`. Where a seed is silent or contradicts another, the module states the rule.
"""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.dialects.base import Dialect
from quire_daemon.dialects.edit import EDIT
from quire_daemon.dialects.edit_file import EDIT_FILE
from quire_daemon.dialects.edit_replace import EDIT_REPLACE
from quire_daemon.dialects.hashline_edit import HASHLINE_EDIT
from quire_daemon.dialects.insert_lines import INSERT_LINES
from quire_daemon.dialects.multi_edit import MULTI_EDIT
from quire_daemon.dialects.regex_replace import REGEX_REPLACE
from quire_daemon.dialects.replace_lines import REPLACE_LINES
from quire_daemon.dialects.text_editor import TEXT_EDITOR

DIALECTS: Final[dict[str, Dialect[Any]]] = {
    EDIT.name: EDIT,
    HASHLINE_EDIT.name: HASHLINE_EDIT,
    EDIT_FILE.name: EDIT_FILE,
    EDIT_REPLACE.name: EDIT_REPLACE,
    INSERT_LINES.name: INSERT_LINES,
    REPLACE_LINES.name: REPLACE_LINES,
    MULTI_EDIT.name: MULTI_EDIT,
    TEXT_EDITOR.name: TEXT_EDITOR,
    REGEX_REPLACE.name: REGEX_REPLACE,
}
"""All dialects, by tool name."""
