"""Replies: the shape of every reply, one struct for each."""
