"""History tools: log, show, diff, blame, why and the tree at a point."""
