"""Journal care: verify, gc, purge, repair, doctor, and journals as a whole."""
