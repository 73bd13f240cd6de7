"""Lines of a JSONL export as structs, and the JSON Schema made of them.

    {"type": "header", …}   first: the exported range
    {"type": "blob", …}     bytes, before the first event that names them
    {"type": "missing", …}  in place of bytes that the journal does not have, with the reason
    {"type": "event", …}    a record of the log
    {"type": "end", …}      last: an export without it is truncated

Addresses, hashes and operation ids are hexadecimal, times RFC 3339 with all digits, bytes base64. A blob with `base` is
the first `head` bytes of the base, `data`, and the last `tail` bytes of the base, from an earlier line.

An event has the fields of its struct in `events`. The line's fields give the record byte for byte; where they would not
(a kind or form of another version), `stored` has the bytes. `hash` is the hash of the record; `prev` of the next line
is its first half, or in older journals all of it.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Annotated, Any, Final, Union, get_args, get_origin

import msgspec

from quire_journal.history import parse_rfc3339, rfc3339
from quire_journal.model import (
    BY_KIND,
    EVENTS,
    BurstBegun,
    Event,
    Record,
    TurnBegan,
    encode_event,
    encode_record,
    record_hash,
)

FORMAT: Final = 2
"""Version of the line format; added fields do not change it. In version 1 `prev` was a whole hash."""

Hex = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{2})*$", description="bytes, hexadecimal")]
Time = Annotated[str, msgspec.Meta(description="RFC 3339, UTC, up to nine digits of a second")]
Bytes = Annotated[bytes, msgspec.Meta(description="base64")]
Fields = Annotated[dict[str, Any], msgspec.Meta(description="`kind`, and the fields of that kind")]


class JsonLine(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    pass


class Header(JsonLine, frozen=True, tag="header"):
    """Range of the journal that follows: events with after < seq <= upto."""

    format: int
    quire: str  # version of the program that wrote it
    workspace: str  # id of the workspace
    after: int
    upto: int


class BlobLine(JsonLine, frozen=True, tag="blob"):
    """Bytes with this sha256, and the path of the version with these bytes."""

    sha256: Hex
    size: int
    path: str
    data: Bytes
    base: Hex = ""
    head: int = 0
    tail: int = 0


class MissingLine(JsonLine, frozen=True, tag="missing"):
    """Bytes that the next event names and the journal does not have."""

    sha256: Hex
    why: str


class EventLine(JsonLine, frozen=True, tag="event"):
    """Record of the log."""

    seq: int
    at: Time
    writer: int  # as in `writer_introduced`; 0: outside
    batch: int
    prev: Hex
    hash: Hex
    event: Fields
    op: Hex = ""
    stored: Bytes = b""
    withheld: bool = False  # without the prompt or command line that the record with this hash has


class EndLine(JsonLine, frozen=True, tag="end"):
    """Number of events, and hash of the last record."""

    events: int
    hash: Hex


_encode: Final = msgspec.json.Encoder().encode
decode_line: Final = msgspec.json.Decoder(Header | BlobLine | MissingLine | EventLine | EndLine).decode


def written(line: JsonLine) -> bytes:
    return _encode(line) + b"\n"


def withheld(event: Event | None) -> Event | None:
    """Return the event without prompt and command line."""
    if isinstance(event, TurnBegan) and (event.prompt or event.prompt_hash or event.transcript):
        return msgspec.structs.replace(event, prompt="", prompt_hash=b"", transcript="")
    if isinstance(event, BurstBegun) and event.command:
        return msgspec.structs.replace(event, command="")
    return event


def event_line(stored: bytes, record: Record, event: Event | None) -> EventLine:
    """Return a record as a line; `event` is the record's own, or the result of `withheld`."""
    less = event is not None and event != record.event()
    exact = event is not None and encode_record(msgspec.structs.replace(record, body=encode_event(event))) == stored
    return EventLine(
        seq=record.seq,
        at=rfc3339(record.at_ns),
        writer=record.writer,
        batch=record.batch,
        prev=record.prev.hex(),
        hash=record_hash(stored).hex(),
        event={"kind": record.kind, **(_named(event) if event is not None else {})},
        op=record.op.hex(),
        stored=b"" if exact or less else stored,
        withheld=less,
    )


def stored_record(line: EventLine) -> bytes:
    """Return the record as stored. Raises `ValueError` if its hash is not the line's; a withheld
    event is not checked.
    """
    stored = line.stored or encode_record(_record(line))
    if not line.withheld and record_hash(stored).hex() != line.hash and not line.stored:
        stored = encode_record(_record(line, as_named=True))
    if not line.withheld and record_hash(stored).hex() != line.hash:
        raise ValueError(f"record {line.seq} does not have the hash {line.hash}")
    return stored


def schema() -> dict[str, Any]:
    kinds: Any = Union[tuple(_by_name(event) for event in EVENTS)]  # noqa: UP007  (made of a list)
    other = msgspec.defstruct("OtherEvent", [("kind", Annotated[str, msgspec.Meta(description=_OTHER)])])
    fields: list[Any] = [
        (field.name, kinds if field.name == "event" else field.type, *_default(field))
        for field in msgspec.structs.fields(EventLine)
    ]
    event = msgspec.defstruct("Event", fields, tag="event", tag_field="type", module=__name__)
    event.__doc__ = EventLine.__doc__
    lines: Any = Union[Header, BlobLine, MissingLine, event, EndLine]  # noqa: UP007
    found = msgspec.json.schema(lines)
    found["$defs"]["OtherEvent"] = msgspec.json.schema(other)["$defs"]["OtherEvent"]
    held = found["$defs"]["Event"]["properties"]["event"]
    held.pop("discriminator", None)
    held["anyOf"].append({"$ref": "#/$defs/OtherEvent"})
    found["$defs"]["OtherEvent"]["properties"]["kind"]["not"] = {"enum": sorted(BY_KIND)}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A line of a Quire export"}
    return {**head, "description": (__doc__ or "").strip(), **found}


_OTHER: Final = "a kind that the exporting version did not know; `stored` has the record"


def _record(line: EventLine, as_named: bool = False) -> Record:
    """Return the record of a line without stored bytes. With `as_named`, the body ends with the line's last field, as
    an older version wrote it. Raises `ValueError` for an unknown kind or time.
    """
    known = BY_KIND.get(str(line.event.get("kind")))
    at_ns = parse_rfc3339(line.at)
    if known is None or at_ns is None:
        raise ValueError(f"record {line.seq} has no bytes, and a kind or a time that is not known")
    given: Mapping[str, Any] = line.event
    types_of = {field.name: field.type for field in msgspec.structs.fields(known)}
    event = known(**{name: _revived(given[name], kind) for name, kind in types_of.items() if name in given})
    body, prev, op = encode_event(event), bytes.fromhex(line.prev), bytes.fromhex(line.op)
    if as_named:
        count = 1 + max((at for at, name in enumerate(types_of) if name in given), default=-1)
        body = msgspec.Raw(msgspec.msgpack.encode(msgspec.msgpack.decode(body)[:count]))
    return Record(line.seq, at_ns, line.writer, line.batch, known.kind, body, prev, op)


def _named(event: Event) -> dict[str, Any]:
    return {name: _plain(value) for name, value in msgspec.structs.asdict(event).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


def _revived(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if kind is bytes:
        return bytes.fromhex(value)
    inner = [one for one in get_args(kind) if one is not type(None)]
    if get_origin(kind) in (Union, types.UnionType):
        return _revived(value, inner[0])
    if get_origin(kind) is tuple:
        each = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_revived(one, of) for one, of in zip(value, each, strict=True))
    return value


def _by_name(event: type[Event]) -> type[msgspec.Struct]:
    fields: list[Any] = [(one.name, _hexadecimal(one.type), *_default(one)) for one in msgspec.structs.fields(event)]
    made = msgspec.defstruct(event.__name__, fields, tag=event.kind, tag_field="kind", module=__name__)
    made.__doc__ = event.__doc__
    return made


def _hexadecimal(kind: Any) -> Any:
    if kind is bytes:
        return Hex
    inner = tuple(one if one is Ellipsis else _hexadecimal(one) for one in get_args(kind))
    if get_origin(kind) is tuple:
        return tuple[inner]  # type: ignore[valid-type]
    if get_origin(kind) in (Union, types.UnionType):
        return Union[inner]  # noqa: UP007
    return kind


def _default(field: msgspec.structs.FieldInfo) -> tuple[Any, ...]:
    return () if field.default is msgspec.NODEFAULT else (_plain(field.default),)
