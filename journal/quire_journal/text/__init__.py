"""Text: lines of a file and their hashes, differences, merges, and changes carried from one version to another; pure."""
