"""The manual of `read_file`: which format goes with which editing tool."""

from __future__ import annotations

from typing import Final

READ_FILE_MANUAL: Final = """\
# `read_file`: show lines of a file, with or without anchors

Always read a file before you edit it: an edit is checked against what you were shown.

- `hashes: true` shows `{{hashedfull 2 "x = 1"}}`, for `edit`.
- `format: "hashline"` shows `{{hlinefull 2 "x = 1"}}`, for `hashline_edit`.
- Neither gives the text itself in `content`, with LF at its line ends, for the other tools.
- `start_line` and `end_line` (1-based, inclusive) show a part. `truncated: true`: go on at `next_line`.
- `sha256` is of the whole file: the `expectedSha256` of `edit_file` and `write_file`.
- `version` can be given as `base`; without it, what you were last shown of the file counts.
- `at` shows the file as it was: a version, `seq:N`, a checkpoint's name, or a time.
"""
