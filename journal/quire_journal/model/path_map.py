"""Path maps for a caller that sees the checkout at another path, as in a container. Mapped paths are checked like any
path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class BadMap(ValueError):
    """A map is malformed; the text is a sentence."""


def checked(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the map with normalized names. Both sides must be absolute, and "/" cannot be mapped. Raises BadMap."""
    found = {}
    for there, here in pairs:
        for side in (there, here):
            if not side.startswith("/") or ".." in side.split("/"):
                raise BadMap(f"{side!r} is not an absolute path without `..`")
        if not there.strip("/"):
            raise BadMap("/ cannot be mapped: it is every path")
        found["/" + "/".join(_names(there))] = "/" + "/".join(_names(here))
    return found


def parsed(text: str) -> dict[str, str]:
    """Return the map in `THERE=HERE:THERE=HERE…` (QUIRE_PATH_MAP). Raises BadMap."""
    pairs = [one.partition("=") for one in text.split(":") if one]
    lone = next((there for there, sign, _ in pairs if not sign), None)
    if lone is not None:
        raise BadMap(f"{lone!r} is not of the form /THERE=/HERE")
    return checked((there, here) for there, _, here in pairs)


def mapped(path: str, folders: Mapping[str, str]) -> str:
    """Return `path` with the longest mapped folder that contains it replaced."""
    if not folders or not path.startswith("/"):
        return path
    plain = "/" + "/".join(_names(path))
    holding = [there for there in folders if plain == there or plain.startswith(there + "/")]
    if not holding:
        return path
    there = max(holding, key=len)
    return (folders[there].rstrip("/") + plain[len(there) :]) or "/"


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]
