"""Export: a tree written to a folder, and events as a Parquet table."""
