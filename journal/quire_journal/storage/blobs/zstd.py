"""The zstd of the standard library, or its backport before Python 3.14: the same calls under one name."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["zstd"]
