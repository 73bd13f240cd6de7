"""Text search: where a quoted text stands in a file, exactly, nearly, and what to suggest."""
