"""MessagePack for small messages in plain Python, as importing msgspec costs a hook 30 ms.

Maps have string keys; extension types are not supported.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

MAX_DEPTH: Final = 64


def pack(value: Any) -> bytes:
    """Encode None, bool, int, float, str, bytes, list, tuple or dict as MessagePack.

    Raises TypeError for other types, and OverflowError for an integer of more than 64 bits.
    """
    out = bytearray()
    _pack(value, out)
    return bytes(out)


def unpack(data: bytes) -> Any:
    """Decode a MessagePack message that holds exactly one value. Raises ValueError if it is cut short or invalid."""
    try:
        value, end = _unpack(data, 0, 0)
    except (IndexError, struct.error) as error:
        raise ValueError("the message ends too early") from error
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes follow the message")
    return value


def _pack(value: Any, out: bytearray) -> None:
    match value:
        case None | bool():
            out.append(0xC0 if value is None else 0xC3 if value else 0xC2)
        case int():
            out += _integer(value)
        case float():
            out += b"\xcb" + struct.pack(">d", value)
        case str():
            encoded = value.encode("utf-8", "replace")
            out += _head(len(encoded), 0xA0, 31, (0xD9, 0xDA, 0xDB)) + encoded
        case bytes():
            out += _head(len(value), 0, -1, (0xC4, 0xC5, 0xC6)) + value
        case list() | tuple():
            out += _head(len(value), 0x90, 15, (0, 0xDC, 0xDD))
            for item in value:
                _pack(item, out)
        case Mapping():
            out += _head(len(value), 0x80, 15, (0, 0xDE, 0xDF))
            for key, item in value.items():
                _pack(key, out)
                _pack(item, out)
        case _:
            raise TypeError(f"{type(value).__name__} cannot be packed")


def _integer(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack("b", value) if value < 0 else bytes([value])
    if value >= 1 << 64 or value < -(1 << 63):
        raise OverflowError("an integer of more than 64 bits")
    return b"\xcf" + struct.pack(">Q", value) if value > 0 else b"\xd3" + struct.pack(">q", value)


def _head(size: int, fixed: int, most_fixed: int, codes: tuple[int, int, int]) -> bytes:
    if size <= most_fixed:
        return bytes([fixed | size])
    for code, form, limit in zip(codes, (">BB", ">BH", ">BI"), (1 << 8, 1 << 16, 1 << 32), strict=True):
        if code and size < limit:
            return struct.pack(form, code, size)
    raise OverflowError("more than 4 GiB")


_FIXED: Final = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS: Final = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_SIZES: Final = {
    0xC4: (">B", "bytes"),
    0xC5: (">H", "bytes"),
    0xC6: (">I", "bytes"),
    0xD9: (">B", "text"),
    0xDA: (">H", "text"),
    0xDB: (">I", "text"),
    0xDC: (">H", "list"),
    0xDD: (">I", "list"),
    0xDE: (">H", "map"),
    0xDF: (">I", "map"),
}


def _unpack(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    code, at = data[at], at + 1
    if code < 0x80 or code >= 0xE0:
        return (code if code < 0x80 else code - 256), at
    if code in _FIXED:
        return _FIXED[code], at
    if code in _NUMBERS:
        form = _NUMBERS[code]
        return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    if code < 0xC0:
        kind = "map" if code < 0x90 else "list" if code < 0xA0 else "text"
        size = code & (31 if kind == "text" else 15)
    elif code in _SIZES:
        form, kind = _SIZES[code]
        size = struct.unpack_from(form, data, at)[0]
        at += struct.calcsize(form)
    else:
        raise ValueError(f"code {code:#x} is not used here")
    if kind in ("bytes", "text"):
        part = data[at : at + size]
        if len(part) < size:
            raise ValueError("the message ends too early")
        return (part if kind == "bytes" else part.decode("utf-8", "replace")), at + size
    return _items(data, at, size, kind, depth + 1)


def _items(data: bytes, at: int, size: int, kind: str, depth: int) -> tuple[Any, int]:
    if depth > MAX_DEPTH:
        raise ValueError("the message is nested too deep")
    if size > len(data) - at:
        raise ValueError("the message ends too early")
    items: list[Any] = []
    for _ in range(size if kind == "list" else 2 * size):
        item, at = _unpack(data, at, depth)
        items.append(item)
    if kind == "list":
        return items, at
    if not all(isinstance(key, str) for key in items[::2]):
        raise ValueError("a key is not a text")
    return dict(zip(items[::2], items[1::2], strict=True)), at
