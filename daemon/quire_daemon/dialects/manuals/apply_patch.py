"""The manual of `apply_patch`: what a patch is, and how its hunks find their place."""

from __future__ import annotations

from typing import Final

APPLY_PATCH_MANUAL: Final = """\
# `apply_patch`: change, add, remove and rename several files, all of them or none

The patch is an envelope of file sections; a unified diff works too, with numbers or with `@@ ... @@`.

- `*** Add File: PATH`: every line of the new file behind `+`.
- `*** Update File: PATH`: hunks. Each begins with `@@`, or with `@@` and a line that it stands under (such as \
`@@ class Job:`).
- In a hunk: ` ` before lines that stay, `-` before lines that go, `+` before lines that come.
- `*** Move to: PATH` below the update line renames the file; so does `*** Move File: A -> B`.
- `*** Delete File: PATH`.
- A hunk that only adds lines adds them at the end of the file.
- `*** End of File` behind a hunk: it stands at the end.

```python
def greet(name):
    return "Hello, " + name
```
```json
{
  "patch": "*** Begin Patch\\n*** Update File: greet.py\\n@@ def greet(name):\\n-    return \\"Hello, \\" + name\\n\
+    return f\\"Hello, {name}!\\"\\n*** Add File: notes.md\\n+# Notes\\n*** End Patch\\n",
  "expectedSha256ByPath": {
    "greet.py": "7f0a193194343d321a97c5ae96b31ac740e197d3756dff1c97af61c53319c149",
    "notes.md": ""
  }
}
```

- Hunks match whole lines, exactly, and each in one place, all of them in the file as it was. Give about three lines \
of context on each side.
- `expectedSha256ByPath` says which bytes you mean: the `sha256` of your read, or `""` for a file that must not exist. \
Without it the patch's own lines are the proof.
- `patch_apply_error`, `multiple_matches`: read the file again; more context, or an `@@` line, tells places apart.
- `stale_file`: the file is not what you read. Read it again and make the patch anew.
"""
