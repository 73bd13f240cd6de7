"""The zstd of the standard library, or its backport before Python 3.14: the same calls under one name."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import (
        CompressionParameter,
        DecompressionParameter,
        ZstdDecompressor,
        ZstdDict,
        ZstdError,
        compress,
        get_frame_info,
    )
else:
    from backports.zstd import (
        CompressionParameter,
        DecompressionParameter,
        ZstdDecompressor,
        ZstdDict,
        ZstdError,
        compress,
        get_frame_info,
    )

__all__ = [
    "CompressionParameter",
    "DecompressionParameter",
    "ZstdDecompressor",
    "ZstdDict",
    "ZstdError",
    "compress",
    "get_frame_info",
]
