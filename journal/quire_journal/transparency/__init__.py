"""Transparency: a Merkle tree over the records of a journal, whose signed heads show any change of the past."""
