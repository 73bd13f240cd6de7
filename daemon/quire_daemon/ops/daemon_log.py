"""The daemon's own log: one JSON object per line."""

from __future__ import annotations

import json
import logging
import os
import traceback
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from quire_journal.workspaces import open_own

MAX_BYTES = 4 * 1024 * 1024


class JsonLines(logging.Formatter):
    """Formats a log entry as JSON: time, level, event, and the fields in `extra={"fields": {...}}`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps(line, ensure_ascii=True, default=repr)


class Log:
    """A structured log. `Log.to(path)` writes to a rotating file; `Log()` discards everything, for tests."""

    def __init__(self, handler: logging.Handler | None = None) -> None:
        self._logger = logging.Logger("quire")
        self._logger.addHandler(handler or logging.NullHandler())

    @classmethod
    def to(cls, path: Path) -> Log:
        """Return a log that writes to `path`. Raises `WorkspaceRefused` if `path` is not a regular file, `OSError` if
        it cannot be opened.
        """
        os.close(open_own(path, os.O_WRONLY))
        handler = RotatingFileHandler(path, maxBytes=MAX_BYTES, backupCount=2)
        handler.setFormatter(JsonLines())
        return cls(handler)

    def info(self, event: str, **fields: Any) -> None:
        self._logger.info(event, extra={"fields": fields})

    def warning(self, event: str, **fields: Any) -> None:
        self._logger.warning(event, extra={"fields": fields})

    def fault(self, event: str, error: BaseException, **fields: Any) -> None:
        self._logger.error(event, exc_info=(type(error), error, error.__traceback__), extra={"fields": fields})

    def close(self) -> None:
        for handler in self._logger.handlers:
            handler.close()
