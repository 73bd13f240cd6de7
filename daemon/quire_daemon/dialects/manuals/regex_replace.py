"""The manual of `regex_replace`: the notes of seed 001, and how patterns are matched here."""

from __future__ import annotations

from typing import Final

REGEX_REPLACE_MANUAL: Final = """\
# `regex_replace`: replace text by a regular expression

Use `regex_replace` for pattern-based changes like renaming variables, updating version strings, or fixing formatting.

- Uses Python `re` module syntax. `^` and `$` match at each line; `(?i)`, `(?s)`, `(?x)` at the beginning set flags.
- Capture groups use `\\1`, `\\2`, etc. in the replacement string.
- `count` is the maximum number of replacements, from the top; 0, the default, is all.
- The text is matched with LF at its line ends, whatever the file has; the file keeps its own.

```python
class Job:
    def run():
        VERSION = "1.0.0"  # TODO: bump
    def stop():
        pass  # TODO: stop
```
```json
{"path": "main.py", "pattern": "def (\\\\w+)\\\\(\\\\):", "replacement": "def \\\\1(self):"}
```
```json
{"path": "main.py", "pattern": "VERSION = \\"[^\\"]+\\"", "replacement": "VERSION = \\"2.0.0\\""}
```
```json
{"path": "main.py", "pattern": "TODO.*$", "replacement": "DONE", "count": 1}
```

- `invalid_regex`: the regex pattern is invalid. `invalid_replacement`: the replacement does not fit it.
- `pattern_not_found`: the pattern is not found in the file.
- `regex_timeout`: the pattern took too long. Repeats in repeats, such as `(a+)+`, are what takes long.
"""
