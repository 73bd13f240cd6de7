"""Tools: a module for each tool that decides on files or on the history; values in, values out."""
