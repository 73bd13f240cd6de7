"""Views: folds over the log, each kept in tables of its own, so that a question need not read the log."""
