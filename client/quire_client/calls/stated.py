"""The arguments of a call: those that its caller stated."""

from __future__ import annotations

from typing import Any


def stated(**args: Any) -> dict[str, Any]:
    """The arguments that were stated: None stands for "not said", and the daemon knows the default."""
    return {name: value for name, value in args.items() if value is not None}
