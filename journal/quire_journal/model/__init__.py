"""Model: the journal's own words: ids, events, records, refusals, messages; plain values that everybody may import."""
