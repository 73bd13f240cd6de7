"""Workers: threads, other processes, and work in slices."""
