"""Ship: sealed segments and encrypted blobs of a journal, carried to a store that its agents cannot rewrite."""
