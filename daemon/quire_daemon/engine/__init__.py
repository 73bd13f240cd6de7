"""Engine: the way of a call from its request to its reply: admit, gather, decide, perform, respond."""
