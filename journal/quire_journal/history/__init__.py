"""History: questions to one state of the journal: versions, blame, the timeline of a file, and what an undo makes of it."""
