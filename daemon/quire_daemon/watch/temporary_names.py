"""Names of temporary files that editors, agents and tools write next to the file that they save. Such a file, if soon
renamed or removed, is not recorded.
"""

from __future__ import annotations

import re
from typing import Final

STANDS_S: Final = 2.0
"""Seconds for which a file with a temporary name must exist before a look."""

PATTERNS: Final = {
    r".*~": "backups of vim, emacs, nano and others; undo files of vim",
    r"\..*\.sw[a-px]|.*\.swp": "swap files of vim, locks of nano",
    r"4913|5036|5159|5282|5405": "vim tries with these whether it may write in a folder",
    r"\.#.*|#.*#": "locks and automatic saves of emacs",
    r"sed[A-Za-z0-9]{6}": "sed -i",
    r"XX[A-Za-z0-9]{6}": "perl -i",
    r".*\.te?mp(?:[.-][A-Za-z0-9]+)*": "Claude Code (NAME.tmp.PID.HEX), npm, clang-format and others",
    r"\.?tmp[A-Za-z0-9_]{6,8}": "tempfile of Python and of Rust",
    r"\.goutputstream-.*": "GLib: gedit and other programs of GNOME",
    r"\..*\.kate-swp": "Kate",
    r".*___jb_(?:tmp|old)___": "editors of JetBrains",
    r".*\.(?=[a-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{6}": "Qt, rsync, Kakoune: six letters of both cases",
    r".*\.(?:go|json|yaml|yml|lock)\.[0-9]{5,}": "gofmt, npm",
    r".*\.sb-[0-9a-f]{8}-[A-Za-z0-9]{6}": "TextEdit and other programs of macOS",
    r"\.~lock\..*#|~\$.*": "locks of LibreOffice and Microsoft Office",
    r"d2utmp[A-Za-z0-9]{6}": "dos2unix",
    r"\.(?:nfs|fuse_hidden)[0-9a-f]{8,}": "what NFS and FUSE keep of a file that is gone and still open",
}

_ANY: Final = re.compile("|".join(f"(?:{pattern})" for pattern in PATTERNS), re.DOTALL)


def is_temporary(path: str) -> bool:
    return _ANY.fullmatch(path, path.rfind("/") + 1) is not None
